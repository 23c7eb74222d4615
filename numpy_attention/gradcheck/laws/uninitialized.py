"""Check that uninitialized memory is not read: NaN in memory from np.empty must not spread."""

import contextlib
import sys

import numpy as np

from numpy_attention.gradcheck.arrays import copy_arrays
from numpy_attention.gradcheck.locate.watching import arrays_within, nearest, place_of
from numpy_attention.gradcheck.passes import (
    Broken,
    backward_of,
    forward_of,
    join_words,
    named_gradients,
    new_grads,
)


def all_initialized(check):
    """Check that no output or gradient depends on the initial content of arrays from np.empty."""
    places = {}
    hurt = not_finite(check, lambda place: np.nan, places)
    usual = not_finite(check, lambda place: 0.0, places) if hurt else []
    if not set(hurt) - set(usual):
        return []
    found = []
    for place in places:
        fill = lambda one: np.nan if one == place else 0.0
        of_this = [name for name in not_finite(check, fill, {}) if name not in usual]
        if of_this:
            found.append(Broken("unwritten", f"{join_words(of_this)}: computed from uninitialized "
                                "memory\n  fill all of the array from np.empty, or use np.zeros",
                                place))
    return found


def not_finite(check, fill, places):
    """Return the names of non-finite outputs and gradients. fill, places: see `emptied`."""
    inputs, upstream = copy_arrays(check.inputs), copy_arrays(check.upstream)
    grads = new_grads(check)
    with emptied(fill, places):
        outputs, cache = forward_of(check, inputs)
        found = dict(arrays_within(outputs, "output"))
        found |= backward_of(check, upstream, cache, grads)
    found |= named_gradients(grads)
    return [name for name, array in found.items() if not np.isfinite(array).all()]


@contextlib.contextmanager
def emptied(fill, places):
    """Context manager: np.empty and np.empty_like in user code fill float arrays with fill(place).

    place: the Place of the call. It is added as a key to the dict `places`.
    """
    kept = {name: getattr(np, name) for name in ("empty", "empty_like")}

    def filling(make):
        def made(*arguments, **options):
            array = make(*arguments, **options)
            frame = sys._getframe(1)
            if array.dtype.kind == "f" and nearest(frame) is frame:
                place = place_of(frame, frame.f_lineno)
                places[place] = None
                array[...] = fill(place)
            return array
        return made

    try:
        for name, make in kept.items():
            setattr(np, name, filling(make))
        yield
    finally:
        for name, make in kept.items():
            setattr(np, name, make)
