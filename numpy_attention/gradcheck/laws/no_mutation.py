"""Check that neither pass changes its arguments, and that the forward is repeatable."""

import numpy as np

from numpy_attention.gradcheck.arrays import copy_arrays
from numpy_attention.gradcheck.locate.watching import (
    Watch,
    arrays_within,
    first_line_with,
    lines_of,
)
from numpy_attention.gradcheck.passes import (
    Broken,
    Unjudged,
    backward_of,
    differing,
    forward_of,
    join_words,
    names_of,
    new_grads,
)


def variables_unchanged(check):
    """Check that neither pass changes inputs or parameters. Central differences require this."""
    seen = {}
    held = Watch([*arrays_within(list(check.inputs), "input", seen), *check.parameters.items()])
    upstream = copy_arrays(check.upstream)
    cache = None

    def run_forward():
        nonlocal cache
        _, cache = forward_of(check, check.inputs)

    def run_backward():
        backward_of(check, copy_arrays(upstream), cache, new_grads(check))

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


def arguments_unchanged(first):
    """Check that backward changes neither its upstream gradients nor the cache."""
    check = first.check
    seen = {}
    held = Watch([*named_upstream(check, first.upstream, seen),
                  *arrays_within(first.cache, "cache", seen)])

    def run():
        backward_of(check, first.upstream, first.cache, new_grads(check))

    _ = first.gradients
    changed = held.restore()
    return changes("backward", changed, held, run) if changed else []


def named_upstream(check, upstream, seen):
    """Yield (name, array) for the upstream gradients, named as the arguments of backward.

    seen: {id: object} of the arrays that already have a name.
    """
    names = names_of(check.backward)
    for i, value in enumerate(upstream):
        yield from arrays_within(value, names[i] if i < len(names) else f"upstream[{i}]", seen)


def changes(what, names, held, run):
    """Return [Broken], with an item for each line that changes one of the arrays `names`.

    what: the pass, "forward" or "backward". held: a Watch of the arrays. run: a function that
    repeats the pass.
    """
    places = lines_of(run, lambda *_: held.changed())
    by_place = {}
    for name in names:
        by_place.setdefault(places.get(name), []).append(name)
    return [Broken("argument changed", f"{what} changes {join_words(names[:3])} in place"
                   "\n  arguments belong to the caller; compute a new array, or work on a "
                   "copy", place)
            for place, names in by_place.items()]


# ---- forward is repeatable ----------------------------------------------------------------------


def repeatable(check):
    """Check that two calls of forward with the same inputs return the same outputs."""
    first = copy_arrays(forward_of(check, copy_arrays(check.inputs))[0])
    second, _ = forward_of(check, copy_arrays(check.inputs))
    once = dict(arrays_within(first, "output"))
    again = dict(arrays_within(second, "output"))
    finite = {name: array for name, array in once.items() if np.isfinite(array).all()}
    wrong = differing(again, finite, 1e-9) if again.keys() == once.keys() else list(once)
    if not wrong:
        return []
    return [Broken("random", f"forward gives a different {join_words(wrong)} when called again"
                   "\n  no difference can be taken. Create the random generator in every call, "
                   "from one seed; keep no state between calls; fill memory from np.empty")]


# ---- nothing is NaN -----------------------------------------------------------------------------


def first_nan(check):
    """Return the first line (a Place) in the forward after which an array holds NaN, or None."""
    with np.errstate(all="ignore"):
        return first_line_with(lambda: forward_of(check, copy_arrays(check.inputs)),
                               lambda _, array: array.dtype.kind == "f" and np.isnan(array).any())
