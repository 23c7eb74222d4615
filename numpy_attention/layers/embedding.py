"""Embedding: a table with a vector for each token id."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import check_initial, normal
from numpy_attention.kernels.rows import scatter_add
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import as_rows, check_ids, check_parameters, check_sizes


@dataclass(eq=False)
class Embedding(Module):
    """Embedding table.   ids (…) → y (…, E).

        y = E[id]               the row of E with index id

    The ids are integers in 0 … V − 1. Output can share the table: tied weights (Press & Wolf 2017).
    """

    E: Array  # (V, E)

    def __post_init__(self):
        check_parameters(self, E="VE")

    @classmethod
    def create(cls, rng, vocabulary, size, init=normal(0.1), dtype=np.float32):
        """Draw a table (vocabulary, size). Raises ValueError if a size is below 1."""
        check_sizes(vocabulary=vocabulary, size=size)
        check_initial(rng, dtype, init)
        return cls(init(rng, (vocabulary, size), dtype))

    def forward(self, ids):
        """Return y, and the ids as the cache.

        Raises TypeError unless the ids are integers, and ValueError unless 0 ≤ id < V.
        """
        check_ids("ids", ids, len(self.E))     # users pass ids, and NumPy accepts −1
        return self.E[ids], ids

    def backward(self, dy, cache, grads):
        """Add ∂L/∂E to grads, given dy (…, E). Return None, because ids have no gradient."""
        ids = cache
        # y = E[id]: each occurrence of an id adds to its row
        scatter_add(ids.ravel(), np.ascontiguousarray(as_rows(dy)), grads.E)
