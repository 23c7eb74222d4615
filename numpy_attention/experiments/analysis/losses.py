"""The loss of a language model for each target, and for groups of targets."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from numpy_attention.data.batching import TextBatch
from numpy_attention.data.vocabulary import PAD
from numpy_attention.module import Array
from numpy_attention.validation.arguments import check_kind, check_methods

# groups of targets by how many tokens ago they last occurred: the largest number of each group
RECENT = (5, 15, 35)


def check_texts(batches: Any) -> None:
    """Raise TypeError unless `batches` are those of a language model, such as TextBatches."""
    check_methods("batches", batches, "TextBatches or DocumentBatches", "order", "batch",
                  "carried")
    for place in batches.order()[:1]:
        check_kind("a batch", batches.batch(place), TextBatch, "a TextBatch, as in the "
                   "batches of a language model")


def name_of(model: Any) -> str:
    """Return the class name of a model, with the class name of its readout if it has a readout."""
    reader = getattr(model, "reader", None)
    named = type(model).__name__
    return named if reader is None else f"{named} with {type(reader).__name__}"


def in_order(batches: Any) -> Iterator[tuple[Any, bool]]:
    """Yield (batch, carried). carried: whether the batch continues the previous one."""
    for place in batches.order():
        yield batches.batch(place), batches.carried(place)


def losses_of(model: Any, batches: Any) -> list[Array]:
    """Return the loss −log p of each target, as one array (T, B) for each batch."""
    found = []
    state = None
    for batch, carried in in_order(batches):
        losses, state = model.losses(batch, state if carried else None)
        found.append(losses)
    return found


def sums(arrays: Sequence[Array]) -> Array:
    """Sum the array (T, B) of each batch over time steps; return all sums as one array."""
    return np.concatenate([array.sum(0, dtype=float) for array in arrays])


def groups_of(batches: Any) -> dict[str, list[Array]]:
    """Group targets by how many tokens ago they last occurred.

    Return {group: masks}, with a mask (T, B) of the group's targets for each batch. The groups are
    "all" and, for a language model, "1 to 5 ago", …, "not since" (earlier, or never).
    """
    everything = []
    ago = []
    past = None
    for batch, carried in in_order(batches):
        if not hasattr(batch, "inputs"):            # a translator's words
            everything.append(batch.target_out != PAD)
            continue
        everything.append(batch.targets != PAD)
        found, past = last_seen(batch.inputs, batch.targets, past if carried else None)
        ago.append(found)
    groups = {"all": everything}
    if ago:
        low = 0
        for high in RECENT:
            groups[f"{low + 1} to {high} ago"] = [(low < one) & (one <= high) for one in ago]
            low = high
        groups["not since"] = [one == np.inf for one in ago]
    return groups


def last_seen(inputs: Array, targets: Array, past: Array | None) -> tuple[Array, Array]:
    """Return how many tokens ago each target last occurred, and the `past` for the next batch.

    inputs, targets (T, B). past: the inputs of up to RECENT[-1] time steps before `inputs`, or
    None. A target that equals the input of its time step occurred 1 token ago. The distances (T, B)
    are inf beyond RECENT[-1], and NaN at padding.
    """
    before = inputs if past is None else np.concatenate([past, inputs])
    start = len(before) - len(inputs)
    ago = np.full(targets.shape, np.inf)
    for back in range(RECENT[-1], 0, -1):           # the nearest is written last
        for t in range(len(targets)):
            place = start + t - back + 1
            if place >= 0:
                ago[t][(before[place] == targets[t])] = back
    ago[targets == PAD] = np.nan
    return ago, before[-RECENT[-1]:]
