"""Sum gradients over ranks. Rows of large tables are not sent if they are 0 on every rank.

A table is a parameter with many rows, such as an embedding. A batch touches only the rows of its
words. All other rows of the gradient are 0 on every rank, so their sum is 0 too. The result is
bit-identical to a sum of whole tables.
"""

from typing import Any

import numpy as np

from numpy_attention.kernels.updates import touched_rows
from numpy_attention.module import Array
from numpy_attention.training.distributed.ranks import SingleProcess

MANY = 4096     # a table with fewer rows is sent whole
MOST = 0.5      # a table is also sent whole if more than this fraction of its rows is touched

Span = tuple[int, int]          # begin and end in the flat vector


def add(ranks: SingleProcess, grads: Any) -> None:
    """Replace the vector of `grads` with its sum over all ranks, bit-identical to `ranks.add`."""
    vector = grads.vector
    known = tables(grads)
    found = ranks.allgather([touched(table) for _, table in known])
    rows = [np.unique(np.concatenate(numbers)) for numbers in zip(*found)]
    sparse = [(span, table, some) for (span, table), some in zip(known, rows)
              if len(some) <= MOST * len(table)]
    if sparse:
        packed = np.concatenate([table[some].ravel() for _, table, some in sparse])
        ranks.add(packed)
        ends = np.cumsum([some.size * table.shape[1] for _, table, some in sparse])
        for part, (_, table, some) in zip(np.split(packed, ends[:-1]), sparse):
            table[some] = part.reshape(len(some), table.shape[1])
    begin = 0
    for span in [span for span, _, _ in sparse] + [(len(vector), len(vector))]:
        if begin < span[0]:
            ranks.add(vector[begin:span[0]])
        begin = span[1]


def tables(grads: Any) -> list[tuple[Span, Array]]:
    """Return (span, table) for tables of MANY or more rows. span: begin and end in the vector."""
    found = []
    begin = 0
    for _, array in grads.named_parameters():
        end = begin + array.size
        if array.ndim == 2 and len(array) >= MANY:
            found.append(((begin, end), array))
        begin = end
    return found


def touched(table: Array) -> Array:
    """Return the indices of the rows of a table that have an element other than 0."""
    found = np.empty(len(table), bool)
    touched_rows(table, found)
    return np.flatnonzero(found)
