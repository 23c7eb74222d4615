"""Lesson 02: its reference implementation compared with the library, and its truncation bug."""

import numpy as np

from numpy_attention.cells.rnn import RNN
from numpy_attention.gradcheck import randomize


def test_cell_matches_the_library(lesson):
    rng = np.random.default_rng(9)
    plain = randomize(lesson["PlainRNN"](np.empty((3, 4)), np.empty((4, 4)), np.empty(4)), rng)
    theirs = RNN(plain.W, plain.U, plain.b)
    xs = rng.standard_normal((5, 2, 3))
    first = rng.standard_normal((2, 4))
    dys = rng.standard_normal((5, 2, 4))
    dlast = rng.standard_normal((2, 4))
    for one, other in zip(lesson["passes"](plain, xs, first, dys, dlast),
                          lesson["passes"](theirs, xs, first, dys, dlast)):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_bug_affects_only_dU(lesson):
    right = lesson["passes"](lesson["create"](lesson["PlainRNN"]), lesson["xs"], lesson["first"],
                             lesson["dys"], lesson["dlast"])
    wrong = lesson["passes"](lesson["create"](lesson["OffByOne"]), lesson["xs"], lesson["first"],
                             lesson["dys"], lesson["dlast"])
    for one, other in zip(right[:4], wrong[:4]):
        np.testing.assert_array_equal(one, other)
    W, U = slice(0, 10), slice(10, 35)
    np.testing.assert_array_equal(right[4][W], wrong[4][W])
    assert not np.allclose(right[4][U], wrong[4][U])
