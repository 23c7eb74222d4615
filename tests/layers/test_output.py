"""Output: blocks of rows and words, large logits, tied embeddings, errors."""

import laws
import numpy as np
import pytest

from numpy_attention.gradcheck import randomize
from numpy_attention.layers import output as module
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output


def layer_and_rows(rng, N=11, size=4, V=9, dtype=np.float64):
    layer = randomize(Output.create(rng, size, V, dtype=dtype), rng)
    x = rng.standard_normal((N, size)).astype(dtype)
    return layer, x, rng.integers(0, V, N)


def loss_and_grad(layer, x, targets, scale=0.7):
    grads = layer.zeros_like()
    loss, dx = layer.loss_and_grad(x, targets, scale, grads)
    return np.array(loss), dx, grads.vector


@pytest.mark.parametrize("block", [1, 3, 5, 11, 100])
def test_row_block_size_does_not_change_results(rng, monkeypatch, block):
    layer, x, targets = layer_and_rows(rng)
    whole = loss_and_grad(layer, x, targets)
    monkeypatch.setattr(module, "BLOCK", block)
    laws.assert_close(loss_and_grad(layer, x, targets), whole, 1e-13)
    assert layer.loss(x, targets) == pytest.approx(float(whole[0]), rel=1e-13)


@pytest.mark.parametrize("words", [1, 2, 4, 9, 100])
def test_word_block_size_does_not_change_the_gradient(rng, monkeypatch, words):
    layer, x, targets = layer_and_rows(rng)
    monkeypatch.setattr(module, "WORDS", words)
    grads = layer.zeros_like()
    layer.loss_and_grad(x, targets, 0.7, grads)
    p = np.exp(layer.log_probabilities(x))
    np.testing.assert_allclose(grads.words.E, 0.7 * (p - np.eye(9)[targets]).T @ x, atol=1e-13)


@pytest.mark.parametrize("few", [0, 11])    # of 11 rows: use x Eᵀ, then E xᵀ
def test_formula(rng, monkeypatch, few):
    monkeypatch.setattr(module, "FEW", few)
    monkeypatch.setattr(module, "has_small_kernels", lambda: False)
    layer, x, targets = layer_and_rows(rng)
    loss, dx, _ = loss_and_grad(layer, x, targets)
    z = x @ layer.words.E.T + layer.b
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    np.testing.assert_allclose(layer.log_probabilities(x), np.log(p))
    np.testing.assert_allclose(layer.logits(x), z)
    assert float(loss) == pytest.approx(-np.log(p[np.arange(11), targets]).sum())
    np.testing.assert_allclose(dx, 0.7 * (p - np.eye(9)[targets]) @ layer.words.E)


def test_logits_are_computed_in_blocks(rng, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 8)
    sizes = []
    original = module.cross_entropy

    def record(logits, *rest):
        sizes.append(logits.shape)
        original(logits, *rest)
    monkeypatch.setattr(module, "cross_entropy", record)
    loss_and_grad(*layer_and_rows(rng, N=30))
    assert sizes == [(8, 9)] * 3 + [(6, 9)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_logits_are_accurate(rng, dtype):
    layer, x, targets = layer_and_rows(rng, dtype=dtype)
    x *= dtype(1e4) / np.abs(x @ layer.words.E.T).max()
    single = loss_and_grad(layer, x, targets)
    double = loss_and_grad(layer.astype(np.float64), x.astype(np.float64), targets)
    laws.assert_close(single, double, 1e-4)     # logits of 1e4 are rounded to 1e-3


def test_empty_rows(rng):
    layer, x, targets = layer_and_rows(rng)
    loss, dx, grads = loss_and_grad(layer, x[:0], targets[:0])
    assert loss == 0 and dx.shape == (0, 4) and not grads.any()


def test_tied_embedding_and_invalid_arguments(rng):
    words = Embedding.create(rng, 9, 4)
    assert Output.create(rng, 4, 9, words=words).words is words
    with pytest.raises(ValueError, match="the tied embedding.*so their sizes must agree"):
        Output.create(rng, 5, 9, words=words)
    layer, x, targets = layer_and_rows(rng)
    with pytest.raises(ValueError, match="targets contains 1.; expected 0 to"):
        layer.loss(x, targets + 9)
