"""Find the reference implementation of a lesson, and record the calls that the lesson makes to it.

A lesson is a script of cells. The cell tagged `plain` holds the reference implementation: a whole
mechanism, forward and backward. The cells of the lesson are run until they have called both passes.
"""

import contextlib
import copy
import io
import os
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from numpy_attention.course import lessons as course
from numpy_attention.gradcheck import profiled
from numpy_attention.validation.messages import short_repr
from numpy_attention.validation.paths import as_path

MARKER = re.compile(r"^# %%(?: (\[markdown\]))?(?: tags=\[\"(\w+)\"\])?.*$", re.MULTILINE)
MOST_CALLS = 2000       # calls before the backward pass that are kept


class Cell(NamedTuple):
    """A code cell of a lesson. tag: its tag, such as "plain", or "". line: where its `# %%` is."""

    tag: str
    body: str
    line: int


class Lesson(NamedTuple):
    """The path of a lesson, and its code cells."""

    path: Path
    cells: list[Cell]


class RecordedCall(NamedTuple):
    """A call to a function of a reference implementation, with copies of the arguments."""

    function: Callable
    arguments: list[Any]

    @property
    def name(self) -> str:
        return self.function.__name__

    def again(self) -> Any:
        """Call the function again with copies of the recorded arguments; return the result."""
        return self.function(*copy.deepcopy(self.arguments))


@dataclass
class Reference:
    """A lesson's reference implementation, with the recorded calls of its two passes, in order.

    name: the class of the implementation or, if it has none, the function that is called first.
    """

    lesson: Lesson
    name: str
    forward: list[RecordedCall]
    backward: list[RecordedCall]


# ---- files --------------------------------------------------------------------------------------


def lesson_named(name: str, folder: str | Path | None = None) -> Lesson:
    """Return the Lesson that has this number or name, or whose name contains `name`.

    folder: by default ./lessons or, if this contains no lessons, the folder of the course. Raises
    ValueError unless exactly one lesson matches, and FileNotFoundError if no lessons are found.
    """
    files = lessons_in(folder)
    wanted = Path(name).stem.lower()
    if re.fullmatch(r"\d{1,2}", wanted):
        found = [one for one in files if one.name.startswith(f"{int(wanted):02d}_")]
    else:
        found = [one for one in files if one.stem == wanted] or [
            one for one in files if wanted and wanted in one.stem]
    if len(found) != 1:
        known = ", ".join(one.stem for one in found or files)
        raise ValueError(f"{'several lessons match' if found else 'no lesson matches'} "
                         f"{short_repr(name)}; choose one of {known}")
    text = found[0].read_text(encoding="utf-8")
    return Lesson(found[0], list(cells_of(text)))


def lessons_in(folder: str | Path | None) -> list[Path]:
    """Return the paths of the lessons in a folder, or in the default folder of `lesson_named`.

    Raises FileNotFoundError if the folder contains no lessons.
    """
    place = Path("lessons") if folder is None else as_path(folder)
    files = sorted(place.glob("[0-9][0-9]_*.py"))
    if not files and folder is None:
        files = [lesson.path for lesson in course.lessons()]
    if not files:
        raise FileNotFoundError(f"the folder {place} contains no lessons; pass another folder, or "
                                "omit the folder to use the lessons of the course")
    return [one.resolve() for one in files]


def cells_of(text: str) -> Iterator[Cell]:
    """Yield the code cells of a script in percent format (each cell begins with a line `# %%`)."""
    marks = list(MARKER.finditer(text))
    for mark, after in zip(marks, [*marks[1:], None]):
        if not mark[1]:
            body = text[mark.end():after.start() if after else len(text)]
            yield Cell(mark[2] or "", body, text.count("\n", 0, mark.start()) + 1)


def reference_cell(lesson: Lesson) -> int:
    """Return the index of the cell with the reference implementation, or raise ValueError."""
    for test in (lambda cell: cell.tag == "plain", has_backward):
        for number, cell in enumerate(lesson.cells):
            if test(cell):
                return number
    raise ValueError(f"{lesson.path.name} has no reference implementation to step through; write "
                     'one in a cell that begins with # %% tags=["plain"]')


def has_backward(cell: Cell) -> bool:
    """Return whether a cell defines a backward pass."""
    return re.search(r"^ *def \w*backward", cell.body, re.MULTILINE) is not None


# ---- the calls of a lesson ----------------------------------------------------------------------


class Enough(BaseException):
    """Raised to end the run of a lesson, even if the lesson has an `except Exception`."""


def reference_of(lesson: Lesson) -> Reference:
    """Run a lesson until its reference implementation has run backward; return the Reference.

    Raises ValueError if the lesson has no reference implementation, does not call it before the
    cell tagged `training`, or raises an exception.
    """
    plain = reference_cell(lesson)
    names: dict[str, Any] = {"__file__": str(lesson.path), "__name__": "lesson"}
    listener = CallListener(names)
    with quietly(lesson.path.parent), errors_located(lesson):
        for cell in lesson.cells[:plain]:
            if cell.tag != "training":
                exec(compiled(lesson, cell), names)
        code = compiled(lesson, lesson.cells[plain])
        listener.codes = set(functions_in(code))
        with contextlib.suppress(Enough), profiled(listener.profile):
            exec(code, names)
            for cell in lesson.cells[plain + 1:]:
                if cell.tag == "training":
                    break
                exec(compiled(lesson, cell), names)
                if listener.is_backward:
                    break
    forward, backward = passes_of(listener.made)
    if not forward:
        raise ValueError(f"{lesson.path.name} does not call its reference implementation before "
                         "training; call it above the training cell")
    name = forward[0].function.__qualname__.partition(".")[0]
    return Reference(lesson, name, forward, backward)


@contextlib.contextmanager
def errors_located(lesson: Lesson) -> Iterator[None]:
    """Context manager that turns a lesson's exception into a ValueError with the line number."""
    try:
        yield
    except Exception as error:
        trace = traceback.extract_tb(error.__traceback__)
        lines = [one.lineno for one in trace if one.filename == str(lesson.path)]
        if isinstance(error, SyntaxError):
            lines.append(error.lineno)
        where = f" on line {lines[-1]}" if lines else ""
        raise ValueError(f"{lesson.path.name} raises {type(error).__name__}{where}: {error}. Fix "
                         "this error: the lesson must run up to its backward pass") from error


def compiled(lesson: Lesson, cell: Cell) -> CodeType:
    """Compile a cell so that its code has the line numbers of the lesson's file."""
    return compile("\n" * (cell.line - 1) + cell.body, str(lesson.path), "exec")


def functions_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects of the functions and methods that a compiled cell defines."""
    for one in code.co_consts:
        if isinstance(one, CodeType) and not one.co_name.startswith("<"):
            if not one.co_flags & 2:            # the body of a class has no local variables
                yield from functions_in(one)
            elif not one.co_name.startswith("__"):
                yield one


@contextlib.contextmanager
def quietly(folder: Path) -> Iterator[None]:
    """Context manager that hides a lesson's output and plots, and lets it import from `folder`."""
    import matplotlib
    backend = matplotlib.get_backend()
    matplotlib.use("Agg")
    known = set(sys.modules)
    sys.path.insert(0, str(folder))
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(
            io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            if (folder / "course.py").is_file():
                import course  # type: ignore[import-not-found]
                kept, course.OUTPUTS = course.OUTPUTS, Path(place)
            yield
        finally:
            if (folder / "course.py").is_file():
                course.OUTPUTS = kept
            sys.path.remove(str(folder))
            for name in set(sys.modules) - known:
                file = getattr(sys.modules[name], "__file__", None)
                if file and os.path.dirname(file) == str(folder):
                    del sys.modules[name]
            matplotlib.use(backend)


class CallListener:
    """Listener that records a lesson's calls to its reference implementation.

    names: the global variables of the lesson
    codes: the code objects of the functions to record
    made: the recorded calls, up to the end of the first backward pass
    is_backward: whether the last recorded call is part of a backward pass
    """

    def __init__(self, names: dict[str, Any]):
        self.names = names
        self.codes: set[CodeType] = set()
        self.made: list[RecordedCall] = []
        self.is_backward = False

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_code not in self.codes or self.is_within(frame):
            return
        function = self.function_of(frame)
        if function is None:
            return
        backward = "backward" in frame.f_code.co_name
        if self.is_backward and not backward:
            raise Enough
        self.is_backward = backward
        code = frame.f_code
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        arguments = [frame.f_locals[name] for name in names]
        self.made.append(RecordedCall(function, copy.deepcopy(arguments)))
        del self.made[:-MOST_CALLS]

    def is_within(self, frame: FrameType) -> bool:
        """Return whether the reference implementation called this frame, directly or indirectly."""
        outer = frame.f_back
        while outer is not None:
            if outer.f_code in self.codes:
                return True
            outer = outer.f_back
        return False

    def function_of(self, frame: FrameType) -> Any:
        """Return the function that a frame runs, or None if its name refers to something else."""
        name = frame.f_code.co_name
        if "self" in frame.f_code.co_varnames[:1]:
            function = vars(type(frame.f_locals["self"])).get(name)
        else:
            function = self.names.get(name)
        return function if getattr(function, "__code__", None) is frame.f_code else None


def passes_of(made: list[RecordedCall]) -> tuple[list[RecordedCall], list[RecordedCall]]:
    """Return the calls of one forward pass, and the calls of its backward pass, if there is one."""
    backward = [one for one in made if "backward" in one.name]
    before = [one for one in made if "backward" not in one.name]
    if not backward:
        return before[:1], []
    times = Counter(one.name for one in backward)
    forward: list[RecordedCall] = []
    seen: set[str] = set()
    groups = [(name, list(calls)) for name, calls in groupby(before, lambda one: one.name)]
    for name, calls in reversed(groups):
        if name in seen:
            break
        seen.add(name)
        partner = "backward" if name == "forward" else f"{name}_backward"
        forward[:0] = calls[-(times[partner] or 1):]
    kept = [one for one in forward
            if times["backward" if one.name == "forward" else f"{one.name}_backward"]]
    return kept or forward[-1:], backward
