"""Lesson 16: its pre-norm layer compared with the library, and the helpers for heads and norms."""

from types import SimpleNamespace

import numpy as np
import pytest
from lesson_files import LESSONS


def results(layer):
    """Return the output, dx and the gradients of all parameters, for a causal mask."""
    x, dy = np.random.default_rng(5).standard_normal((2, 3, 4, 8))
    y, *_, cache = layer.forward(x, np.tri(4, dtype=bool)[None].repeat(3, 0))
    grads = layer.zeros_like()
    return [y, layer.backward(dy, cache, grads), *(one for _, one in grads.named_parameters())]


@pytest.mark.parametrize("kind, wrong", [("PreNormLayer", []), ("Habit", [1, 9, 10])])
def test_layer_matches_the_library(lesson, kind, wrong):
    pairs = zip(results(lesson[kind](*lesson["parts"])), results(lesson["library"]), strict=True)
    assert [n for n, pair in enumerate(pairs) if not np.allclose(*pair, atol=1e-12)] == wrong


def test_removed_heads_come_back(monkeypatch):
    monkeypatch.syspath_prepend(str(LESSONS))
    from norms_parts import heads_removed
    part = SimpleNamespace(W_o=np.ones((6, 6)), heads=3)
    with heads_removed(part, [1]):
        np.testing.assert_array_equal(part.W_o[:, 0], [1, 1, 0, 0, 1, 1])
    assert part.W_o.all()
