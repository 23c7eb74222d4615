"""A recording as a table: one row for each line that computes an array, in the order of the run.

If a loop runs a line several times, the row has the smallest and the largest norm. The rows of a
called function come above the row of the line that calls the function.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.course.trace.recording import Call, Entry, Recording, Step, written
from numpy_attention.gradcheck import PACKAGE, file_label
from numpy_attention.validation.arguments import as_list, check_text
from numpy_attention.validation.arrays import at_least
from numpy_attention.validation.messages import plural, short_repr

# kinds of Lines that do not compute a value, but pass, read or count one
GIVEN = "argument", "unpacked", "packed", "step"


class Measured(NamedTuple):
    """The shape of a recorded array, and the norm of the elements written so far.

    norm: None if the elements are not floats. is_empty: whether no element has been written yet.
    """

    shape: tuple[int, ...]
    norm: float | None
    is_empty: bool = False


def measured(array: Any) -> Measured:
    """Return the shape and the norm of an array or a number, as a Measured."""
    values = np.asarray(array)
    if values.dtype.kind != "f":
        return Measured(values.shape, None)
    there = values[written(values)]
    with np.errstate(all="ignore"):
        norm = float(np.linalg.norm(there.astype(np.float64)))
    return Measured(values.shape, norm, values.size > there.size == 0)


@dataclass
class Row:
    """One row of a trace: the array that a line of code computes.

    name: the name of the array
    layer: the path of the Module whose method has the line, "" for the model, None for a function
    steps: for each time that the line ran, the Steps of the enclosing loops, the outermost first
    norms: for each time that the line ran, the norm of the array
    """

    name: str
    shape: tuple[int, ...]
    equation: str       # the code of the line
    function: str       # that contains the line, such as "RNNSearch.forward"
    file: str           # that contains the function, such as "models/rnnsearch.py"
    line: int
    layer: str | None
    steps: list[tuple[Step, ...]]
    norms: list[float | None]

    @property
    def norm(self) -> float | None:
        """The last norm. If the line accumulates a sum, this is the norm of the total."""
        return self.norms[-1]

    def at(self, step: int) -> "Row | None":
        """Return the row at `step` of the loop with the most steps, or None if no step matches."""
        longest = self.longest()
        if longest is None:
            return None
        chosen = [n for n, steps in enumerate(self.steps) if steps[longest].label == step]
        if not chosen:
            return None
        return Row(self.name, self.shape, self.equation, self.function, self.file, self.line,
                   self.layer, [self.steps[n] for n in chosen], [self.norms[n] for n in chosen])

    def labels(self) -> set[int]:
        """Return the step numbers of the enclosing loop with the most steps."""
        longest = self.longest()
        return set() if longest is None else {steps[longest].label for steps in self.steps}

    def longest(self) -> int | None:
        """Return the index of the enclosing loop with the most steps, or None without a loop."""
        turns = [len({steps[n].label for steps in self.steps}) for n in range(len(self.steps[0]))]
        return max(range(len(turns)), key=lambda n: (turns[n], n)) if turns else None


@dataclass
class Block:
    """A call or a loop in a trace, with the rows and the Blocks inside it, in order.

    head: the text above the rows. call: the Call, or None for a loop. labels: the loop's steps.
    """

    head: str = ""
    parts: dict[Any, Any] = field(default_factory=dict)         # {key: Row or Block}
    call: Call | None = None
    labels: list[int] = field(default_factory=list)             # of a loop

    def rows(self) -> Iterable[Row]:
        for part in self.parts.values():
            if isinstance(part, Row):
                yield part
            else:
                yield from part.rows()

    def chosen(self, choice: Any) -> "Block":
        """Apply choice(row) to each row; return a Block with the results that are not None."""
        parts: dict[Any, Any] = {}
        for key, part in self.parts.items():
            kept = part.chosen(choice) if isinstance(part, Block) else choice(part)
            if kept is not None and not (isinstance(kept, Block) and not kept.parts):
                parts[key] = kept
        return Block(self.head, parts, self.call, self.labels)


class Trace:
    """The named arrays of a run. `rows` lists them in order; `text()` formats them as a table."""

    def __init__(self, title: str, recording: Recording):
        self.title = title
        self.unfollowed = recording.unfollowed
        self.tree = tree_of(recording.entries)

    @property
    def rows(self) -> list[Row]:
        """All rows of the table, in order."""
        return list(self.tree.rows())

    def __repr__(self) -> str:
        return f"Trace of {self.title}: {plural(len(self.rows), 'line')} that make arrays"

    def text(self, step: int | None = None, layer: str | None = None,
             names: str | Sequence[str] | None = None, depth: int | None = None) -> str:
        """Return the table, or the part of the table that the arguments select.

        step: the number of a loop step, as printed. layer: the path of a Module in the model, or
        the name of a function. names: names of arrays, or patterns like d*. depth: summarize each
        call inside `depth` other calls in one line. Raises ValueError if the step, the layer or a
        name matches nothing, and TypeError for arguments of the wrong type.
        """
        at_least(0, step=step, depth=depth)
        if layer is not None:
            check_text("layer", layer)
        patterns = [names] if isinstance(names, str) else names_in(names)
        tree = self.tree
        if layer is not None:
            tree = self._chosen(tree, lambda row: row if is_of(row, layer) else None,
                                f"layer {short_repr(layer)}", self._layers(), layer)
        for pattern in patterns:
            if not any(is_named(row, pattern) for row in tree.rows()):
                every = list(dict.fromkeys(row.name for row in tree.rows()))
                raise ValueError("no array matches the name "
                                 f"{short_repr(pattern)}{nearest(pattern, every)}")
        if patterns:
            tree = tree.chosen(lambda row: row if any(is_named(row, one) for one in patterns)
                               else None)
        if step is not None:
            known = sorted({label for row in tree.rows() for label in row.labels()})
            tree = self._chosen(tree, lambda row: row.at(step), f"step {step}",
                                list(map(str, known)), "")
        lines = [self.title, *lines_of(tree, step, depth)]
        return "\n".join([*lines, *self._notes()])

    def _chosen(self, tree: Block, choice: Any, what: str, known: list[str], given: str) -> Block:
        found = tree.chosen(choice)
        if not found.parts:
            raise ValueError(f"nothing matches {what}{nearest(given, known)}")
        return found

    def _layers(self) -> list[str]:
        layers = [row.layer for row in self.rows if row.layer]
        return list(dict.fromkeys([*layers, *(row.function for row in self.rows)]))

    def _notes(self) -> list[str]:
        return [f"not followed: {why}" for why in self.unfollowed.values()]


def names_in(names: Any) -> list[str]:
    """Return names or patterns as a list, or [] for None.

    Raises TypeError if a name is not a string, and ValueError if the list is empty.
    """
    found = [] if names is None else as_list("names", names, "names of arrays")
    if names is not None and not found:
        raise ValueError("names is empty; expected names of arrays, or None for all")
    for one in found:
        check_text("names", one)
    return found


def nearest(given: str, known: list[str]) -> str:
    """Return the end of an error message with the names nearest to `given`: "; choose from dh"."""
    if not known:
        return ""
    close = get_close_matches(given, known, 5, 0.4) or known
    more = ", …" if len(close) > 8 else ""
    return f"; choose from {', '.join(close[:8])}{more}"


def is_of(row: Row, layer: str) -> bool:
    """Return whether a row belongs to `layer`, a path in the model or the name of a function."""
    if row.layer is not None and (row.layer == layer or row.layer.startswith(f"{layer}.")):
        return True
    return row.function == layer or layer in row.function.split(".")


def is_named(row: Row, pattern: str) -> bool:
    """Return whether a pattern matches a row's name. W matches grads.W, and x matches x[i]."""
    whole = row.name.partition("[")[0]
    return any(fnmatchcase(one, pattern) for one in (row.name, whole, whole.rpartition(".")[2]))


# ---- from entries to a tree ---------------------------------------------------------------------


def tree_of(entries: Iterable[Entry]) -> Block:
    """Return recorded values as a tree, with a Block of Rows for each call and each loop."""
    root = Block()
    for one in entries:
        unused = one.name.partition("[")[0] == "_"
        if one.place.kind in GIVEN or one.value.is_empty or unused:
            continue
        if one.value.norm is None and one.call.owner is None:       # such as ids of positions
            continue
        block = inside(block_of(root, one.call), one.steps, one.place.file)
        key = one.place.line, one.name, one.place.text
        if key not in block.parts:
            block.parts[key] = Row(one.name, one.value.shape, one.place.text, one.place.function,
                                   file_of(one.place.file), one.place.line, one.call.owner, [], [])
        row = block.parts[key]
        row.shape = one.value.shape
        row.steps.append(one.every_step)
        row.norms.append(one.value.norm)
    return root


def block_of(root: Block, call: Call) -> Block:
    """Return the Block of a call, inside the Blocks of its callers. Missing Blocks are added."""
    if call.parent is None:
        outer = root
    else:
        outer = inside(block_of(root, call.parent), call.around, call.parent.file)
    key = call.function, call.at, call.owner
    if key not in outer.parts:
        outer.parts[key] = Block(head_of(call), call=call)
    return outer.parts[key]


def inside(block: Block, steps: Sequence[Step], file: str) -> Block:
    """Follow nested `steps` down from `block`; return the innermost Block. Add missing Blocks."""
    for step in steps:
        key = "loop", step.head
        if key not in block.parts:
            block.parts[key] = Block(step.text)
        block = block.parts[key]
        if step.label not in block.labels:
            block.labels.append(step.label)
    return block


def head_of(call: Call) -> str:
    """Return the heading of a call: "encoder.forward(xs (4, 1, 6))   cells/cell.py"."""
    name = call.function.rpartition(".")[2]
    if call.owner:
        name = f"{call.owner}.{name}"
    given = ", ".join(f"{name} {format_shape(shape)}" for name, shape in call.given.items())
    return f"{name}({given})   {file_of(call.file)}"


def file_of(file: str) -> str:
    """Return a file's label: its path in the package, or the name of a file outside the package."""
    path = Path(file)
    if PACKAGE in path.parents:
        return str(path.relative_to(PACKAGE))
    return file_label(file)


# ---- as text ------------------------------------------------------------------------------------


def lines_of(block: Block, step: int | None, depth: int | None, margin: str = "") -> list[str]:
    """Return the lines of a Block as text. step, depth: as in `Trace.text`. margin: an indent."""
    lines = []
    for part in block.parts.values():
        while isinstance(part, Block) and part.call is not None and is_wrapper(part):
            part, = part.parts.values()
        if isinstance(part, Row):
            lines.append(f"{part.line:>5} {margin}{part.name:<14} {format_shape(part.shape):<12} "
                         f"{format_norms(part.norms):<19} {part.equation}")
            continue
        if part.call is not None:
            within = plural(len(list(part.rows())), "line")
            folded = f"   … {within}" if depth == 0 else ""
            lines.append(f"      {margin}{part.head}{folded}")
            if depth != 0:
                lines += lines_of(part, step, depth and depth - 1, margin + "  ")
        elif step is None:
            lines.append(f"      {margin}{part.head}   {format_steps(part.labels)}")
            lines += lines_of(part, step, depth, margin + "  ")
        else:
            lines += lines_of(part, step, depth, margin)
    return lines


def is_wrapper(block: Block) -> bool:
    """Return whether a call does nothing except call another function."""
    parts = list(block.parts.values())
    return len(parts) == 1 and isinstance(parts[0], Block) and parts[0].call is not None


def format_shape(shape: tuple[int, ...]) -> str:
    return str(tuple(shape)) if shape else "()"


def format_norms(norms: Sequence[float | None]) -> str:
    """Format the smallest and the largest norm, or a single number if these are equal."""
    known = [one for one in norms if one is not None]
    if not known:
        return "–"
    low, high = f"{min(known):.4g}", f"{max(known):.4g}"
    return low if low == high else f"{low} … {high}"


def format_steps(labels: Sequence[int]) -> str:
    """Format step numbers as "steps 0 … 5", the first and the last in the order of the run."""
    if len(labels) == 1:
        return f"step {labels[0]}"
    return f"steps {labels[0]} … {labels[-1]}"
