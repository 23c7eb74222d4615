"""Run the two passes of a Check to test the laws in `laws`; describe broken laws."""

import functools
import inspect
import linecache
from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck.arrays import copy_arrays, outputs_of
from numpy_attention.gradcheck.faults import gradients_of_inputs
from numpy_attention.gradcheck.locate.rewriting import Place
from numpy_attention.gradcheck.report.notebooks import file_label


@dataclass(frozen=True)
class Broken:
    """A broken law: its kind (such as "cache"), a description, and the line if it is known."""

    kind: str
    text: str
    place: Place | None = None

    def __str__(self):
        if self.place is None:
            return self.text
        what, _, advice = self.text.partition("\n")
        lines = [f"{what}, {describe_place(self.place)}", f"    {self.place.text}", advice]
        return "\n".join(filter(None, lines))


def describe_place(place):
    """Return a Place as text, such as "line 7 of mine.py, Mine.backward"."""
    return f"line {place.line} of {file_label(place.file)}, {place.function}"


def source_line(place):
    """Return the source line of a Place, or the Place's `text` if the source is unknown."""
    return linecache.getline(place.file, place.line).split("#")[0].strip() or place.text


class Unjudged(Exception):
    """Raised if a law cannot be tested, because user code raises an exception in the test."""


# ---- one run ------------------------------------------------------------------------------------


def forward_of(check, inputs):
    """Run a Check's forward pass; return (outputs, cache). Raises Unjudged if the pass raises."""
    try:
        *outputs, cache = outputs_of(check.forward, inputs)
    except Exception as error:
        raise Unjudged from error
    return outputs, cache


def backward_of(check, upstream, cache, grads):
    """Run a Check's backward pass; return {input: gradient}. Raises Unjudged if the pass raises."""
    try:
        return gradients_of_inputs(check.backward(*upstream, cache, grads), check.inputs)
    except Exception as error:
        raise Unjudged from error


def new_grads(check):
    return None if check.model is None else check.model.zeros_like()


def named_gradients(grads):
    """Return copies of all parameters' gradients as {name: array}, or {} if grads is None."""
    return {} if grads is None else {name: array.copy() for name, array in grads.named_parameters()}


class First:
    """The first run of a Check's passes. The laws compare later calls of `backward` with this run.

    `backward` runs when a gradient is first read, and adds the gradients of parameters to the
    Module `grad`. All gradients are copies, as {name: array}.
    """

    def __init__(self, check):
        self.check = check
        _, self.cache = forward_of(check, copy_arrays(check.inputs))
        self.upstream = copy_arrays(check.upstream)
        self.grad = new_grads(check)

    @functools.cached_property
    def input_gradients(self):
        return copy_values(backward_of(self.check, self.upstream, self.cache, self.grad))

    @functools.cached_property
    def parameter_gradients(self):
        _ = self.input_gradients
        return named_gradients(self.grad)

    @property
    def gradients(self):
        return self.parameter_gradients | self.input_gradients

    def again(self, upstream, cache):
        """Set `grad` to 0 and run `backward` with these arguments; return {name: gradient}."""
        if self.grad is not None:
            self.grad.vector[...] = 0
        input_gradients = backward_of(self.check, copy_arrays(upstream), cache, self.grad)
        return named_gradients(self.grad) | copy_values(input_gradients)


def copy_values(arrays):
    return {name: np.array(array) for name, array in arrays.items()}


def differing(found, wanted, tolerance):
    """Return the names whose arrays differ between `found` and `wanted`, dicts {name: array}.

    tolerance: the largest allowed error, relative to the largest element of the wanted array.
    """
    unlike = [name for name, array in wanted.items() if not np.array_equal(found[name], array)]
    if not unlike:
        return []
    largest = max(map(size_of, wanted.values()))
    names = []
    for name in unlike:
        array = wanted[name]
        allowed = tolerance * size_of(array) + 1e-12 * largest        # may be 0 up to rounding
        alike = ~np.isfinite(found[name]) & ~np.isfinite(array)          # slopes of √x at 0
        if not (alike | (np.abs(found[name] - array) <= allowed)).all():
            names.append(name)
    return names


def size_of(array):
    return np.abs(array).max(initial=0, where=np.isfinite(array))


def names_of(function):
    """Return the names of a function's arguments except *args, or [] if they are unknown."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in parameters if one.kind is not one.VAR_POSITIONAL]


def join_words(names):
    return ", ".join(names)
