"""Check that neither pass changes its arguments, and that `forward` is repeatable."""

from dataclasses import is_dataclass

import numpy as np

from numpy_attention.gradcheck.arrays import copy_arrays, float_arrays
from numpy_attention.gradcheck.laws.uninitialized import emptied
from numpy_attention.gradcheck.locate.rewriting import is_of_package
from numpy_attention.gradcheck.locate.watching import Watch, arrays_within, lines_of, place_of
from numpy_attention.gradcheck.passes import (
    Broken,
    Unjudged,
    backward_of,
    describe_place,
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
    """Yield (name, array) for the upstream gradients. seen: as in `arrays_within`."""
    names = names_of(check.backward)
    for i, value in enumerate(upstream):
        yield from arrays_within(value, names[i] if i < len(names) else f"upstream[{i}]", seen)


def changes(what, names, held, run):
    """Return a Broken for each line at which a pass changes an array.

    what: "forward" or "backward". names: the changed arrays. held: the Watch. run() runs the pass.
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
                   "\n  possible causes: a random generator without a fixed seed, state kept "
                   "between calls, or an array from np.empty that is not completely filled")]


# ---- nothing is NaN -----------------------------------------------------------------------------


def first_not_finite(check):
    """Return a text such as ". The first NaN comes from line 3 of mine.py, Mine.forward", or ""."""
    counts = {}
    last = None         # the last line of a user's file that ran
    first = {}

    def happened(frame, line):
        nonlocal last
        place = place_of(frame, line)
        own = not is_of_package(place.file)
        last = place if own else last
        values = list(frame.f_locals.values())
        values += [part for one in values if is_dataclass(one) for part in vars(one).values()]
        for what, is_it in (("NaN", np.isnan), ("inf", np.isinf)):
            count = sum(int(is_it(array).sum()) for _, array in float_arrays(values, ""))
            if count > counts.setdefault((frame, what), count):
                where = describe_place(last or place)
                from_ = "from" if own or last is None else "after"
                first.setdefault((own, what), f". The first {what} comes {from_} {where}")
            counts[frame, what] = count
        return []

    with np.errstate(all="ignore"), emptied(lambda _: 0.0, {}):
        lines_of(lambda: forward_of(check, copy_arrays(check.inputs)), happened)
    kinds = (True, "NaN"), (True, "inf"), (False, "NaN")
    return next((first[kind] for kind in kinds if kind in first), "")
