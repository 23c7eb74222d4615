"""Repeat a failed check with one output, an all-True mask, or one position along an axis."""

import contextlib
from dataclasses import replace

import numpy as np

from numpy_attention.gradcheck.arrays import combined
from numpy_attention.gradcheck.edits.repairs import quiet
from numpy_attention.gradcheck.locate.forwards import STEP
from numpy_attention.gradcheck.locate.watching import arrays_within
from numpy_attention.gradcheck.passes import forward_of

CLOSE = 1e-5            # largest error of a directional derivative, relative to the gradient's size
DIRECTIONS = 2
SEED = 17
MOST_AXES = 4


def reruns(check, wrong):
    """Return report lines about those simpler versions of a failed check that pass.

    wrong: the names of the wrong gradients.
    """
    with quiet():
        return [*rerun_outputs(check, wrong), *rerun_masks(check, wrong), *rerun_axes(check, wrong)]


def rerun_outputs(check, wrong):
    """Check one output at a time; yield a report line if the gradients of only some are correct."""
    names = [f"output[{k}]" for k, one in enumerate(check.upstream) if one is not None]
    if len(names) < 2:
        return
    right = []
    for k, upstream in enumerate(check.upstream):
        silent = [combined(np.zeros_like, one) for one in check.upstream]
        silent[k] = upstream
        if upstream is not None and is_right(replace(check, upstream=silent), wrong):
            right.append(f"output[{k}]")
    others = [name for name in names if name not in right]
    if right and others:
        yield (f"all gradients are right if the loss reads only {' or '.join(right)}; look on the "
               f"path back from {' or '.join(others)}")


def rerun_masks(check, wrong):
    """Yield a report line for each mask that, set to all True, makes all gradients correct."""
    for flags in check.flags:
        if flags.all():
            continue
        kept = flags.copy()
        flags[...] = True
        try:
            if is_right(check, wrong):
                yield "right with a full mask: the mask is missing or used inconsistently somewhere"
        finally:
            flags[...] = kept


def rerun_axes(check, wrong):
    """For each length of input axes, cut these axes to 1; yield a line if the check then passes."""
    arrays = dict(arrays_within(check.inputs, "input"))
    for size in sizes(check, arrays)[:MOST_AXES]:
        cut_arrays = {name: array.shape.index(size) for name, array in arrays.items()
                      if size in array.shape}
        with cut_around(check, size):
            one = replace(check, inputs=[cut(value, size) for value in check.inputs], upstream=[])
            if is_right(one, wrong) and not has_ones(one):
                where = " and ".join(f"axis {axis} of {name}" for name, axis in cut_arrays.items())
                yield (f"everything is right with size 1 in place of {size} along {where}; look "
                       "for a sum over this size, an index, = in place of +=, a state that is "
                       f"passed from step to step, or a factor that depends on {size}")


def sizes(check, arrays):
    """Return the lengths of input axes that may be a batch size or a number of steps."""
    taken = {n for array in check.parameters.values() for n in array.shape}
    shapes = [array.shape for array in arrays.values()]
    found = dict.fromkeys(n for shape in shapes for n in shape if n > 1)
    return [n for n in found
            if n not in taken and all(shape.count(n) < 2 for shape in shapes)]


def cut(value, size):
    """Return `value` (nested lists or tuples of arrays) with axes of length `size` cut to 1."""
    if isinstance(value, (list, tuple)):
        return type(value)(cut(one, size) for one in value)
    if isinstance(value, np.ndarray):
        return value[tuple(slice(1) if n == size else slice(None) for n in value.shape)].copy()
    return value


def has_ones(check):
    """Return whether an output or the cache has an array of ones. Masked rows may be 0."""
    arrays = arrays_within(list(forward_of(check, check.inputs)), "value")
    # no gradient flows through the softmax of one score, whose masked rows are 0
    return any(array.dtype.kind == "f" and array.ndim and (array == 1).any()
               and ((array == 1) | (array == 0) & (array.shape[-1] == 1)).all()
               for _, array in arrays)


@contextlib.contextmanager
def cut_around(check, size):
    """Inside this context, cut the arrays in the closures of forward and backward (see `cut`)."""
    cells = {id(cell): cell for one in (check.forward, check.backward)
             for cell in getattr(one, "__closure__", None) or ()
             if isinstance(cell.cell_contents, np.ndarray)}
    kept = {key: cell.cell_contents for key, cell in cells.items()}
    try:
        for cell in cells.values():
            cell.cell_contents = cut(cell.cell_contents, size)
        yield
    finally:
        for key, cell in cells.items():
            cell.cell_contents = kept[key]


def is_right(check, wrong=()):
    """Return whether all gradients of a check agree with central differences.

    Return False if user code raises, or if all gradients in `wrong` are 0.
    """
    rng = np.random.default_rng(SEED)
    try:
        if not check.upstream:
            check.draw(rng)
        gradients, _ = check.gradients()
        sizes = {name: np.abs(gradients[name]).max(initial=0) for name in check.variables}
        least = 1e-9 * max(sizes.values())
        if wrong and not any(sizes[name] > least for name in wrong):
            return False
        return all(agrees(check, array, gradients[name], rng)
                   for name, array in check.variables.items())
    except Exception:                   # user code may not accept the cut arrays
        return False


def agrees(check, array, gradient, rng):
    if np.shape(gradient) != array.shape:
        return False
    kept = array.copy()
    size = np.linalg.norm(gradient)
    for _ in range(DIRECTIONS):
        direction = rng.standard_normal(array.shape)
        losses = []
        for step in (STEP, -STEP):
            np.copyto(array, kept + step * direction)
            losses.append(check.loss())
        np.copyto(array, kept)
        numeric = (losses[0] - losses[1]) / (2 * STEP)
        allowed = CLOSE * max(size, abs(numeric)) + 1e-14 * abs(losses[0]) / STEP
        if not abs(np.sum(gradient * direction) - numeric) <= allowed:
            return False
    return True
