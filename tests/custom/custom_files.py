"""User-defined files for the tests: valid attentions, and helpers that break them."""

from pathlib import Path

ADDED = Path(__file__).resolve().parents[1] / "added"
MINE = '''"""e_j = q W · h_j, as a reader would write it."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.memory import dot_scores, sum_of_values
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.initializers import glorot
from numpy_attention.module import Array


@dataclass(eq=False)
class Mine(SoftmaxAttention):
    W: Array  # (Q, D)

    @classmethod
    def create(cls, rng, query_size, value_size, init=glorot, dtype=np.float32):
        return cls(init(rng, (query_size, value_size), dtype))

    def score(self, query, memory):
        p = query @ self.W
        return dot_scores(p, memory), (query, p)

    def score_backward(self, dscores, cache, memory, dmemory, grads):
        query, p = cache
        dmemory.defer("values", dscores, p)
        dp = sum_of_values(dscores, memory)
        dmemory.defer("W", query, dp)
        return dp @ self.W.T
'''
# a score of a language model
PAST = '''
from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.history import HistoryAttention
from numpy_attention.initializers import glorot
from numpy_attention.module import Array


@dataclass(eq=False)
class Past(HistoryAttention):
    W: Array  # (Q, K)

    @classmethod
    def create(cls, rng, query_size, key_size, init=glorot, dtype=np.float32):
        return cls(init(rng, (query_size, key_size), dtype))

    def score(self, queries, keys, visible):
        p = queries @ self.W
        e = np.matmul(p.transpose(1, 0, 2), keys.transpose(0, 2, 1)).transpose(1, 0, 2)
        return e, (queries, keys, p)

    def score_backward(self, dscores, visible, cache, grads):
        queries, keys, p = cache
        by_row = dscores.transpose(1, 0, 2)
        dp = np.matmul(by_row, keys).transpose(1, 0, 2)
        grads.W += np.tensordot(queries, dp, ((0, 1), (0, 1)))
        return dp @ self.W.T, np.matmul(by_row.transpose(0, 2, 1), p.transpose(1, 0, 2))
'''
# the same without a matrix
PRODUCT = '''
from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.history import HistoryAttention


@dataclass(eq=False)
class Product(HistoryAttention):
    @classmethod
    def create(cls, rng, query_size, key_size):
        if query_size != key_size:
            raise ValueError(f"queries of size {query_size}, keys of size {key_size}")
        return cls()

    def score(self, queries, keys, visible):
        e = np.matmul(queries.transpose(1, 0, 2), keys.transpose(0, 2, 1)).transpose(1, 0, 2)
        return e, (queries, keys)

    def score_backward(self, dscores, visible, cache, grads):
        queries, keys = cache
        by_row = dscores.transpose(1, 0, 2)
        dkeys = np.matmul(by_row.transpose(0, 2, 1), queries.transpose(1, 0, 2))
        return np.matmul(by_row, keys).transpose(1, 0, 2), dkeys
'''
CELL = (ADDED / "minimal_gated.py").read_text(encoding="utf-8")
# methods that replace those of the base class, and return too little or too much
SHORT_STEP = '''
    def step(self, query, memory, t):
        return super().step(query, memory, t)[1:]
'''
READ = '''
    def read(self, values, mask):
        memory = super().read(values, mask)
'''
READ_BACKWARD = '''
    def read_backward(self, memory, dmemory, grads):
        return super().read_backward(memory, dmemory, grads)[0]
'''
FORWARD = '''
    def forward(self, xs, state=None, mask=None, rng=None, row_ids=None):
        ys, state, cache = super().forward(xs, state, mask)
        return (ys, ys), state, cache
'''


def changed(old, new, text=MINE):
    """Return a file with one change."""
    assert text.count(old) == 1
    return text.replace(old, new)


def scaled(beta):
    """Return MINE with scores times a field beta, of this value and without a gradient."""
    text = changed("value_size), dtype)", f"value_size), dtype), {beta}")
    text = changed("W: Array  # (Q, D)\n", "W: Array  # (Q, D)\n    beta: Array\n", text)
    text = changed("p = query", "p = self.beta * query", text)
    return changed("dp = sum_of", "dp = self.beta * sum_of", text)


def in_score(line, text=MINE):
    """Return a file with this line at the start of its score."""
    return changed("        p = query @ self.W\n", f"        {line}\n        p = query @ self.W\n",
                   text)


def written(folder, text=MINE, name="mine.py"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
