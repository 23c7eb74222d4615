"""The sizes of shape letters in one call, found from the arrays that have the shapes."""

import functools
import re

import numpy as np
from shape_claims import LETTER


class Letters:
    """The sizes of letters within one call; numbers: functions from a name to its value there."""

    def __init__(self, *numbers):
        self.sizes = {}
        self.numbers = numbers
        self.whole = set()              # letters of which such a number is the size
        self.loose = set()              # those that only assignments speak of, in lower case
        self.waiting = []               # (claim, shape, size, length) where two letters are unknown

    def disagreements(self, claim, shape):
        """Hold a claim against a shape; yield (claim, shape, why) of what is now seen wrong."""
        if claim.kind == "assignment":
            met = {name for size in claim.shape for name in formula(size)[0]}
            self.loose |= {name for name in met if name.islower() and name not in self.sizes}
        sizes, lengths = claim.shape, shape
        if "…" in sizes:
            before = sizes.index("…")
            after = max(before, len(shape) - (len(sizes) - 1 - before))
            lengths = shape[:before] + (shape[before:after],) + shape[after:]
        if len(sizes) != len(lengths):
            yield claim, shape, f"{len(sizes)} axes are said"
            return
        self.waiting += [(claim, shape, size, length) for size, length in zip(sizes, lengths)]
        known, wrong = -1, set()
        while known < len(self.sizes):                      # another letter may have become known
            known, waiting, self.waiting = len(self.sizes), self.waiting, []
            for claim, shape, size, length in waiting:
                if claim not in wrong and not self._agrees(claim, shape, size, length):
                    wrong.add(claim)
                    value = self._value(size)
                    why = f"{size} cannot be {length}" if value is None else f"{size} is {value}"
                    yield claim, shape, why

    def next_pass(self):
        """A loop begins again: sizes in lower case may have another length, `rows` or `t`."""
        for size in list(self.sizes):
            if formula(size)[0] & (self.loose - self.whole):
                del self.sizes[size]

    def _agrees(self, claim, shape, size, length):
        if size == "…":
            return self.sizes.setdefault(size, length) == length
        unknown = [name for name in formula(size)[0] if self._number(name) is None]
        if not unknown:
            return self._value(size) == length
        if self.sizes.setdefault(size, length) != length:   # gates · H, of which only this is known
            return False
        if len(unknown) > 1:
            self.waiting.append((claim, shape, size, length))
        elif size != unknown[0]:
            for n in range("/" in size, 10 * length + 10):
                if self._value(size, {unknown[0]: n}) == length:
                    self.sizes[unknown[0]] = n
                    return True
            del self.sizes[size]
            return False
        return True

    def _number(self, name):
        """A letter's size; that of a whole number of this name where no shape has given one."""
        if name not in self.sizes:
            for number in self.numbers:
                value = number(name)
                if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
                    self.whole.add(name)
                    self.sizes.setdefault(name, int(value))
        return self.sizes.get(name)

    def _value(self, size, also={}):
        """A size's length, as far as it is known."""
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
    """The letters of a size, and it as Python: "2A" → 2*A, "B S" → B*S."""
    code = size.replace("·", "*").replace("−", "-").replace("…", "...")
    code = re.sub(r"(?<=\w) (?=[A-Z])", "*", code)
    code = re.sub(r"\b(\d+)(?=[A-Za-z])", r"\1*", code)
    return frozenset(re.findall(LETTER, size)), compile(code, size, "eval")
