"""A long text cut into parallel streams. A batch contains a few steps of each stream."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from numpy_attention.data.batching.grouping import share_of
from numpy_attention.data.protocols import Batch
from numpy_attention.data.vocabulary import PAD
from numpy_attention.module import Array
from numpy_attention.validation.arguments import as_integers, check_generator
from numpy_attention.validation.arrays import check_integers, check_whole


@dataclass
class TextBatch(Batch):
    """T steps of B parallel streams of text. Each step predicts the next token."""

    inputs: Array       # (T, B) ids
    targets: Array      # (T, B) ids
    rows: Array         # (B,)   ids of the streams

    def __post_init__(self) -> None:
        check_integers("rows", self.rows, (None,), "(B,)")
        check_integers("inputs", self.inputs, (None, len(self.rows)), "(T, B)")
        check_integers("targets", self.targets, self.inputs.shape, "(T, B)")

    @property
    def row_tokens(self) -> Array:
        return (self.targets != PAD).sum(0)

    def share(self, k: int, n: int) -> "TextBatch":
        """Divide the streams into n nearly equal batches; return batch k, counted from 0."""
        rows = share_of(self.size, k, n)
        return TextBatch(
            np.ascontiguousarray(self.inputs[:, rows]),
            np.ascontiguousarray(self.targets[:, rows]),
            self.rows[rows],
        )


class TextBatches:
    """One long text as `batch_size` streams of equal length, read `steps` tokens at a time.

    ids: the ids of the text. Batches are in the order of the text (Zaremba et al. 2014). Each batch
    continues the previous batch, and the state is carried. Every token except the very first is
    predicted, unless its id is 0 (padding). The last streams may be padded.
    """

    def __init__(self, ids: Sequence[int] | Array, batch_size: int = 20, steps: int = 20) -> None:
        ids = as_integers("ids", ids).astype(np.int64)
        check_whole("batch_size", batch_size, 1)
        check_whole("steps", steps, 1)
        if len(ids) and ids.min() < 0:
            raise ValueError(f"ids contain {ids.min()}; ids must be at least 0, like those that "
                             "a Vocabulary returns")
        if len(ids) < batch_size + 1:
            lower = f", or set batch_size = {len(ids) - 1} or less" if len(ids) > 1 else ""
            raise ValueError(f"a text of {len(ids)} tokens is too short for batch_size = "
                             f"{batch_size}; use more text{lower}")
        self.batch_size = batch_size
        self.steps = steps
        self.inputs = self._streams(ids[:-1])
        self.targets = self._streams(ids[1:])

    def _streams(self, ids: Array) -> Array:
        length = -(-len(ids) // self.batch_size)
        streams = np.full(self.batch_size * length, PAD, np.int64)
        streams[:len(ids)] = ids
        return streams.reshape(self.batch_size, length).T  # (length, B)

    def __len__(self) -> int:
        return -(-len(self.inputs) // self.steps)

    def order(self, rng: np.random.Generator | None = None) -> list[int]:
        """Return the first time step of each batch, always in the order of the text."""
        if rng is not None:
            check_generator(rng)
        return list(range(0, len(self.inputs), self.steps))

    def batch(self, start: int) -> TextBatch:
        """Return the TextBatch that begins at time step `start` of every stream."""
        check_whole("start", start, 0, len(self.inputs) - 1)
        window = slice(start, start + self.steps)
        return TextBatch(
            np.ascontiguousarray(self.inputs[window]),
            np.ascontiguousarray(self.targets[window]),
            np.arange(self.batch_size),
        )

    def carried(self, start: int) -> bool:
        """Return whether `start` > 0. Every batch except the first continues the previous one."""
        return start > 0
