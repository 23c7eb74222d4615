"""Check exercises in a notebook, and format a verdict."""

import difflib
import inspect
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.checking import Verdict
from numpy_attention.course.exercises.exercise import STAGES, Exercise
from numpy_attention.course.exercises.given import AT_GIVEN, CHANGED, FIRST_SEEN, FIRST_WRONG
from numpy_attention.course.exercises.process import SECONDS, checked

MOST_LINES = 6      # largest number of lines of a brief verdict
# first lines of a report that are omitted, because the law in the next line says more
GENERAL = "a law that they cannot test is broken", "no gradient can be compared"
# lines of a report that a known mistake makes superfluous: "  the wrong sign: `h - n`"
GUESS = re.compile("  (no small change|no kind of mistake|suspect: |[a-zA-Z ,.=]+: (`|of ))|"
                   "everything is right with size 1 ")


def check(name: str, *mine: Callable, seconds: float = SECONDS, why: bool = False) -> Verdict:
    """Check functions that a notebook or a script defines: check("softmax", softmax_backward).

    Prints the same report as `numpy-attention exercise check`, and returns the Verdict. mine: the
    functions that the exercise asks for, or the class if it asks for methods. seconds: the time
    limit. why: print all evidence, not a summary. Raises ValueError if the exercise is unknown or
    asks for other functions, and TypeError if the source of a function cannot be read.
    """
    exercise = find_exercise(name)
    wanted = list(dict.fromkeys(blank.partition(".")[0] for blank in exercise.blanks))
    names = [getattr(one, "__name__", "") for one in mine]
    if set(names) != set(wanted):
        raise ValueError(f"exercise {exercise.name}: got {' and '.join(names) or 'no function'}; "
                         f"expected {' and '.join(wanted)}")
    text = "\n\n\n".join([exercise.start.rstrip(), *map(source_of, mine)]) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{exercise.name.replace('-', '_')}.py"
        path.write_text(text, encoding="utf-8")
        verdict, printed = checked(exercise, path, seconds)
    print(printed, end="")
    print("\n".join(format_verdict(exercise, verdict, why)))
    return verdict


def source_of(one: Callable) -> str:
    """Return the source of a function or class. Raises TypeError if the source cannot be read."""
    try:
        text = inspect.getsource(one)
    except (OSError, TypeError):
        text = of_cell(one) if inspect.isclass(one) else ""
    if not text:
        raise TypeError(f"{one.__name__} has no readable source; define it in a notebook cell or "
                        "a file")
    return textwrap.dedent(text)


def of_cell(kind: type) -> str:
    """Return the source of a class defined in a notebook cell, or "" if it is not found."""
    for method in filter(inspect.isfunction, vars(kind).values()):
        try:
            lines, last = inspect.findsource(method)
        except OSError:                             # of a dataclass's own
            continue
        heads = [n for n, line in enumerate(lines[:last])
                 if re.match(rf"\s*class {kind.__name__}\b", line)]
        if heads:
            first = heads[-1]
            body = inspect.getblock(lines[first:])
            while first and lines[first - 1].lstrip().startswith("@"):
                first -= 1
            return "".join([*lines[first:heads[-1]], *body])
    return ""


def find_exercise(name: str) -> Exercise:
    """Return the exercise of this name. Raises ValueError if the name is unknown."""
    if name not in EXERCISES:
        near = difflib.get_close_matches(name, EXERCISES, 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise ValueError(f"no exercise is named {name!r}{meant}; `numpy-attention exercise list` "
                         "lists them all")
    return EXERCISES[name]


def format_verdict(exercise: Exercise, verdict: Verdict, why: bool = False) -> Iterator[str]:
    """Yield the lines of text that report a verdict. why: report all evidence, not a summary."""
    if verdict.passed:
        yield f"{exercise.name}: passed"
        return
    done = STAGES[:STAGES.index(verdict.stage)]
    yield " ".join([f"{exercise.name}:", *(f"✓ {stage}" for stage in done), f"✗ {verdict.stage}"])
    lines = verdict.message.splitlines()
    brief = lines
    if not exercise.planted:
        known = list(known_lines(verdict))
        yield from known
        if known:
            brief = lines = [line for line in lines if not GUESS.match(line)]
        if not why:
            brief = essential(lines, MOST_LINES - 2 - len(known), bool(known), bool(verdict.place))
    yield from brief
    if verdict.blank:
        return
    more = "" if brief == lines else "; --why prints the evidence"
    unexplained = "no small change" in verdict.message or not re.search(
        f"{FIRST_WRONG}|{FIRST_SEEN}|{AT_GIVEN}", verdict.message)
    if exercise.planted:
        yield "which line is it?"
    elif verdict.stage in ("values", "gradients") and not verdict.mistakes and unexplained:
        more += "; your numbers match no known mistake"
    yield f"a hint: numpy-attention exercise hint {exercise.name}{more}"


def known_lines(verdict: Verdict) -> Iterator[str]:
    """Yield lines of text that name a verdict's known mistakes and their place in the code."""
    if verdict.mistakes:
        what = "a known mistake" if len(verdict.mistakes) == 1 else "one of these known mistakes"
        yield f"your numbers match {what}:"
        yield from (f"  {mistake}" for mistake in verdict.mistakes)
    yield from verdict.place.splitlines()


def essential(lines: list[str], most: int, named: bool, placed: bool) -> list[str]:
    """Return the main lines of a report (at most `most`), then warnings about changed functions.

    named: whether a known mistake has been printed. placed: whether its line has been printed.
    """
    changed = [line for line in lines if line.endswith(CHANGED)]
    start = next((n for n, line in enumerate(lines)
                  if line.startswith((FIRST_WRONG, FIRST_SEEN, AT_GIVEN))), None)
    if start is None:
        found = [line for line in lines if not line.endswith(GENERAL)]
    elif not named:
        found = [*lines[start:start + 3], lines[0]]
    else:
        is_given = lines[start].startswith(AT_GIVEN)
        found = [] if placed or is_given else lines[start:start + 2]
    return [line for line in found if line not in changed][:max(most, 0)] + changed


def after(exercise: Exercise, mine: str) -> str:
    """Return the text to print when an exercise is first passed. mine: the user's code."""
    lines = difflib.unified_diff(mine.rstrip().splitlines(),
                                 exercise.solution.rstrip().splitlines(), "yours",
                                 "the reference", lineterm="", n=1)
    found = ["\ncompared with the reference implementation:",
             "\n".join(lines) or "  the same, letter by letter",
             f"\nwhy it is written this way: {exercise.why}"]
    if exercise.unseen:
        found.append(f"\nwhat no gradient check detects: {exercise.unseen}")
    return "\n".join(found)
