"""Check a user's file in stages, and stop at the first stage that fails.

The stages check that the file runs, what its functions return, shapes, the protocol (no argument is
changed, no memory is left uninitialized), values, and gradients. The last stage checks laws that a
comparison with central differences cannot test, such as that backward adds to `grads`.
"""

import ast
import inspect
import linecache
import re
import warnings
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention import gradcheck
from numpy_attention.course.exercises import given
from numpy_attention.course.exercises.exercise import SEEDS, Case, Exercise
from numpy_attention.course.exercises.places import LEFT_OUT, placed
from numpy_attention.course.exercises.recognition import names_in, recognized, sentence
from numpy_attention.course.exercises.signatures import arrays_of, named, signature
from numpy_attention.course.exercises.source import BLANK
from numpy_attention.course.exercises.symptoms import labels_of, of_values, rows_of, shapes_at
from numpy_attention.custom.code import Code, place_in_code, read
from numpy_attention.validation.messages import cut, typed_repr
from numpy_attention.validation.paths import short_path

# packages with automatic differentiation, which would solve the exercises
FRAMEWORKS = {"torch", "jax", "tensorflow", "autograd", "mxnet", "tinygrad"}
LONGEST = 400       # characters of an error message of the user's code
TRIED = 0.3         # fraction of the usual trials, so that an answer takes about two seconds


@dataclass
class Verdict:
    """The result of a check.

    stage: the stage that failed, or "" if everything is correct
    message: why the stage failed
    mistakes: sentences about the mistakes that explain the wrong outputs and gradients
    place: where these mistakes are in the code, in words, or "" if unknown
    proven: whether the message proves which line causes all the errors
    blank: whether a function that the user has to write is not implemented yet
    """

    stage: str = ""
    message: str = ""
    mistakes: list[str] = field(default_factory=list)
    place: str = ""
    proven: bool = False
    blank: bool = False

    @property
    def passed(self) -> bool:
        return not self.stage


@dataclass(eq=False)
class Failed(Exception):
    """Raised if a stage of the check fails.

    stage, message, blank, proven: as in `Verdict`. report: a gradient check's Report, or None.
    """

    stage: str
    message: str
    blank: bool = False
    proven: bool = False
    report: Any = None


def check(exercise: Exercise, path: str | Path) -> Verdict:
    """Check a user's file and return the Verdict. Raises OSError if the file cannot be read."""
    linecache.checkcache(str(path))                 # the file may have been changed since
    try:
        code = read(path)
    except ValueError as error:                     # too long, say
        return Verdict("runs", str(error))
    try:
        tree = tree_of(exercise, code)
        its = module_of(code)
    except Failed as failure:
        return Verdict(failure.stage, failure.message, blank=failure.blank)
    try:
        for seed in SEEDS:
            for mine, right in exercise.pairs(its, seed):
                check_outputs(exercise, mine, right)
        for seed in SEEDS:
            for mine, _ in exercise.pairs(its, seed):
                check_gradients(mine, seed, exercise.planted is not None)
    except Failed as failure:
        found = Verdict(failure.stage, failure.message, proven=failure.proven)
        if exercise.planted:
            text = code.text.decode("utf-8", errors="replace")
            found.message = "\n".join([found.message, *given.guesses(exercise, text)])
        else:
            its_given = given.Given(exercise, tree)
            found.message = given.with_given(found.message, its_given)
            if failure.stage != "runs":             # the code runs, so it has numbers
                names = names_in(exercise, tree)
                known = recognized(exercise, numbers_of(exercise, its), names)
                if failure.stage in ("protocol", "laws"):       # has named what is broken
                    known = [one for one in known if exercise.has_curated(one)]
                first = re.search(f"^{given.FIRST_WRONG}line ([0-9]+) of", found.message, re.M)
                line = int(first[1]) if first else None
                found.mistakes, place, certain = placed(exercise, known, tree, line)
                found.mistakes = [sentence(exercise, one) for one in found.mistakes]
                is_curated = any(text in one for one in known for _, _, text in exercise.mistakes)
                if not is_curated and (forgotten := not_added(failure.report, names)):
                    found.mistakes, place = forgotten, None
                is_left_out = all(map(LEFT_OUT.match, found.mistakes))
                found.place = described(place, code, certain, is_left_out)
                if known:
                    found.message = given.without_doubted(found.message, place, its_given)
                if known and not (certain and place == line):
                    found.message = found.message.replace(given.FIRST_WRONG, given.FIRST_SEEN)
        return found
    return Verdict()


def not_added(report: Any, names: Set[str]) -> list[str]:
    """Return a sentence for each parameter whose gradient the user's code never adds to grads."""
    found = {name: report.analytic.get(name) for name in getattr(report, "wrong", ())}
    return [f"grads.{name} stays 0: you did not add its gradient" for name, array in found.items()
            if array is not None and not np.any(array) and not name.startswith("input")
            and not any(f"grads.{name}.".startswith(f"{one}.") for one in names - {"grads"})]


def numbers_of(exercise: Exercise, its: Any) -> dict[str, float]:
    """Return the result of `signature` for a user's module, or {} if a function raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return signature(exercise, its)
    except Exception:                               # whatever a user's code may raise
        return {}


def described(place: int | str | None, code: Code, certain: bool, is_left_out: bool) -> str:
    """Describe where a mistake is: "it is in line 9 of softmax.py", then the code of the line.

    place: a line number, a function's name or None. certain: whether the place is certain.
    is_left_out: whether the mistake is an omission.
    """
    if not isinstance(place, int):
        return f"something is missing in {place}" if place else ""
    text = code.text.decode("utf-8", errors="replace").splitlines()[place - 1]
    what = "it is probably" if not certain else "something is missing" if is_left_out else "it is"
    before = given.OR_BEFORE if is_left_out and text.strip().startswith("return") else ""
    return f"{what} in line {place} of {code.path.name}{before}\n    {cut(text.strip(), LONGEST)}"


# ---- it runs -----------------------------------------------------------------------------------


def tree_of(exercise: Exercise, code: Code) -> ast.Module:
    """Parse a user's file. Raises Failed if it is invalid, is incomplete or imports a framework."""
    text = code.text.decode("utf-8", errors="replace")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}" if line else "your code"
        message = f"{where} is not valid Python: {getattr(error, 'msg', error)}"
        if line and text.splitlines()[line - 1:line]:
            message += f"\n    {cut(text.splitlines()[line - 1].strip(), LONGEST)}"
        raise Failed("runs", message) from None
    for name in imported(tree):
        if name in FRAMEWORKS:
            raise Failed("runs", f"your code imports {name}; use only NumPy in an exercise")
    check_names(exercise, tree, text)
    return tree


def module_of(code: Code) -> Any:
    """Run a user's file as a module; return the module. Raises Failed if the code raises."""
    try:
        return code.module
    except ValueError as error:
        raise Failed("runs", str(error).removeprefix(f"{short_path(code.path)} cannot be run: ")
                     ) from None


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the name of each package that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def check_names(exercise: Exercise, tree: ast.Module, text: str) -> None:
    """Raise Failed if the file is empty, or if a function is missing or not implemented."""
    if not text.strip():
        raise Failed("runs", "the file is empty; restore it with `numpy-attention exercise reset "
                     f"{exercise.name}`")
    for blank in exercise.blanks:
        node: Any = tree
        for name in blank.split("."):
            inside = [one for one in node.body if getattr(one, "name", None) == name]
            if not inside:
                raise Failed("runs", f"{blank} is missing; define it under this name")
            node = inside[-1]
        if any(BLANK in ast.unparse(one).replace("'", '"') for one in node.body):
            raise Failed("runs", f"{blank} is not implemented yet", blank=True)


def stopped(error: Exception) -> str:
    """Describe an exception raised by user code: the line, and the shapes of arrays in the line."""
    place = place_in_code(error)
    words = cut(f"{type(error).__name__}: {error}", LONGEST)
    return "\n".join([f"{place} raises {words}" if place else f"it raises {words}",
                      *shapes_at(error)])


# ---- returns, shapes, protocol, values ----------------------------------------------------------


def check_outputs(exercise: Exercise, mine: Case, right: Case) -> None:
    """Raise Failed if the user's forward pass fails, changes an argument or gives wrong outputs."""
    inputs = [gradcheck.copy_arrays(one) for one in mine.inputs]
    watch = gradcheck.Watch(dict(gradcheck.arrays_within(inputs, "input")))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = mine.forward(*inputs)
    except Exception as error:                      # whatever a user's code may raise
        raise Failed("runs", stopped(error)) from None
    wanted = right.forward(*right.inputs)
    if mine.backward is not None:
        found, wanted = without_cache(found, wanted)
    check_like(found, wanted)
    now = dict(gradcheck.arrays_within(inputs, "input"))    # without those replaced in a list
    changed = watch.changed() or [name for name, array in watch.arrays.items()
                                  if now.get(name) is not array]
    if changed:
        raise Failed("protocol", with_names(f"{' and '.join(changed)} "
                                            f"{'was' if len(changed) == 1 else 'were'} changed: "
                                            "arguments belong to the caller, so work on a copy",
                                            mine))
    if mine.differ is None:
        check_values(found, wanted, labels_of(exercise, right.forward) | called(exercise, right))
    elif not np.allclose(found, wanted):
        raise Failed("values", mine.differ(found, wanted))


def called(exercise: Exercise, case: Case) -> dict[str, str]:
    """Return {"output": "turn(-2, 8)"} if a case checks a function of the solution, else {}."""
    name = case.forward.__name__
    if getattr(exercise.right, name, None) is not case.forward:
        return {}
    given = ", ".join(str(one) if isinstance(one, (int, float)) else "…" for one in case.inputs)
    return {"output": f"{name}({given})"}


def without_cache(found: Any, wanted: tuple) -> tuple[tuple, tuple]:
    if not isinstance(found, tuple) or len(found) != len(wanted):
        raise Failed("returns", f"forward returns {shape_of(found)}; expected {len(wanted) - 1} "
                     f"output{'s' if len(wanted) > 2 else ''} and the cache")
    return found[:-1], wanted[:-1]


def shape_of(value: Any) -> str:
    """Describe a value in a few words, such as "an array of shape (2, 3)"."""
    if value is None:
        return "None (is a return missing?)"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of length {len(value)}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return typed_repr(value)


def check_like(found: Any, wanted: Any, name: str = "the returned value") -> None:
    """Raise Failed unless `found` has the type and shape of `wanted`. name: a name for `found`."""
    if isinstance(wanted, (tuple, list)):
        if not isinstance(found, (tuple, list)) or len(found) != len(wanted):
            raise Failed("returns", f"{name} is {shape_of(found)}; expected {shape_of(wanted)}")
        for number, (one, other) in enumerate(zip(found, wanted)):
            part = "output" if name == "the returned value" else name
            check_like(one, other, f"{part}[{number}]")
        return
    if wanted is None or isinstance(wanted, str):
        if type(found) is not type(wanted):
            raise Failed("returns", f"{name} is {shape_of(found)}; expected {typed_repr(wanted)}")
        return
    if found is None or isinstance(found, (str, dict, tuple, list)):
        raise Failed("returns", f"{name} is {shape_of(found)}; expected {shape_of(wanted)}")
    try:
        array = np.asarray(found)
        kind = array.dtype.kind
    except Exception:
        kind = "O"
    if kind not in "fiub":
        raise Failed("returns", f"{name} is {typed_repr(found)}; expected numbers")
    if kind == "f" and np.ndim(wanted) and np.asarray(wanted).dtype.kind == "i":
        raise Failed("returns", f"{name} has dtype {array.dtype}; expected integers")
    if array.shape != np.shape(wanted):
        raise Failed("shapes", f"{name} has shape {array.shape}; expected {np.shape(wanted)}")


def check_values(found: Any, wanted: Any, labels: dict[str, str]) -> None:
    """Raise Failed if an output is wrong. labels: {"output[0]": its name in the message, …}."""
    wrong, right = [], []
    for (name, one), (_, other) in zip(named(found, "output"), named(wanted, "output")):
        name = labels.get(name, name)
        differs = ~np.isclose(one, other, rtol=1e-7, atol=1e-10)
        if differs.any():
            wrong.append("\n".join(of_values(name, one, other, differs)))
        else:
            right.append(name)
    if wrong:
        also = f"\n  right: {', '.join(right)}" if right else ""
        raise Failed("values", wrong[0] + also)


# ---- gradients and laws -------------------------------------------------------------------------


def check_gradients(case: Case, seed: int, hidden: bool) -> None:
    """Raise Failed if backward is not the derivative of forward, or if a pass breaks a law.

    hidden: whether to leave the wrong line out of the message.
    """
    if case.backward is None:
        return
    check_no_stop(case, seed)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), gradcheck.limited_search(TRIED):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", gradcheck.NotAParameter)
            gradcheck.gradcheck(
                case.target, *case.inputs, rng=np.random.default_rng(seed),
                forward=case.forward, backward=case.backward, causal=case.causal)
    except gradcheck.GradientError as error:
        message = symptoms(error) if hidden else str(error)
        raise Failed(stage_of(error), with_names(message, case), report=error.report,
                     proven=not hidden and is_proven(error.report)) from None
    except gradcheck.NotAParameter as warned:
        raise Failed("protocol", str(warned)) from None
    except Exception as error:                      # whatever a user's code may raise
        raise Failed("returns", stopped(error)) from None


def is_proven(report: Any) -> bool:
    """Return whether a gradient check's report proves which line causes all the errors."""
    if isinstance(report, str):
        return False
    if not report.wrong:
        return any(law.place is not None for law in report.laws)
    return any(one.is_proven and one.follows == report.wrong for one in report.findings)


def check_no_stop(case: Case, seed: int) -> None:
    """Raise Failed if the backward pass raises an exception in a line of the user's code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            list(arrays_of(case, seed))
    except Exception as error:                      # whatever a user's code may raise
        place = gradcheck.failing_place(error)
        if place is None:
            return                                  # it returns no gradient, for example
        where = gradcheck.describe_place(place)
        words = cut(f"{type(error).__name__}: {error}", LONGEST)
        raise Failed("runs", "\n".join([
            f"backward raises at {where}: {words}", f"    {gradcheck.source_line(place)}",
            *shapes_at(error)])) from None


def symptoms(error: gradcheck.GradientError) -> str:
    """List wrong gradients without naming a line. If none is wrong, return the error's message."""
    report = error.report
    if isinstance(report, str) or not report.wrong:
        return str(error)
    lines = [f"right: {', '.join(report.right) or 'none'}; wrong: {', '.join(report.wrong)}"]
    for name in report.wrong:
        found, right = report.analytic.get(name), report.numeric[name]
        if found is None or np.shape(found) != right.shape:
            lines.append(f"  {name}: its shape is not {right.shape}")
            continue
        wrong = ~np.isclose(found, right, rtol=1e-6, atol=1e-9)
        at = tuple(map(int, np.argwhere(wrong)[0])) if wrong.any() else (0,) * right.ndim
        lines.append(f"  {name}: {int(wrong.sum())} of {right.size} elements{rows_of(wrong)}; "
                     f"{list(at)} is {found[at]:.6g}, right {right[at]:.6g}")
    return "\n".join(lines)


def with_names(message: str, case: Case) -> str:
    """Replace each input[k] in a message by the name of the k-th parameter of the forward pass."""
    names = list(inspect.signature(case.forward).parameters)

    def name_of(found: re.Match[str]) -> str:
        number = int(found[1])
        return names[number] if number < len(names) else found[0]
    return re.sub(r"\binput\[(\d+)\]", name_of, message)


def stage_of(error: gradcheck.GradientError) -> str:
    """Return the stage of the check, such as "shapes", to which a gradient error belongs."""
    report = error.report
    stop = report if isinstance(report, str) else report.stops
    if stop:
        return "runs" if " raises " in stop else "returns"
    kinds = {kind.name for of_one in report.kinds for kind in of_one[:1]}
    kinds |= {law.kind for law in report.laws}
    if kinds & {"shape"} or any(np.shape(report.analytic[name]) != report.numeric[name].shape
                                for name in report.wrong if report.analytic.get(name) is not None):
        return "shapes"
    if kinds & {"unwritten", "argument changed"}:
        return "protocol"
    return "gradients" if report.wrong else "laws"
