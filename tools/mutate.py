"""Checks the gradient checks: deletes or negates every statement of every backward pass, one at a time.

    python tools/mutate.py                              all modules of numpy_attention
    python tools/mutate.py --only layers/linear.py      one of them
    python tools/mutate.py --workers 2

A mutant is caught when a check of `numpy_attention.checks` that reaches the mutated function fails. Exit status 1 when
one survives that EQUIVALENT does not explain. Nothing is compiled but the unmutated kernels, once: mutants run as plain
Python, in which np.empty gives NaN (so that what is never written shows), and central differences, which no backward
pass enters, are taken once from the unmutated package.
"""

import argparse
import ast
import contextlib
import copy
import importlib
import multiprocessing
import signal
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher

import numpy_attention
from numpy_attention import gradcheck

PACKAGE = Path(numpy_attention.__file__).parent
# carry gradients under another name; those that forward passes enter too get fresh central differences
ALSO = {"input_gradient", "stacked", "push", "sum_over_steps", "scatter_add"}
ALSO_FORWARD = {"_blocks", "cross_entropy", "dot_scores"}
EMPTY = {"empty", "empty_like", "zeros", "zeros_like"}
SECONDS = 60        # for one mutant; one that takes longer hangs, and counts as caught

# (file, function, mutation): why no gradient changes
EQUIVALENT = {
    ("kernels/gates.py", "elman_backward",
     "negate element 3 of: dyb, dnb, hb, dab, dhb = (dy[b], dh_next[b], h_next[b], da[b], dh[b])"):
    "h' occurs in 1 − h'² alone",
    ("kernels/softmax.py", "cross_entropy",
     "negate element 1 of: top, z_target = (row_max(z), z[target])"):
    "any shift gives the same softmax while nothing overflows; the tests of large logits see it",
}


@dataclass
class Mutant:
    """One function of one module with one statement changed."""

    path: str           # relative to the package
    function: str       # "GRU.end_backward"
    line: int
    what: str           # "delete: grad.b += da.sum(0)"
    node: ast.FunctionDef
    key: tuple          # (file, first line): what a trace of the function's calls shows

    def __str__(self):
        return f"{PACKAGE.name}/{self.path}:{self.line} {self.function}: {self.what}"


# ---- making mutants -----------------------------------------------------------------------------------------


def mutants(path):
    """Every mutant of the functions of a file that carry gradients."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for owner in [tree] + [node for node in tree.body if isinstance(node, ast.ClassDef)]:
        for function in owner.body:
            if isinstance(function, ast.FunctionDef) and carries_gradients(function.name):
                name = function.name if owner is tree else f"{owner.name}.{function.name}"
                first = min([function.lineno] + [d.lineno for d in function.decorator_list])
                count = len(list(statements(function)))
                for i in range(count):
                    for k, (line, what) in enumerate(mutations(list(statements(function))[i])):
                        mutated = copy.deepcopy(function)
                        mutated.decorator_list = []
                        mutations(list(statements(mutated))[i])[k].apply()
                        yield Mutant(str(path.relative_to(PACKAGE)), name, line, what, mutated, (str(path), first))


def carries_gradients(name):
    return name.endswith("backward") or name == "loss_and_grad" or name in ALSO | ALSO_FORWARD


def statements(function):
    """Every statement of a function that may be mutated: no docstring, no check of arguments, no error."""
    for node in ast.walk(function):
        for body in (getattr(node, name, None) for name in ("body", "orelse")):
            for i, statement in enumerate(body if isinstance(body, list) else ()):
                if not (isinstance(statement, (ast.FunctionDef, ast.Raise, ast.Pass)) or checks_arguments(statement)):
                    yield body, i


def checks_arguments(statement):
    value = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(value, ast.Constant):
        return True
    return isinstance(value, ast.Call) and getattr(value.func, "id", "").startswith("expect")


@dataclass
class Mutation:
    """One change to the statement body[i]; iterates as (line, description)."""

    body: list
    i: int
    kind: str           # "delete", "negate" or "negate element n of"
    element: int = 0

    def __iter__(self):
        text = ast.unparse(self.body[self.i])
        kind = f"{self.kind} {self.element + 1} of" if self.kind == "negate element" else self.kind
        return iter((self.body[self.i].lineno, f"{kind}: " + " ".join(text.split())[:90]))

    def apply(self):
        statement = self.body[self.i]
        if self.kind == "delete":
            self.body[self.i] = ast.Pass()
        elif isinstance(statement, (ast.If, ast.While)):
            statement.test = ast.UnaryOp(ast.Not(), statement.test)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
            statement.op = ast.Sub() if isinstance(statement.op, ast.Add) else ast.Add()
        elif self.kind == "negate element":
            statement.value.elts[self.element] = ast.UnaryOp(ast.USub(), statement.value.elts[self.element])
        else:
            statement.value = ast.UnaryOp(ast.USub(), statement.value)


def mutations(place):
    """The mutations of one statement: it is deleted, and what it computes is negated, element by element of a tuple."""
    (body, i), statement = place, place[0][place[1]]
    found = [Mutation(body, i, "delete")]
    if isinstance(statement, (ast.If, ast.While, ast.AugAssign)):
        found.append(Mutation(body, i, "negate"))
    elif isinstance(statement, (ast.Assign, ast.Return)) and isinstance(statement.value, ast.Tuple):
        found += [Mutation(body, i, "negate element", n) for n, element in enumerate(statement.value.elts)
                  if not has_no_sign(element)]
    elif isinstance(statement, (ast.Assign, ast.Return)) and not has_no_sign(statement.value):
        if isinstance(statement, ast.Return) or not isinstance(statement.targets[0], ast.Tuple):
            found.append(Mutation(body, i, "negate"))
    return found


def has_no_sign(value):
    """True for nothing, a zero, or an array that is not yet written: negated, it is what it was."""
    if isinstance(value, ast.Call):
        zero = isinstance(value.func, ast.Attribute) and value.func.attr == "type" and ast.unparse(value.args[0]) == "0"
        return zero or getattr(value.func, "attr", "") in EMPTY
    return value is None or ast.unparse(value) in ("0", "0.0", "zero")


# ---- running them -------------------------------------------------------------------------------------------


def loaded():
    return [module for name, module in list(sys.modules.items()) if name.split(".")[0] == PACKAGE.name]


@contextlib.contextmanager
def replaced(pairs):
    """For a while, setattr(owner, name, value) for each of the pairs ((owner, name), value)."""
    kept = [(owner, name, getattr(owner, name)) for (owner, name), _ in pairs]
    for (owner, name), value in pairs:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in reversed(kept):
            setattr(owner, name, value)


def everywhere(original, value):
    """Pairs for `replaced`: every module's name for one function."""
    return [((module, name), value) for module in loaded() for name, held in vars(module).items() if held is original]


def plain_python():
    """Kernels as their Python source, and np.empty full of NaN."""
    def poisoned(make):
        def empty(*args, **kwargs):
            array = make(*args, **kwargs)
            if array.dtype.kind == "f":
                array.fill(np.nan)
            return array
        return empty

    kernels = [((module, name), held.py_func) for module in loaded() for name, held in vars(module).items()
               if isinstance(held, Dispatcher)]
    return replaced(kernels + [((np, name), poisoned(getattr(np, name))) for name in ("empty", "empty_like")])


def mutated(mutant):
    """The package with the mutant in place of its function."""
    module = importlib.import_module(".".join((PACKAGE.name,) + Path(mutant.path).with_suffix("").parts))
    owner, _, name = mutant.function.rpartition(".")
    made = {}
    wrapper = ast.parse("def make(__class__):\n    return None")        # gives super() its class
    wrapper.body[0].body = [mutant.node, ast.Return(ast.Name(name, ast.Load()))]
    exec(compile(ast.fix_missing_locations(wrapper), mutant.path, "exec"), vars(module), made)
    if owner:
        return replaced([((getattr(module, owner), name), made["make"](getattr(module, owner)))])
    return replaced(everywhere(getattr(module, name), made["make"](None)))


class Numerics:
    """Central differences of each check, taken once."""

    def __init__(self):
        self.taken = {}

    def record(self, name):
        self.taken[name] = []
        take = gradcheck.numeric_gradient

        def recorded(*args):
            self.taken[name].append(take(*args))
            return self.taken[name][-1]
        return replaced([((gradcheck, "numeric_gradient"), recorded)])

    def replay(self, name):
        again = iter(self.taken[name])
        return replaced([((gradcheck, "numeric_gradient"), lambda *_: next(again))])


def reached(check):
    """(file, first line) of every function that a check calls, without its central differences."""
    found = set()

    def profile(frame, event, _):
        if event == "call":
            found.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))
    with replaced([((gradcheck, "numeric_gradient"), lambda loss, array, _: np.zeros_like(array)),
                   ((gradcheck, "_compare"), lambda *_: 0.0)]):
        sys.setprofile(profile)
        try:
            check(np.random.default_rng(0))
        finally:
            sys.setprofile(None)
    return found


def out_of_time(*_):
    raise TimeoutError("the mutant hangs")


def survives(mutant, checks, numerics):
    """True when no check fails."""
    forward_too = mutant.function.rpartition(".")[2] in ALSO_FORWARD
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(), plain_python(), mutated(mutant):
            warnings.simplefilter("ignore")
            for name, check in checks.items():
                with contextlib.nullcontext() if forward_too else numerics.replay(name):
                    check(np.random.default_rng(0))
        return True
    except Exception:                                   # whatever it is, a test would fail
        return False
    finally:
        signal.alarm(0)


def run(paths, checks, workers=1):
    """Make and try all mutants of the files; → (mutants made, those that survive)."""
    made = [mutant for path in paths for mutant in mutants(path)]
    for mutant in made:
        importlib.import_module(".".join((PACKAGE.name,) + Path(mutant.path).with_suffix("").parts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with plain_python():
            calls = {name: reached(check) for name, check in checks.items()}
        keys, numerics = {mutant.key for mutant in made}, Numerics()
        for name in [name for name in checks if calls[name] & keys]:
            with numerics.record(name):
                checks[name](np.random.default_rng(0))
            with plain_python(), numerics.replay(name):
                checks[name](np.random.default_rng(0))

    jobs = [(mutant, {name: checks[name] for name in checks if mutant.key in calls[name]}, numerics) for mutant in made]
    if workers > 1:
        with multiprocessing.get_context("fork").Pool(workers, _adopt, (jobs,)) as pool:
            outcomes = pool.map(_try, range(len(jobs)), chunksize=1)
    else:
        outcomes = [survives(*job) for job in jobs]
    return made, [mutant for mutant, survived in zip(made, outcomes) if survived]


def _adopt(jobs):
    global _jobs
    _jobs = jobs


def _try(i):
    return survives(*_jobs[i])


def main(arguments=None, checks=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="PATH", help="files, relative to the package: layers/linear.py")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    options = parser.parse_args(arguments)
    if checks is None:
        from numpy_attention.checks import CHECKS as checks
    paths = [PACKAGE / path for path in options.only or sorted(PACKAGE.rglob("*.py"))
             if PACKAGE / "checks" not in (PACKAGE / path).parents]
    for path in paths:
        if not path.is_file():
            parser.error(f"{path} is no file: name it relative to {PACKAGE}")
    made, survivors = run(paths, checks, options.workers)
    explained = [m for m in survivors if (m.path, m.function, m.what) in EQUIVALENT]
    alive = [m for m in survivors if m not in explained]
    for mutant in explained:
        print(f"equivalent  {mutant}\n            {EQUIVALENT[mutant.path, mutant.function, mutant.what]}")
    for mutant in alive:
        print(f"SURVIVED    {mutant}")
    print(f"{len(made)} mutants of {len({m.key for m in made})} functions in {len({m.path for m in made})} files: "
          f"{len(made) - len(survivors)} caught, {len(explained)} change no gradient, {len(alive)} survived")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
