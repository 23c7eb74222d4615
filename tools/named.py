"""Of the mutants of every backward pass: how often is the changed line the one that is named?

    python tools/named.py --sample 200 --seed 1     mutants of numpy_attention, drawn
    python tools/named.py --only layers/linear.py   all of a file's
    python tools/named.py --lessons                 of the plain forms in the lessons
    python tools/named.py … --workers 2 --resume FILE --list

Mutants are those of mutate.py; each stands in a file of its own. What its first failing check says
first is judged: right where it names a line that was changed, or one beside the gap of a deleted
one; forward where it says of which line of the forward nothing comes back, and a statement was
deleted; wrong where it names another; none where it names no line.
"""

import argparse
import ast
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import exchange
import mutate
import numpy as np
from mistakes.lessons import LESSONS
from mistakes.naming import VERDICTS, as_written, judged
from mistakes.planting import run
from mutants import functions, mutants, plain
from outcomes import Outcomes, digest

from numpy_attention.gradcheck.cases import CHECKS
from numpy_attention.gradcheck import gradcheck


class Named(Outcomes):
    """{(mutant, code): [verdict, kind, what is named]}; "passes" where no check fails."""

    what = "named"


# ---- mutants of the package ---------------------------------------------------------------------


def of_package(mutant, checks, numerics, folder, number):
    """[verdict, kind, what is named] of a mutant of a function."""
    right = exchange.written(as_written(plain(mutant.function.node)))
    path = Path(folder, f"{mutant.function.path.stem}_{number}.py")
    mutant = replace(mutant, node=as_written(mutant.node))
    error = mutate.failure(mutant, checks, numerics, path)
    return judged(error, path, right, mutant)


def package_jobs(chosen, folder):
    """What of_package takes of each."""
    wanted = {mutant.function.first: mutant.function for mutant in chosen}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls, numerics = mutate.prepared(CHECKS, wanted.values()) if chosen else ({}, None)
    return [(mutant, mutate.reaching(mutant, CHECKS, calls), numerics, folder, number)
            for number, mutant in enumerate(chosen)]


# ---- mutants of the lessons ---------------------------------------------------------------------


def of_lesson(mutant, lesson, folder, number):
    """[verdict, kind, what is named] of a mutant of a lesson's plain form."""
    right, tree = (ast.parse(lesson.source) for _ in range(2))
    *owner, name = mutant.function.name.split(".")
    body = tree.body
    for outer in owner:
        body = next(node for node in body if getattr(node, "name", "") == outer).body
    at = next(i for i, node in enumerate(body) if getattr(node, "name", "") == name)
    body[at] = as_written(mutant.node)
    stem = f"lesson_{lesson.file[:2]}_{number}"
    module = run(ast.unparse(ast.fix_missing_locations(tree)), stem, folder)
    error = None
    try:
        for target, inputs, forward, backward in module.cases(np.random.default_rng(0)):
            with warnings.catch_warnings(), np.errstate(all="ignore"), mutate.bounded():
                warnings.simplefilter("ignore")
                gradcheck(target, *inputs, rng=np.random.default_rng(1), forward=forward,
                          backward=backward)
    except (Exception, mutate.OutOfTime) as found:      # whatever a mutant may come to
        error = found
    return judged(error, Path(module.__file__), ast.unparse(right), mutant)


def lesson_jobs(folder):
    """(mutant, lesson, folder, number) of each mutant of the plain forms."""
    jobs = []
    for lesson in LESSONS:
        path = Path(folder, f"{lesson.file}.py")
        path.write_text(lesson.source, encoding="utf-8")
        found = [mutant for function in functions(path, path.stem) for mutant in mutants(function)]
        jobs += [(mutant, lesson, folder, number) for number, mutant in enumerate(found)]
    return jobs


# ---- the campaign -------------------------------------------------------------------------------


def jobs_of(options, outcomes, folder):
    """→ what is to be judged, [(mutant, code)]; the jobs not known yet; what does them."""
    if options.lessons:
        jobs = drawn(lesson_jobs(folder), options)
        package = mutate.digest_of([])
        code_of = {lesson.file: digest(package, lesson.source) for lesson in LESSONS}
        chosen = [(job[0], code_of[job[1].file]) for job in jobs]
        waiting = [job for job, (mutant, code) in zip(jobs, chosen)
                   if outcomes.get(str(mutant), code) is None]
        return chosen, waiting, of_lesson
    paths = mutate.files_of(options.only, sys.exit)
    exchange.import_all()
    code = mutate.digest_of(paths)
    made = drawn(mutate.made_of(paths), options)
    waiting = [mutant for mutant in made if outcomes.get(str(mutant), code) is None]
    return [(mutant, code) for mutant in made], package_jobs(waiting, folder), of_package


def drawn(every, options):
    """In an order of chance, so many as are asked for: more of a seed hold the fewer."""
    order = np.random.default_rng(options.seed).permutation(len(every))
    return [every[i] for i in order[:options.sample]]


def table(judgements):
    """Lines of a table file × verdict, of [(mutant, [verdict, kind, what is named])]."""
    counts, kinds = Counter(), Counter()
    for mutant, (verdict, kind, _) in judgements:
        counts[mutant.function.file, verdict] += 1
        counts["all", verdict] += 1
        kinds[kind or "no kind"] += verdict == "wrong"
    yield f"{'':<55}{'mutants':>8}{'caught':>8}" + "".join(f"{one:>9}" for one in VERDICTS)
    for file in sorted({file for file, _ in counts} - {"all"}) + ["all"]:
        at = [counts[file, verdict] for verdict in VERDICTS]
        yield (f"{file:<55}{sum(at) + counts[file, 'passes']:>8}{sum(at):>8}"
               + "".join(f"{one:>9}" for one in at))
    named, caught = at[0] + at[1], sum(at)
    yield f"named: {named} of the {caught} that are caught, {100 * named / max(caught, 1):.1f} %"
    yield "wrong by kind: " + ", ".join(f"{kind} {n}" for kind, n in kinds.most_common() if n)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="PATH", help="files, as mutate.py has them")
    parser.add_argument("--lessons", action="store_true", help="the plain forms in the lessons")
    parser.add_argument("--sample", type=int, metavar="N", help="so many, drawn")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default 0)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--resume", type=Path, metavar="FILE",
                        help="keep what is said in FILE, and try only what it does not hold")
    parser.add_argument("--list", action="store_true", help="what is said of the others")
    options = parser.parse_args(arguments)
    outcomes = Named(options.resume)
    with tempfile.TemporaryDirectory(prefix="named-") as folder:
        chosen, jobs, attempt = jobs_of(options, outcomes, folder)
        code_of = {str(mutant): code for mutant, code in chosen}
        for i, found in mutate.tried(jobs, options.workers, attempt):
            key = str(jobs[i][0])
            outcomes.add(key, code_of[key], found)
    judgements = [(mutant, outcomes.get(str(mutant), code)) for mutant, code in chosen]
    for mutant, (verdict, kind, named) in judgements:
        if options.list and verdict not in ("right", "forward"):
            print(f"{verdict:<7} {mutant}\n        {kind}: {named}")
    print(*table(judgements), sep="\n")


if __name__ == "__main__":
    main()
