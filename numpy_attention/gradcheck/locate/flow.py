"""The data flow of `backward`: the operands of each value, and the names that hold gradients."""

import numpy as np

from numpy_attention.gradcheck.locate.backwards import Value
from numpy_attention.gradcheck.locate.rewriting import is_gradient


class Flow:
    """Finds the operands of each Value, and the Values that are computed from each Value."""

    def __init__(self, values):
        self.values = values
        self.by_name: dict[tuple, list[Value]] = {}
        for value in values:
            for key in self.keys(value):
                self.by_name.setdefault(key, []).append(value)
        self.made: dict[int, list[Value]] = {}
        for value in values:
            for source in self.sources(value):
                self.made.setdefault(id(source), []).append(value)

    def keys(self, value):
        last = value.name.rpartition(".")[2]
        if value.place.kind == "return":
            return [("return", value.place.function.rpartition(".")[2])]
        if "." in value.name:
            return [("attribute", last)]
        return [("name", value.call, last)]

    def sources(self, value):
        found = []
        for path in frozenset().union(*(place.reads for place in value.places)):
            last = path.rpartition(".")[2]
            for key in (("name", value.call, path), ("attribute", last), ("return", last)):
                if key[0] == "attribute" and not ("." in path and is_gradient(path)):
                    continue
                before = [one for one in self.by_name.get(key, ())
                          if one.order < value.done and one is not value]
                found += before[-1:]
        return found

    def consumers(self, value):
        return self.made.get(id(value), [])


def carrying(values, of_forward):
    """Return the variables of `backward` that hold gradients, as a set of pairs (function, name).

    The set also has the names of functions that return gradients. of_forward: the names of values
    in `forward`. A value with such a name is not a gradient unless it is computed from gradients.
    """
    found: set = set()
    for value in values:
        function, name = value.place.function, value.name
        reads = frozenset().union(*(place.reads for place in value.places))
        flows = any((function, path) in found or path.rpartition(".")[2] in found
                    for path in reads)
        if flows or is_gradient(name) and name not in of_forward:
            found.add((function, name))
            if value.place.kind == "return":
                found.add(function.rpartition(".")[2])
    return found


def gradient_of(value):
    """Return "x" for a Value named dx, dy.x or grads.x; "return" for a return value; else ""."""
    if value.place.kind == "return":
        return "return"
    base, _, last = value.name.rpartition(".")
    if base:
        return last if is_gradient(base) else ""
    return last[1:].lstrip("_") if is_gradient(last) else ""


def is_arrays(value):
    return any(isinstance(one, np.ndarray) and one.dtype.kind == "f" for one in value.values)
