"""What must not be read: words that a mask hides, and the future."""

import numpy as np

from numpy_attention.gradcheck.arrays import copy_arrays
from numpy_attention.gradcheck.laws.leaks import leak
from numpy_attention.gradcheck.locate.watching import arrays_within
from numpy_attention.gradcheck.passes import (
    Broken,
    Unjudged,
    differing,
    forward_of,
    listed,
    names_of,
)
from numpy_attention.validation.arrays import check_whole

NOTHING = 1e-9          # of an output, that rounding may change
ADVICE = ("  a hidden word's score is −∞ before the softmax, a hidden step keeps its state; where "
          "`mask` is something else, give it another name")


# ---- masks --------------------------------------------------------------------------------------


def masked_unread(check):
    """What a mask hides has weight 0 and changes nothing.

    A mask is an array (B, S) or (T, B) of True and False by the name of `mask`: an argument of the
    forward, or what it closes over, as that of `protocol` does. Whether True hides or shows is
    tried both ways. It hides values of the inputs whose first two axes are its own.
    """
    found = []
    for mask in masks_of(check):
        texts = broken_by(check, mask)
        if texts and broken_by(check, ~mask):
            found.append(Broken("mask forward", "\n".join([*texts, ADVICE]), place(check, mask)))
    return found


def padding_uncounted(check):
    """One more hidden position at the end, of all that the mask lies over, changes nothing.

    What is put there is 0: of a float, or an id. Where nothing can be read, anything may be. Where
    what is hidden comes last along both axes, nobody can tell which one is that of the positions.
    """
    for mask in masks_of(check):
        if broken_by(check, mask):          # told already, or True hides
            continue
        axes = [axis for axis in (0, 1) if is_padded(mask, axis)]
        wrong = counted(check, mask, axes[0]) if len(axes) == 1 else []
        if wrong:
            return [Broken("mask forward", f"{listed(wrong)} changes with one more hidden position "
                           "at the end"
                           "\n  what the mask hides is neither read nor counted")]
    return []


def is_padded(mask, axis):
    """Whether what is hidden along an axis comes last, and something can be seen everywhere."""
    hidden = ~mask if axis == 1 else ~mask.T
    comes_last = (np.diff(hidden.astype(int)) >= 0).all()
    return bool(hidden.any() and not hidden.all(1).any() and comes_last)


def counted(check, mask, axis):
    """The outputs that one more hidden position changes; [] where nobody can tell."""
    before = outputs_at(check, copy_arrays(check.inputs))
    try:
        after = outputs_at(check, longer(copy_arrays(check.inputs), mask.shape, axis))
    except Unjudged:                        # of sentences, not of their words
        return []
    after = {name: array[tuple(slice(n) for n in before[name].shape)]
             for name, array in after.items()}
    return differing(visible(after, mask), visible(before, mask), NOTHING)


def longer(value, shape, axis):
    """Arrays of a tree that begin with two axes of a mask's shape, with one more 0 at the end."""
    if isinstance(value, (list, tuple)):
        return type(value)(longer(one, shape, axis) for one in value)
    if isinstance(value, np.ndarray) and value.shape[:2] == shape:
        return np.pad(value, [(0, int(i == axis)) for i in range(value.ndim)])
    return value


def masks_of(check):
    """[the mask], or [] where there is none that could be known for one."""
    names = names_of(check.forward)
    named = dict(zip(names, check.inputs))
    code = getattr(check.forward, "__code__", None)
    if code is not None:
        cells = check.forward.__closure__ or ()
        named |= {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells)}
    mask = named.get("mask")
    if isinstance(mask, np.ndarray) and mask.dtype == bool and mask.ndim == 2:
        # (B, B) would not say which axis is which
        return [mask.copy()] if mask.shape[0] != mask.shape[1] else []
    return []


def broken_by(check, mask):
    """What breaks the law, in words; [] where it holds, or says nothing of a mask like this."""
    return min((violations(check, mask, hidden) for hidden in claims(mask)), key=len, default=[])


def claims(mask):
    """The hidden positions, but for rows, or else columns, of which nothing at all can be seen.

    Where nothing can be read, the weights may be anything.
    """
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
        texts.append(f"{listed(wrong)} changes with what the mask hides of {listed(moved)}")
    return texts


def place(check, mask):
    inputs = copy_arrays(check.inputs)
    for _, array in arrays_within(list(inputs), "input"):
        move(array, ~mask, mask.shape)
    return leak(lambda: forward_of(check, copy_arrays(check.inputs)),
                lambda: forward_of(check, inputs), mask)


def outputs_at(check, inputs):
    """{name: a copy of the output}."""
    outputs, _ = forward_of(check, inputs)
    return {name: array.copy() for name, array in arrays_within(outputs, "output")}


def visible(outputs, mask):
    """Outputs of hidden steps may be anything: those that stand at the mask's positions."""
    return {name: at_mask(array, mask) for name, array in outputs.items()}


def at_mask(array, mask):
    """Of an array (B, S, …) or (B, …, S, S) what stands at the mask's positions."""
    if array.shape[:2] == mask.shape:
        return array[mask]
    S = mask.shape[1]
    if array.ndim > 3 and len(array) == len(mask) and array.shape[-2:] == (S, S):
        return np.moveaxis(array, -2, 1)[mask]
    return array


def move(array, where, shape):
    """Change an input in place at positions (…, …) of its first two axes; → whether it has them.

    An integer becomes the next that occurs: it may be an id, of which no other need exist.
    """
    if array.shape[:2] != shape or array.dtype.kind not in "fiu":
        return False
    if array.dtype.kind == "f":
        array[where] = 2 - 1.3 * array[where]
    else:
        ids, number = np.unique(array, return_inverse=True)
        array[where] = ids[(number.reshape(array.shape) + 1) % len(ids)][where]
    return True


def hidden_weights(name, array, mask, hidden):
    """Weights, which are shares of 1 along the last axis, that hidden words have; the largest."""
    if array.ndim < 2 or array.dtype.kind != "f":
        return []
    read = mask.any(1)                                          # (B,)
    if array.shape[-2:] == mask.shape:
        rows, hidden = np.broadcast_to(read, array.shape[:-1]), np.broadcast_to(hidden, array.shape)
    elif array.ndim == 3 and array.shape[::2] == mask.shape:
        # of a self-attention's questions, those that are words themselves
        rows = mask if array.shape[:2] == mask.shape else read[:, None]
        rows = np.broadcast_to(rows, array.shape[:2])
        hidden = np.broadcast_to(hidden[:, None], array.shape) & rows[:, :, None]
    else:
        return []
    shares = (array >= 0).all() and np.allclose(array.sum(-1)[rows], 1)
    largest = np.where(hidden, array, 0).max()
    if not shares or largest < NOTHING:
        return []
    at = [int(i) for i in np.unravel_index(np.where(hidden, array, 0).argmax(), array.shape)]
    return [f"{name}{at} = {largest:.3g} is the weight of a word that the mask hides"]


# ---- the future ---------------------------------------------------------------------------------


def future_unread(check):
    """Where time runs along an axis, no output reads the first input of later steps."""
    if check.causal is None:
        return []
    axis = check.causal
    before = outputs_at(check, copy_arrays(check.inputs))
    for t in range(1, check.inputs[0].shape[axis]):
        inputs = copy_arrays(check.inputs)
        later = np.moveaxis(inputs[0], axis, 0)[t:]
        move(later, np.full(later.shape[:2], True), later.shape[:2])
        after = outputs_at(check, inputs)
        wrong = differing(steps(after, check, slice(t)), steps(before, check, slice(t)), NOTHING)
        if wrong:
            return [Broken("future", f"{listed(wrong)} before step {t} (from 0) changes with "
                           f"input[0] from step {t} on: it reads the future"
                           "\n  step t may read what comes before it, and itself")]
    return []


def steps(outputs, check, which):
    """Some of the steps of the outputs that have as many as the first input."""
    T = check.inputs[0].shape[check.causal]
    return {name: np.moveaxis(array, check.causal, 0)[which] for name, array in outputs.items()
            if array.ndim > check.causal and array.shape[check.causal] == T}


def check_causal(check):
    """Refuse an axis of time that the first input, or all outputs, do not have. ValueError,
    TypeError."""
    if check.causal is None:
        return
    check_whole("causal", check.causal, 0)
    first = check.inputs[0] if check.inputs else None
    if not isinstance(first, np.ndarray) or first.ndim <= check.causal:
        raise ValueError(f"causal = {check.causal}: the first input has no such axis of time")
    if not steps(outputs_at(check, copy_arrays(check.inputs)), check, slice(None)):
        raise ValueError(f"causal = {check.causal}: no output has on this axis the "
                         f"{first.shape[check.causal]} steps of the first input")
