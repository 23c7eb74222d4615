"""Is anything read that nobody wrote? What np.empty gives is filled with NaN, and looked for."""

import contextlib
import sys

import numpy as np

from numpy_attention.gradcheck.arrays import copy_arrays
from numpy_attention.gradcheck.locate.watching import arrays_within, nearest, place_of
from numpy_attention.gradcheck.passes import Broken, backward_of, forward_of, in_twin, listed, twin


def all_written(check):
    """No output and no gradient depends on what np.empty or np.empty_like happened to find."""
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
            found.append(Broken("unwritten", f"{listed(of_this)}: made of memory that nobody wrote"
                                "\n  fill all of what np.empty gives, or take np.zeros", place))
    return found


def not_finite(check, fill, places):
    """The names of outputs and gradients that hold NaN where fill(place) is what np.empty finds."""
    inputs, upstream, grads = copy_arrays(check.inputs), copy_arrays(check.upstream), twin(check)
    with emptied(fill, places):
        outputs, cache = forward_of(check, inputs)
        found = dict(arrays_within(outputs, "output"))
        found |= backward_of(check, upstream, cache, grads)
    found |= in_twin(grads)
    return [name for name, array in found.items() if not np.isfinite(array).all()]


@contextlib.contextmanager
def emptied(fill, places):
    """np.empty and np.empty_like fill their floats with fill(place of the call), for a while."""
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
