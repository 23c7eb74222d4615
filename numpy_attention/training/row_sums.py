"""Gradients of tables are sent row by row: of an embedding, a batch touches the rows of its words.

All other rows of its gradient are 0 on every rank, and so is their sum: only the rows that some
rank has touched are sent. The sum is the same, bit for bit.
"""

from typing import Any, Iterator

import numpy as np

from numpy_attention.kernels.updates import touched_rows
from numpy_attention.module import Array
from numpy_attention.training.ranks import SingleProcess

# a smaller table is sent whole
MANY = 4096
# and so is one of which a larger part of the rows is touched
MOST = 0.5

Span = tuple[int, int]          # begin and end in the flat vector


def add(ranks: SingleProcess, twin: Any) -> None:
    """Put into a gradient twin the sum of all ranks' twins, as `ranks.add` does."""
    vector = twin.vector
    known = list(tables(twin)) if ranks.count > 1 else []
    found = ranks.allgather([touched(table) for _, table in known])
    sparse = [(span, table, rows)
              for (span, table), rows in zip(known, map(union, *found))
              if len(rows) <= MOST * len(table)]
    if sparse:
        packed = np.concatenate([table[rows].ravel() for _, table, rows in sparse])
        ranks.add(packed)
        unpack(packed, sparse)
    for begin, end in between([span for span, _, _ in sparse], len(vector)):
        ranks.add(vector[begin:end])


def tables(twin: Any) -> Iterator[tuple[Span, Array]]:
    """(where in the vector, the array) of each parameter of many rows."""
    begin = 0
    for _, array in twin.named_parameters():
        end = begin + array.size
        if array.ndim == 2 and len(array) >= MANY:
            yield (begin, end), array
        begin = end


def touched(table: Array) -> Array:
    """The numbers of the rows that are not all 0."""
    found = np.empty(len(table), bool)
    touched_rows(table, found)
    return np.flatnonzero(found)


def union(*rows: Array) -> Array:
    """The numbers that are in any of these arrays, in order."""
    return np.unique(np.concatenate(rows))


def unpack(packed: Array, sparse: list[tuple[Span, Array, Array]]) -> None:
    """Rows that stand one after another back into their tables."""
    begin = 0
    for _, table, rows in sparse:
        end = begin + len(rows) * table.shape[1]
        table[rows] = packed[begin:end].reshape(len(rows), table.shape[1])
        begin = end


def between(spans: list[Span], size: int) -> list[Span]:
    """What of so many numbers lies outside of these spans, which are in order."""
    ends = [0] + [end for _, end in spans]
    begins = [begin for begin, _ in spans] + [size]
    return [(end, begin) for end, begin in zip(ends, begins) if end < begin]
