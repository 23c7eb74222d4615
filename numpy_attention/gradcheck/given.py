"""What passes are given stays what it is: inputs, weights, upstream, cache."""

import numpy as np

from numpy_attention.gradcheck.arrays import copied
from numpy_attention.gradcheck.passes import (Broken, Unjudged, backward_of, differing, forward_of,
                                              listed, names_of, twin)
from numpy_attention.gradcheck.watching import Tracer, Watch, arrays_within, lines_of, traced


def differentiated_stays(check):
    """Neither pass changes the inputs or the weights: no difference could be taken."""
    seen = {}
    held = Watch([*arrays_within(list(check.inputs), "input", seen), *check.parameters.items()])
    upstream = copied(check.upstream)
    cache = None

    def run_forward():
        nonlocal cache
        _, cache = forward_of(check, check.inputs)

    def run_backward():
        backward_of(check, copied(upstream), cache, twin(check))

    for what, run in (("forward", run_forward), ("backward", run_backward)):
        try:
            run()
        except Unjudged:
            held.restore()
            return []
        changed = held.restore()
        if changed:
            found = changes(what, changed, held, run)
            held.restore()
            return found
    return []


def arguments_stay(first):
    """backward changes neither its upstream nor the cache."""
    check = first.check
    seen = {}
    held = Watch([*named_upstream(check, first.upstream, seen),
                  *arrays_within(first.cache, "cache", seen)])

    def run():
        backward_of(check, first.upstream, first.cache, twin(check))

    _ = first.gradients
    changed = held.restore()
    return changes("backward", changed, held, run) if changed else []


def named_upstream(check, upstream, seen):
    """(name, array) of what backward is given, by its own names for it."""
    names = names_of(check.backward)
    for i, value in enumerate(upstream):
        yield from arrays_within(value, names[i] if i < len(names) else f"upstream[{i}]", seen)


def changes(what, names, held, run):
    """A Broken for each line that changes arrays; run() does it once more."""
    places = lines_of(run, held.changed)
    by_place = {}
    for name in names:
        by_place.setdefault(places.get(name), []).append(name)
    return [Broken("argument changed", f"{what} changes {listed(names[:3])} in place"
                   "\n  what it is given belongs to its caller: compute a new array, or work on a "
                   "copy", place)
            for place, names in by_place.items()]


# ---- forward gives the same again ---------------------------------------------------------------


def repeatable(check):
    """forward gives the same outputs for the same inputs."""
    first = copied(forward_of(check, copied(check.inputs))[0])
    second, _ = forward_of(check, copied(check.inputs))
    once = dict(arrays_within(first, "output"))
    again = dict(arrays_within(second, "output"))
    finite = {name: array for name, array in once.items() if np.isfinite(array).all()}
    wrong = differing(again, finite, 1e-9) if again.keys() == once.keys() else list(once)
    if not wrong:
        return []
    return [Broken("random", f"forward gives another {listed(wrong)} when it is called again"
                   "\n  no difference can be taken: make the random generator anew, from one "
                   "seed, in every call, keep nothing between calls, and fill what np.empty gives")]


# ---- nothing is NaN -----------------------------------------------------------------------------


def first_nan(check):
    """The Place in the forward after which an array of its own first holds NaN, or None."""
    finder = FirstNaN()
    with np.errstate(all="ignore"):
        traced(lambda: forward_of(check, copied(check.inputs)), finder)
    return finder.found.get("NaN")


class FirstNaN(Tracer):
    """Looks at the arrays of the function that runs."""

    def __init__(self):
        super().__init__(self.names)

    def names(self):
        arrays = [one for one in self.last[0].f_locals.values() if isinstance(one, np.ndarray)]
        return ["NaN" for one in arrays if one.dtype.kind == "f" and np.isnan(one).any()]
