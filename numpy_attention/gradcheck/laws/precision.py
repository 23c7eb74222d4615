"""Check that results are float32 if parameters and inputs are float32, as they are in training.

The gradient check itself runs in float64, where a forward that changes the dtype goes unnoticed.
"""

import sys

import numpy as np

from numpy_attention.gradcheck.arrays import combined, float_arrays, outputs_of
from numpy_attention.gradcheck.locate.rewriting import is_of_package, users_class
from numpy_attention.gradcheck.locate.watching import (
    Tracer,
    arrays_within,
    frames_of,
    place_of,
    traced,
)
from numpy_attention.gradcheck.passes import Broken

ADVICE = ("  training uses float32: a NumPy scalar such as np.sqrt(d) is float64 and turns float32 "
          "arrays into\n  float64, so write float(np.sqrt(d)); give new arrays a dtype, "
          "np.zeros(n, x.dtype)")


def float32_kept(target, inputs, forward, backward):
    """Return [Broken] if float32 arguments lead to float64 results, or to errors, otherwise []."""
    lifted = []
    tracer = FirstLifted(of_package=not users_class(target))

    def step():
        *outputs, cache = outputs_of(forward, inputs)
        lifted.extend(wide(outputs, "output"))
        upstream = combined(lambda one: np.ones(np.shape(one), np.float32), outputs)
        dinputs = backward(*upstream, cache, target.zeros_like())
        dinputs = dinputs if isinstance(dinputs, tuple) else (dinputs,)
        lifted.extend(f"the gradient of {name}" for name in wide(dinputs, "input"))

    stops = ""
    try:
        with np.errstate(all="ignore"):
            traced(step, tracer.called)
    except Exception as error:          # a user's code, on inputs that it was not written for
        stops = f"a float64 array leads to {type(error).__name__} ({error})"
    place = tracer.found.get(True)
    if not lifted and not (stops and place):
        return []
    what = stops or f"{' and '.join(lifted)} {'is' if len(lifted) == 1 else 'are'} float64"
    text = f"{what}, with float32 parameters and inputs\n{ADVICE}"
    return [Broken("precision", text, place)]


def float32_inputs(inputs):
    """Return a copy of a tree of inputs in which all float arrays are float32."""
    if isinstance(inputs, (list, tuple)):
        return type(inputs)(map(float32_inputs, inputs))
    is_float = isinstance(inputs, np.ndarray) and inputs.dtype.kind == "f"
    return inputs.astype(np.float32) if is_float else inputs


def wide(value, name):
    """Return the names of the float64 arrays in a list or tuple, except 0-dimensional arrays."""
    return [label for label, array in float_arrays(list(value), name)
            if array.ndim and array.dtype == np.float64]


class FirstLifted(Tracer):
    """Tracer that finds the first line after which a function holds or returns a float64 array.

    of_package: whether lines of numpy_attention are also considered.
    """

    def __init__(self, of_package):
        super().__init__(self.lifted)
        self.of_package = of_package
        self.outer = frames_of(sys._getframe())     # the check's frames, which hold float64 arrays

    def counts(self, frame):
        return frame not in self.outer and (
            self.of_package or not is_of_package(frame.f_code.co_filename))

    def lifted(self, frame, _):
        return [True] if self.counts(frame) and has_wide(dict(frame.f_locals)) else []

    def stepped(self, frame, event, value):
        super().stepped(frame, event, value)
        if event == "return" and True not in self.found and self.counts(frame) and has_wide(value):
            self.found[True] = place_of(frame, frame.f_lineno)
        return self.stepped


def has_wide(value):
    """Return whether a value is or contains a float64 array with at least one axis."""
    return any(array.ndim and array.dtype == np.float64 for _, array in arrays_within(value, ""))
