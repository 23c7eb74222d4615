"""Check that a forward reads neither words that a mask hides nor later time steps."""

import numpy as np

from numpy_attention.gradcheck.arrays import copy_arrays
from numpy_attention.gradcheck.laws.leaks import leak
from numpy_attention.gradcheck.locate.watching import arrays_within
from numpy_attention.gradcheck.passes import (
    Broken,
    Unjudged,
    differing,
    forward_of,
    join_words,
    names_of,
)
from numpy_attention.validation.arrays import check_whole

NOTHING = 1e-9          # change of an output by rounding
ADVICE = ("  a masked word must have the score −∞ before the softmax, and a masked step must not "
          "change the state; if `mask` means something else, rename it")


# ---- masks --------------------------------------------------------------------------------------


def masked_values_unused(check):
    """Check that masked values have weight 0, and that no output at a visible position uses them.

    A mask is an input or closure variable `mask` of `forward`: a boolean (B, S) or (T, B) array.
    """
    found = []
    for mask in masks_of(check):
        texts = broken_by(check, mask)
        if texts and broken_by(check, ~mask):           # True may mean visible or hidden
            found.append(Broken("mask forward", "\n".join([*texts, ADVICE]),
                                leaking_place(check, mask)))
    return found


def padding_ignored(check):
    """Check that one more hidden position at the end changes no output at a visible position."""
    for mask in masks_of(check):
        if broken_by(check, mask):          # reported already, or True hides
            continue
        axes = [axis for axis in (0, 1) if is_padded(mask, axis)]
        wrong = changed_by_padding(check, mask, axes[0]) if len(axes) == 1 else []
        if wrong:
            return [Broken("mask forward", "one more masked position at the end changes "
                           f"{join_words(wrong)}"
                           "\n  masked values must neither be read nor counted")]
    return []


def is_padded(mask, axis):
    """Return whether a mask hides positions only at the end of `axis`, and no whole sequence."""
    hidden = ~mask if axis == 1 else ~mask.T
    comes_last = (np.diff(hidden.astype(int)) >= 0).all()
    return bool(hidden.any() and not hidden.all(1).any() and comes_last)


def changed_by_padding(check, mask, axis):
    """Return the names of outputs that change if a hidden position is added to the end of axis."""
    before = outputs_at(check, copy_arrays(check.inputs))
    try:
        after = outputs_at(check, longer(copy_arrays(check.inputs), mask.shape, axis))
    except Unjudged:                        # a mask of sentences, not of their words
        return []
    after = {name: array[tuple(slice(n) for n in before[name].shape)]
             for name, array in after.items()}
    return differing(visible(after, mask), visible(before, mask), NOTHING)


def longer(value, shape, axis):
    """Copy `value`, and append zeros along `axis` to each array with the first sizes `shape`."""
    if isinstance(value, (list, tuple)):
        return type(value)(longer(one, shape, axis) for one in value)
    if isinstance(value, np.ndarray) and value.shape[:2] == shape:
        return np.pad(value, [(0, int(i == axis)) for i in range(value.ndim)])
    return value


def masks_of(check):
    """Return [mask] if `forward` has a boolean matrix `mask` that is not square, otherwise []."""
    names = names_of(check.forward)
    named = dict(zip(names, check.inputs))
    code = getattr(check.forward, "__code__", None)
    if code is not None:
        cells = check.forward.__closure__ or ()
        named |= {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells)}
    mask = named.get("mask")
    if isinstance(mask, np.ndarray) and mask.dtype == bool and mask.ndim == 2:
        # in a (B, B) mask the axes cannot be distinguished
        return [mask.copy()] if mask.shape[0] != mask.shape[1] else []
    return []


def broken_by(check, mask):
    """Return messages about outputs that use positions where `mask` is False, or []."""
    return min((violations(check, mask, hidden) for hidden in claims(mask)), key=len, default=[])


def claims(mask):
    """Return boolean arrays, True where a weight must be 0: one for each axis that may be time."""
    # each row or each column is a sequence; if all of it is hidden, its weights may be anything
    found = (~mask & mask.any(axis, keepdims=True) for axis in (1, 0))
    return [hidden for hidden in found if hidden.any()]


def violations(check, mask, hidden):
    before = outputs_at(check, copy_arrays(check.inputs))
    texts = [weight for name, array in before.items()
             for weight in hidden_weights(name, array, mask, hidden)]
    inputs = copy_arrays(check.inputs)
    moved = [name for name, array in arrays_within(list(inputs), "input")
             if move(array, hidden, mask.shape)]
    after = outputs_at(check, inputs)
    wrong = differing(visible(after, mask), visible(before, mask), NOTHING)
    if wrong:
        texts.append(f"masked values of {join_words(moved)} change {join_words(wrong)}")
    return texts


def leaking_place(check, mask):
    inputs = copy_arrays(check.inputs)
    for _, array in arrays_within(list(inputs), "input"):
        move(array, ~mask, mask.shape)
    return leak(lambda: forward_of(check, copy_arrays(check.inputs)),
                lambda: forward_of(check, inputs), mask)


def outputs_at(check, inputs):
    """Return {name: a copy of the output} of `forward` for these inputs."""
    outputs, _ = forward_of(check, inputs)
    return {name: array.copy() for name, array in arrays_within(outputs, "output")}


def visible(outputs, mask):
    """Return {name: the output at visible positions}. Hidden positions may have any output."""
    return {name: at_mask(array, mask) for name, array in outputs.items()}


def at_mask(array, mask):
    """Return the values of an array (B, S, …) or (B, …, S, S) where the mask (B, S) is True.

    In (B, …, S, S), the mask selects along the second-to-last axis. Other arrays stay as they are.
    """
    if array.shape[:2] == mask.shape:
        return array[mask]
    S = mask.shape[1]
    if array.ndim > 3 and len(array) == len(mask) and array.shape[-2:] == (S, S):
        return np.moveaxis(array, -2, 1)[mask]
    return array


def move(array, where, shape):
    """Change an array (*shape, …) in place where `where` is True; return False for other arrays."""
    if array.shape[:2] != shape or array.dtype.kind not in "fiu":
        return False
    if array.dtype.kind == "f":
        array[where] = 2 - 1.3 * array[where]
    else:
        ids, number = np.unique(array, return_inverse=True)         # integers may be ids
        array[where] = ids[(number.reshape(array.shape) + 1) % len(ids)][where]
    return True


def hidden_weights(name, array, mask, hidden):
    """Return [message] if an output has a weight above 0 for a hidden word, otherwise [].

    hidden: a boolean array like `mask`, True for words whose weight must be 0.
    """
    if array.ndim < 2 or array.dtype.kind != "f":
        return []
    read = mask.any(1)                                          # (B,)
    if array.shape[-2:] == mask.shape:
        rows, hidden = np.broadcast_to(read, array.shape[:-1]), np.broadcast_to(hidden, array.shape)
    elif array.ndim == 3 and array.shape[::2] == mask.shape:
        # only the queries of a self-attention that are words
        rows = mask if array.shape[:2] == mask.shape else read[:, None]
        rows = np.broadcast_to(rows, array.shape[:2])
        hidden = np.broadcast_to(hidden[:, None], array.shape) & rows[:, :, None]
    else:
        return []
    shares = (array >= 0).all() and np.allclose(array.sum(-1)[rows], 1)
    largest = np.where(hidden, array, 0).max()
    if not shares or largest < NOTHING:         # weights sum to 1
        return []
    at = [int(i) for i in np.unravel_index(np.where(hidden, array, 0).argmax(), array.shape)]
    return [f"{name}{at} = {largest:.3g} is the weight of a masked word"]


# ---- the future ---------------------------------------------------------------------------------


def future_unused(check):
    """Check that no output step depends on later steps of input[0], if check.causal is given."""
    if check.causal is None:
        return []
    axis = check.causal
    before = outputs_at(check, copy_arrays(check.inputs))
    for t in range(1, check.inputs[0].shape[axis]):
        inputs = copy_arrays(check.inputs)
        rest = np.moveaxis(inputs[0], axis, 0)[t:]
        move(rest, np.full(rest.shape[:2], True), rest.shape[:2])
        after = outputs_at(check, inputs)
        wrong = differing(steps(after, check, slice(t)), steps(before, check, slice(t)), NOTHING)
        if wrong:
            return [Broken("future", f"input[0] from step {t} on (counted from 0) changes "
                           f"{join_words(wrong)} before step {t}: forward reads the future"
                           "\n  step t may read steps up to t")]
    return []


def steps(outputs, check, which):
    """Return {name: the steps `which` (a slice)} of the outputs with as many steps as input[0]."""
    T = check.inputs[0].shape[check.causal]
    return {name: np.moveaxis(array, check.causal, 0)[which] for name, array in outputs.items()
            if array.ndim > check.causal and array.shape[check.causal] == T}


def check_causal(check):
    """Raise ValueError if check.causal is given but not a time axis of input[0] and an output."""
    if check.causal is None:
        return
    check_whole("causal", check.causal, 0)
    first = check.inputs[0] if check.inputs else None
    if not isinstance(first, np.ndarray) or first.ndim <= check.causal:
        raise ValueError(f"causal = {check.causal} is not an axis of input[0]; pass the index of "
                         "its time axis")
    # a gradient has the shape of its output
    if not steps(dict(arrays_within(check.upstream, "output")), check, slice(None)):
        raise ValueError(f"causal = {check.causal} is not a time axis: no output has the same "
                         "length as input[0] on this axis; pass the axis of the time steps")
