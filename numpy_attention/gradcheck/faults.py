"""Validation of the arguments of a gradient check, and of what backward returns.

This module also warns about float fields in a Module, because they are not trained as parameters.
"""

import inspect
import warnings
from dataclasses import fields, is_dataclass

import numpy as np

from numpy_attention.gradcheck.arrays import float_arrays
from numpy_attention.gradcheck.errors import GradientError, NotAParameter
from numpy_attention.gradcheck.locate.rewriting import users_class
from numpy_attention.gradcheck.locate.watching import arrays_within
from numpy_attention.module import Module, join
from numpy_attention.validation.messages import plural, typed_repr

# names of fields that are settings, and not meant to be trained
SETTINGS = {"rate", "dropout", "epsilon", "eps", "smoothing"}
STEP = 1e-3             # change of a number, relative to its size


# ---- what is to be checked ----------------------------------------------------------------------


def check_passes(target, forward, backward):
    """Raise TypeError if the target, forward or backward of a gradient check is unsuitable."""
    if isinstance(target, type):
        raise TypeError(f"target is the class {target.__name__}; expected an instance, or None")
    if isinstance(target, Module) and not is_dataclass(target):
        raise TypeError(f"{type(target).__name__} is a Module but not a dataclass; write "
                        "@dataclass(eq=False) above the class")
    for name, function in (("forward", forward), ("backward", backward)):
        if callable(function):
            continue
        if function is not None or target is None:
            raise TypeError(f"{name} is {typed_repr(function)}; pass a function, or a target with "
                            f"a {name} method")
        raise TypeError(f"{type(target).__name__} has no {name} method; {way_out(target, name)}")


def way_out(target, name):
    if hasattr(target, "read") and hasattr(target, "step"):
        return ("to check an attention, pass queries (T, B, Q) and values (B, S, D) after the "
                "target, or use `forward, backward = protocol(attention, mask)`")
    if hasattr(target, "step") or hasattr(target, "_step"):
        return ("derive the class from numpy_attention.cells.cell.Cell, whose forward and "
                "backward loop over the steps")
    return f"write it in the class, or pass a function as {name}=…"


def check_attention(attention):
    """Raise TypeError unless `attention` is an instance with the methods that `protocol` calls."""
    wanted = "read", "step", "step_backward", "read_backward"
    missing = [name for name in wanted if not callable(getattr(attention, name, None))]
    if isinstance(attention, type) or len(missing) == len(wanted):
        raise TypeError(f"attention is {typed_repr(attention)}; expected an instance of a "
                        f"class with {', '.join(wanted)}")
    if missing:
        raise TypeError(f"{type(attention).__name__} has no {' and no '.join(missing)}: an "
                        f"attention needs {', '.join(wanted)}")


def check_elements(arrays):
    """Raise ValueError if an array has no elements or contains NaN. arrays: (name, array) pairs."""
    for name, array in arrays:
        if not array.size:
            raise ValueError(f"{name} has shape {array.shape}; all sizes must be positive")
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError(f"{name} contains NaN in {int(np.isnan(array).sum())} of {array.size} "
                             "elements; assign values first, or use randomize() for parameters")


def check_inputs(inputs, variables):
    """Raise TypeError if an input `is_uncheckable`, or if there are no `variables` to check."""
    problems = [problem_of(value, f"input[{i}]") for i, value in enumerate(inputs)]
    if variables:
        problems = [problem for value, problem in zip(inputs, problems) if is_uncheckable(value)]
    elif not inputs:
        problems = ["pass the arguments of forward after the target"]
    if problems or not variables:
        nothing = "" if variables else "nothing can be checked: "
        raise TypeError(nothing + ". ".join(problems))


def is_uncheckable(value):
    """Return whether a value is a complex array, or an object array with real or complex floats."""
    if not isinstance(value, np.ndarray):
        return False
    return value.dtype.kind == "c" or value.dtype.kind == "O" and any(
        isinstance(item, (float, complex, np.inexact)) for item in value.flat)


def problem_of(value, name):
    """Describe why the gradient of an input cannot be checked, and how to change the input."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "c":
        return (f"{name} has dtype {value.dtype}; pass its real and imaginary parts as two "
                "float64 arrays")
    if isinstance(value, np.ndarray):
        return f"{name} has dtype {value.dtype}; convert it with astype(np.float64)"
    if isinstance(value, (int, float, np.generic)):
        return f"{name} is {typed_repr(value)}; make it an array with np.array([…], np.float64)"
    if isinstance(value, (list, tuple)):
        kind = type(value).__name__
        return f"{name} is a {kind} without arrays; convert it with np.array(…, dtype=np.float64)"
    return f"{name} is {typed_repr(value)}; pass float64 arrays as inputs"


# ---- what backward returns ----------------------------------------------------------------------


def gradients_of_inputs(dinputs, inputs):
    """Return {name: gradient} for the float inputs, such as {"input[0]": dx}.

    dinputs: backward's result. Raises GradientError unless it has one gradient per float input.
    """
    if len(inputs) == 1 or not isinstance(dinputs, tuple):
        dinputs = (dinputs,)
    # NumPy turns an array without axes into a number
    dinputs = tuple(np.asarray(one) if isinstance(one, np.floating) else one for one in dinputs)
    found = dict(float_arrays(list(dinputs), "input"))
    expected = dict(float_arrays(list(inputs), "input"))
    if found.keys() == expected.keys():
        return found
    whole = [(name, array) for name, array in arrays_within(list(inputs), "input")
             if name in found and array.dtype.kind in "iu"]
    if whole and not expected:              # the parameters are what is checked
        raise GradientError(f"backward returns a gradient for {whole[0][0]}, but integers "
                            f"({whole[0][1].dtype}) have no gradient; return None for it, and add "
                            "the gradients of parameters to grads")
    integers = [f". {problem_of(array, name)} if it needs a gradient" for name, array in whole]
    raise GradientError(f"backward returns {returned(dinputs, inputs)}; expected float gradients "
                        f"for {' and '.join(sorted(expected)) or 'no input'}. Return one gradient "
                        "for each float input, in order, and None for the others"
                        f"{''.join(integers)}")


def returned(dinputs, inputs):
    """Describe a wrong tuple of input gradients, in words such as "no gradient for input[1]"."""
    if all(one is None for one in dinputs):
        return "no gradient"
    if len(dinputs) == 1 and len(inputs) > 1 and isinstance(dinputs[0], list):
        return "a list instead of a tuple"
    if len(inputs) == 1 and isinstance(dinputs[0], (tuple, list)) and isinstance(
            inputs[0], np.ndarray):
        return f"a {type(dinputs[0]).__name__} of length {len(dinputs[0])} instead of an array"
    other = [typed_repr(value) for value in dinputs
             if value is not None and not isinstance(value, (np.ndarray, tuple, list))]
    if other:
        return other[0]
    integers = [f"an array of {array.dtype} for {name}"
                for name, array in arrays_within(list(dinputs), "input") if array.dtype.kind != "f"]
    if integers:
        return ", ".join(integers)
    if len(dinputs) != len(inputs):
        return f"{plural(len(dinputs), 'gradient')} for {plural(len(inputs), 'input')}"
    found, expected = (dict(float_arrays(list(one), "input")) for one in (dinputs, inputs))
    missing = [f"no gradient for {name}" for name in expected if name not in found]
    more = [f"a gradient for {name}, which is not a float input" for name in found
            if name not in expected]
    return " and ".join(missing + more)


# ---- numbers that are not parameters ------------------------------------------------------------


def warn_of_numbers(check, stacklevel):
    """Warn (NotAParameter) about each float field of a user's Module that the loss depends on."""
    if check.model is None:
        return
    for name, module, field in numbers_of(check.model):
        if moves(check, module, field):
            kind = type(getattr(module, field)).__name__
            warnings.warn(f"{name}{where(module, field)} is a {kind} that forward computes with. "
                          "Only arrays are parameters, which are checked and trained. Make it an "
                          "array (of shape (1,) if it is one number), or declare it as fixed with "
                          'field(metadata={"fixed": True})', NotAParameter, stacklevel)


def numbers_of(model):
    """Yield (dotted name, module, field name) for each float field that may be a parameter."""
    for name, module in model.modules():
        for field in fields(module):
            usual = field.name in SETTINGS or field.metadata.get("fixed")
            if users_class(module) and not usual and is_number(getattr(module, field.name)):
                yield join(name, field.name), module, field.name


def where(module, name):
    """Return " (line N)" for the line that declares the field `name`, or "" if it is not found."""
    try:
        lines, first = inspect.getsourcelines(type(module))
    except (OSError, TypeError):
        return ""
    found = (n for n, line in enumerate(lines, first) if line.strip().startswith(f"{name}:"))
    return next((f" (line {n})" for n in found), "")


def is_number(value):
    """Return whether a value is a float, or a list or tuple of numbers that includes a float."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return (any(isinstance(item, (float, np.floating)) for item in items)
            and all(isinstance(item, (int, float, np.floating)) for item in items))


def moves(check, module, name):
    """Return whether the loss depends smoothly on the number or numbers in the field `name`."""
    kept = getattr(module, name)
    losses = []
    try:
        for step in (0, STEP, 2 * STEP):
            module.__dict__[name] = moved(kept, step)
            losses.append(check.loss())
    except Exception:                       # a number that cannot change is not trained
        return False
    finally:
        module.__dict__[name] = kept
    once, twice = losses[1] - losses[0], losses[2] - losses[0]
    return abs(once) > 1e-12 * abs(losses[0]) and abs(twice - 2 * once) < 0.1 * abs(once)


def moved(value, step):
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item, step) for item in value)
    return value + step * max(abs(value), 1)
