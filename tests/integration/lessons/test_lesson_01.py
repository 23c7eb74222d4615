"""Lesson 01: its reference implementation compared with the library, with other numbers."""

import numpy as np
import pytest

from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output


def test_model_matches_the_library(lesson):
    rng = np.random.default_rng(6)
    model = lesson["create"](rng, 7, 4)
    x, y = rng.integers(7, size=(2, 12))
    L, cache = model.forward(x, y)
    plain = model.zeros_like()
    model.backward(0.5, cache, plain)
    embedding, output = Embedding(model.E), Output(Embedding(model.W), model.b)
    theirs, of_output = embedding.zeros_like(), output.zeros_like()
    h, rows = embedding.forward(x)
    total, dh = output.loss_and_grad(h, y, 0.5 / 12, of_output)
    embedding.backward(dh, rows, theirs)
    assert L == pytest.approx(total / 12, rel=1e-12)
    for ours, other in ((plain.E, theirs.E), (plain.W, of_output.words.E),
                        (plain.b, of_output.b)):
        np.testing.assert_allclose(ours, other, atol=1e-14)


def test_error_of_central_differences_is_quadratic_in_the_step(lesson):
    x = np.array([0.7])
    errors = [abs(lesson["central"](lambda: np.exp(x[0]), x, step)[0] - np.exp(0.7))
              for step in (0.1, 0.01)]
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.01)
    assert x == 0.7


def test_bugs_change_the_gradient(lesson):
    xs, ys, tiny = lesson["xs"], lesson["ys"], lesson["tiny"]
    right = tiny.zeros_like()
    tiny.backward(1.0, tiny.forward(xs, ys)[1], right)
    for bug in ("LastWins", "NotAveraged", "WrongModel"):
        model = lesson[bug](tiny.E, tiny.W, tiny.b)
        grads = model.zeros_like()
        model.backward(1.0, model.forward(xs, ys)[1], grads)
        assert not np.allclose(grads.vector, right.vector)
