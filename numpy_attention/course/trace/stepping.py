"""Step through a reference implementation: print its arrays after each step, and what changed.

A step is one iteration of the outermost loop. If the code has no loop, a step is one call to the
implementation or, if the lesson makes only one call, one line.
"""

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.course.trace.lessons import RecordedCall, Reference
from numpy_attention.course.trace.recording import Entry, recorded, written
from numpy_attention.course.trace.table import format_shape

MOST = 60           # size of the largest array that is printed in full
EDGE = 3            # numbers printed at each end of a larger array
PROMPT = "Enter: on, q: end "


class Stage(NamedTuple):
    """One step of a pass: its title, such as "line 9", and the computed values, in order."""

    title: str
    entries: list[Entry]


def go(reference: Reference, steps: int | None = None) -> None:
    """Print the first `steps` steps of a reference implementation, or all steps.

    In a terminal, if `steps` is None, wait for Enter after each step.
    """
    waits = steps is None and sys.stdin.isatty()
    for number, text in enumerate(texts_of(reference), 1):
        print(text, flush=True)
        if number == steps or waits and asked_to_end():
            return


def asked_to_end() -> bool:
    """Wait for Enter; return whether the user typed q or the input has ended."""
    try:
        return input(PROMPT).strip().lower().startswith("q")
    except EOFError:
        return True


def texts_of(reference: Reference) -> Iterator[str]:
    """Yield the text of each step of the forward pass, then of each step of the backward pass."""
    for name, calls in (("forward", reference.forward), ("backward", reference.backward)):
        if not calls:
            continue
        stages = stages_of(calls)
        before: dict[str, Any] = {}
        for number, stage in enumerate(stages, 1):
            head = f"── {reference.name}, {name}: step {number} of {len(stages)}, {stage.title} ──"
            yield "\n".join([head, *lines_of(stage, before), ""])


# ---- from calls to steps ------------------------------------------------------------------------


def stages_of(calls: list[RecordedCall]) -> list[Stage]:
    """Repeat the recorded calls of a pass; return a Stage for each step of the pass."""
    file = calls[0].function.__code__.co_filename
    entries = recorded(lambda: [one.again() for one in calls], kept,
                       is_followed=lambda code: code.co_filename == file).entries
    loops = any(one.every_step for one in entries)
    roots: dict[int, int] = {}
    stages: list[Stage] = []
    waiting: list[Entry] = []
    last: Any = None
    for one in entries:
        root = root_of(one)
        count = roots.setdefault(id(root), len(roots))
        key: Any
        if loops:
            step = one.every_step[0] if one.every_step else None
            key = step and (count, step.head, step.turn)
            title = step and f"{step.text.rstrip(':')} ({step.label})"
        elif len(calls) > 1:
            key, title = count, f"call {count + 1} of {len(calls)}, {root.function}"
        else:
            line = line_in(one, root)
            key, title = line, f"line {line}"
            if one.place.kind == "argument" and one.call is root:
                key = None
        if key is None:
            waiting.append(one)
        elif key == last:
            stages[-1].entries.extend([*waiting, one])
            waiting = []
        else:
            stages.append(Stage(str(title), [*waiting, one]))
            waiting, last = [], key
    if stages:
        stages[-1].entries.extend(waiting)
        return stages
    return [Stage("the whole", waiting)]


def root_of(entry: Entry) -> Any:
    """Return the outermost Call in which a value was computed."""
    call: Any = entry.call
    while call.parent is not None:
        call = call.parent
    return call


def line_in(entry: Entry, root: Any) -> int:
    """Return the line number, in the outermost call `root`, at which a value is computed."""
    if entry.call is root:
        return entry.place.line
    call: Any = entry.call
    while call.parent is not root:
        call = call.parent
    return call.at


def kept(array: Any) -> Any:
    """Return a copy of an array or a number, for the recording."""
    return np.array(array)


# ---- as text ------------------------------------------------------------------------------------


def lines_of(stage: Stage, before: dict[str, Any]) -> Iterator[str]:
    """Yield lines of text that compare a step's values with those in `before`; update `before`."""
    for one in stage.entries:
        function = one.call.function.rpartition(".")[2]
        nested = one.call.parent is not None
        read_next = one.place.kind == "argument" and (nested or one.place.name == "cache")
        if read_next or one.place.kind == "packed":
            continue
        name = f"{function}: {one.name}" if nested else one.name
        was = before.get(name)
        before[name] = one.value
        different = differs(one.value, was)
        state = "new" if was is None else format_change(different)
        mark = " " if state == "the same" else "*"
        where = "given" if one.place.kind == "argument" else f"{one.place.line}: {one.place.text}"
        yield f"{mark} {name} {format_shape(one.value.shape)}  {state}   {where}"
        some = was is not None and 0 < np.sum(different) < np.size(different)
        marked = different if some else np.zeros(one.value.shape, bool)
        yield from (f"      {line}" for line in numbers_of(one.value, marked).splitlines())


def differs(value: Any, was: Any) -> Any:
    """Return a boolean array, True where `value` differs from the earlier value `was`."""
    if was is None or np.shape(was) != np.shape(value):
        return np.ones(np.shape(value), bool)
    same = value == was
    if value.dtype.kind == "f" and was.dtype == value.dtype:
        same = same | (np.isnan(value) & np.isnan(was))
    return ~same


def format_change(different: Any) -> str:
    count = int(np.sum(different))
    if not count:
        return "the same"
    if count == np.size(different):
        return "changed"
    return f"changed in {count} of {np.size(different)}"


def numbers_of(array: Any, marked: Any) -> str:
    """Format the numbers of an array. marked: a boolean array, True for numbers that get a star."""
    if array.dtype.kind != "f":
        return np.array2string(array, threshold=MOST, edgeitems=EDGE, max_line_width=96)
    there = written(array)
    texts = np.empty(array.shape, object)
    stars = marked.any()
    for place in np.ndindex(array.shape):
        text = f"{array[place]:.4g}" if there[place] else "·"
        star = ("*" if marked[place] else " ") if stars else ""
        texts[place] = text + star
    width = max((len(text) for text in texts.flat), default=0)
    return np.array2string(texts, threshold=MOST, edgeitems=EDGE, max_line_width=96,
                           formatter={"object": lambda text: f"{text:>{width}}"})
