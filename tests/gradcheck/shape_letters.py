"""Infer the sizes of shape letters in one call from arrays whose shapes are documented."""

import functools
import re

import numpy as np
from shape_claims import LETTER


class Letters:
    """The sizes of letters in one call; numbers: functions that return the value of a name."""

    def __init__(self, *numbers):
        self.sizes = {}
        self.numbers = numbers
        self.whole = set()              # letters whose size is an integer variable
        self.loose = set()              # lower-case letters that occur only in assignments
        self.pending = []               # (claim, shape, size, length) with two unknown letters

    def contradictions(self, claim, shape):
        """Compare a claim with a shape, and yield (claim, shape, why) for each contradiction."""
        if claim.kind == "assignment":
            met = {name for size in claim.shape for name in formula(size)[0]}
            self.loose |= {name for name in met if name.islower() and name not in self.sizes}
        sizes, lengths = claim.shape, shape
        if "…" in sizes:
            before = sizes.index("…")
            after = max(before, len(shape) - (len(sizes) - 1 - before))
            lengths = shape[:before] + (shape[before:after],) + shape[after:]
        if len(sizes) != len(lengths):
            yield claim, shape, f"{len(sizes)} axes are documented"
            return
        self.pending += [(claim, shape, size, length) for size, length in zip(sizes, lengths)]
        known, wrong = -1, set()
        while known < len(self.sizes):                      # repeat while new letters are found
            known, pending, self.pending = len(self.sizes), self.pending, []
            for claim, shape, size, length in pending:
                if claim not in wrong and not self._agrees(claim, shape, size, length):
                    wrong.add(claim)
                    value = self._value(size)
                    why = f"{size} cannot be {length}" if value is None else f"{size} is {value}"
                    yield claim, shape, why

    def next_pass(self):
        """Forget lower-case sizes, such as `rows`, which may differ in the next pass of a loop."""
        for size in list(self.sizes):
            if formula(size)[0] & (self.loose - self.whole):
                del self.sizes[size]

    def _agrees(self, claim, shape, size, length):
        if size == "…":
            return self.sizes.setdefault(size, length) == length
        unknown = [name for name in formula(size)[0] if self._number(name) is None]
        if not unknown:
            return self._value(size) == length
        if self.sizes.setdefault(size, length) != length:   # only the product gates · H is known
            return False
        if len(unknown) > 1:
            self.pending.append((claim, shape, size, length))
        elif size != unknown[0]:
            for n in range("/" in size, 10 * length + 10):
                if self._value(size, {unknown[0]: n}) == length:
                    self.sizes[unknown[0]] = n
                    return True
            del self.sizes[size]
            return False
        return True

    def _number(self, name):
        """Return a letter's size; without one, use the integer variable with its name."""
        if name not in self.sizes:
            for number in self.numbers:
                value = number(name)
                if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
                    self.whole.add(name)
                    self.sizes.setdefault(name, int(value))
        return self.sizes.get(name)

    def _value(self, size, also={}):
        """Return the length of a size, or None if it is unknown."""
        known = self.sizes | also
        names, code = formula(size)
        if size == "…" or not names <= known.keys():
            return known.get(size)
        return eval(code, {}, known)

    def __str__(self):
        return ", ".join(f"{size} = {length}{' (a number)' * (size in self.whole)}"
                         for size, length in self.sizes.items())


@functools.cache
def formula(size):
    """Return the letters of a size and its code in Python: "2A" → 2*A, "B S" → B*S."""
    code = size.replace("·", "*").replace("−", "-").replace("…", "...")
    code = re.sub(r"(?<=\w) (?=[A-Z])", "*", code)
    code = re.sub(r"\b(\d+)(?=[A-Za-z])", r"\1*", code)
    return frozenset(re.findall(LETTER, size)), compile(code, size, "eval")
