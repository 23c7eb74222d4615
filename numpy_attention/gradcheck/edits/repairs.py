"""Find a small edit of a backward pass that makes every gradient correct."""

import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from numpy_attention.gradcheck.edits.alternatives import NUDGE
from numpy_attention.gradcheck.edits.candidates import Written
from numpy_attention.gradcheck.edits.editing import Edit, Editing
from numpy_attention.gradcheck.locate.budget import Budget
from numpy_attention.gradcheck.locate.forwards import Forward, Naming
from numpy_attention.gradcheck.locate.rewriting import (
    PACKAGE,
    Declined,
    Instrumented,
    with_codes,
)

# kinds of edits, the most specific first: they are least likely to be right by chance
KINDS = ("assigned", "no return", "unwritten", "dtype", "repeated ids", "shape", "transpose",
         "output ignored", "axis", "batch sum", "sign", "wrong step", "mask backward", "exchanged",
         "derivative", "factor", "double", "extra term", "jacobian", "missing term",
         "wrong variable")

# kinds of mistakes of a line whose own gradient is correct
IN_CORRECT_LINES = "no return", "assigned", "exchanged"


@dataclass
class Repairs:
    """Tries up to `most` edits of `functions`, one at a time, until the gradients are correct.

    every: functions that are not edited, but whose code is also used to build edits
    gradients(): returns {name: gradient} of the check
    wrong(gradients): returns the names of the wrong gradients
    variables: {name: array}; the contents of the arrays are restored after each edit
    """

    functions: list
    every: list
    gradients: object
    wrong: object
    variables: dict
    edits: list[Edit] = field(default_factory=list)
    kinds: ClassVar[tuple[str, ...]] = KINDS
    editing: ClassVar[type] = Editing
    most: ClassVar[int] = 3500      # largest number of edits that are tried

    def __post_init__(self):
        self.kept = {name: array.copy() for name, array in self.variables.items()}
        naming = self.named()
        written = Written(self.functions, self.every)
        for function in {one.__code__: one for one in self.functions}.values():
            qualname = function.__qualname__.replace("<locals>.", "")
            with suppress(Declined):
                self.edits += self.editing(function, naming.names_of(qualname),
                                           naming.masks.get(qualname, {}),
                                           naming.numbers.get(qualname, set()), written).edits
        self.order = {}
        for edit in self.edits:
            self.order.setdefault(edit.place.function, len(self.order))
        self.useless: dict[tuple, set] = {}         # {what was wrong: edits that do not help}
        self.before = set(self.wrong(self.gradients_with()))
        self.budget = Budget(self.most)

    def named(self):
        """Run the passes; return a Naming with the names and shapes of the functions' arrays."""
        rewritten = Instrumented([*self.functions, *self.every], Forward)
        naming = Naming(rewritten.places)
        with rewritten.reporting_to(naming), quiet():
            try:
                self.gradients()
            except Exception:           # the values made until then are kept
                pass
        self.mend()
        return naming

    def all_right(self, edit, wrong):
        """Return whether an edit corrects the gradients in `wrong` without making others wrong."""
        gradients = self.gradients_with(edit)
        if not gradients:
            return False
        still = set(self.wrong(gradients))
        return not still & set(wrong) and still <= self.before

    def gradients_with(self, edit=None):
        """Run the passes, with `edit` if given; return {name: gradient}, or {} if they raise."""
        with quiet():
            try:
                with self.edited(edit):
                    gradients = self.gradients()
            except Exception:           # edited code may raise anything
                gradients = {}
        self.mend()
        return gradients

    @contextmanager
    def edited(self, edit):
        """Context manager that applies an edit, unless it is None. May raise Declined."""
        codes = []
        if edit is not None:
            code, before = edit.code(), edit.function.__code__
            codes = [(one, code) for one in self.functions if one.__code__ == before]
        with with_codes(codes):
            yield

    def mend(self):
        for name, array in self.variables.items():
            np.copyto(array, self.kept[name])

    def reach(self):
        """Return {(file, line): names of the gradients that depend on the line}."""
        before = self.gradients_with()
        if not before:                  # `backward` raises without an edit
            return {}
        found = {}
        for edit in self.edits:
            if edit.kind == NUDGE:
                after = self.gradients_with(edit)
                line = edit.place.file, edit.place.line
                changed = {name for name in after if not np.array_equal(after[name], before[name])}
                found[line] = found.get(line, set()) | changed
        return {line: changed for line, changed in found.items() if changed}

    def within(self, places):
        """Return the edits of the statements at `places`, the most likely edits first."""
        lines = {(one.file, one.line) for one in places}
        return self.sorted(edit for edit in self.edits if line_of(edit) in lines)

    def elsewhere(self, innocent, wrong, reach):
        """Return all edits that may correct the gradients in `wrong`, in the order to try them.

        innocent: (file, line) of the lines with correct gradients. reach: the result of reach().
        """
        first, then = [], []
        for edit in self.edits:
            line = line_of(edit)
            if edit.is_apart:
                then.append(edit)
            elif line in innocent and edit.kind not in IN_CORRECT_LINES:
                continue
            elif line not in reach or reach[line] == set(wrong):
                first.append(edit)
            elif reach[line] >= set(wrong):
                then.append(edit)
        return [*self.sorted(first), *self.sorted(then)]

    def sorted(self, edits):
        return sorted((one for one in edits if one.kind in self.kinds), key=self.likelihood)

    def likelihood(self, edit):
        """Return a sort key by which the most likely edits come first."""
        # a called function comes before its caller
        return self.kinds.index(edit.kind), edit.adds, -self.order[edit.place.function]

    def first(self, edits, wrong):
        """Return the first of `edits` that makes the gradients in `wrong` correct, or None."""
        useless = self.useless.setdefault(tuple(wrong), set())
        for edit in edits:
            if edit in useless:
                continue
            if self.budget.is_spent:
                return None
            self.budget.take()
            if self.all_right(edit, wrong):
                return edit
            useless.add(edit)
        return None


def line_of(edit):
    return edit.place.file, edit.place.line


@dataclass
class Copying:
    """Listener that replaces the values of one statement in `forward` with copies."""

    number: int         # index of the statement's Place

    def moved(self, value, number):
        return value.copy() if number == self.number and isinstance(value, np.ndarray) else value

    used = moved


def editable(functions):
    """Return the user-defined functions, or [] if one of them uses a function compiled by Numba."""
    own = [one for one in functions if PACKAGE not in Path(one.__code__.co_filename).parents]
    for one in own:
        # a kernel does not check shapes, which an edit may change
        known = (one.__globals__.get(name) for name in one.__code__.co_names)
        if any(hasattr(value, "py_func") for value in known):
            return []
    return own


class quiet:
    """Context manager that suppresses all warnings, including NumPy's floating-point warnings."""

    def __enter__(self):
        self.state = np.errstate(all="ignore")
        self.state.__enter__()
        self.caught = warnings.catch_warnings()
        self.caught.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error):
        self.caught.__exit__(*error)
        self.state.__exit__(*error)
