"""HardRNNSearch: the estimated gradient is that of the expected loss."""

from itertools import product

import numpy as np
import pytest

from numpy_attention.attention import hard
from numpy_attention.attention.hard import HardAttention, sampled_weights
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.data.batching import pair_batch
from numpy_attention.gradcheck import numeric_gradient
from numpy_attention.models.hard_rnnsearch import HardRNNSearch
from numpy_attention.models.rnnsearch import RNNSearch

SETTINGS = {"embedding": 2, "hidden": 3, "maxout": 2, "init": "modern", "dtype": np.float64}


def build_model(discount=1.0):
    model = HardRNNSearch.create(np.random.default_rng(0), 6, 5, discount=discount, **SETTINGS)
    model.vector[...] = np.random.default_rng(1).normal(0, 0.8, model.size)
    return model


def batch_of(*pairs):
    return pair_batch(*zip(*pairs))


ONE = batch_of(([4, 5], [4]))           # S = 3 with </s>, T = 2


class FixedPositions:
    """Attend to given positions instead of sampled ones, and record their probability."""

    def __init__(self, monkeypatch, positions):
        self.p = 1.0
        self.positions = list(positions)        # one per step
        monkeypatch.setattr(hard, "sampled_weights", self.sampled)

    def sampled(self, weights, visible, uniform):
        chosen = self.positions.pop(0)
        self.p *= weights[0, chosen]
        return np.eye(3)[[chosen]]


def expected(model, monkeypatch):
    """Return the expected loss of ONE over all choices, and the mean of the estimated gradients."""
    loss = 0.0
    mean = np.zeros(model.size)
    for positions in product(range(3), repeat=2):
        chosen = FixedPositions(monkeypatch, positions)
        grads = model.zeros_like()
        found, _ = model.loss_and_grad(ONE, None, 1.0, grads, np.random.default_rng(0))
        loss += chosen.p * found
        mean += chosen.p * grads.vector
    return loss, mean


def test_gradient_estimate_is_unbiased(rng, monkeypatch):
    """Test ten random directions: an error in any parameter's gradient affects all of them."""
    model = build_model()
    _, mean = expected(model, monkeypatch)
    directions = rng.standard_normal((10, model.size))
    shift = np.zeros(10)
    start = model.vector.copy()

    def shifted_loss():
        model.vector[...] = start + shift @ directions
        return expected(model, monkeypatch)[0]

    numeric = numeric_gradient(shifted_loss, shift)
    assert np.abs(directions @ mean - numeric).max() < 1e-7
    # a choice affects the loss of its own word and of all later words
    _, undiscounted = expected(build_model(discount=0.0), monkeypatch)
    assert np.abs(directions @ undiscounted - numeric).max() > 1e-4


def test_baseline_is_the_mean_of_the_other_sentences():
    model = build_model(discount=0.5)
    losses = np.array([[1.0, 2.0, 6.0], [4.0, 2.0, 0.0]])
    mask = np.array([[True, True, True], [True, True, False]])
    following = np.array([[3.0, 3.0, 6.0], [4.0, 2.0, 0.0]])
    assert np.allclose(model.advantage(losses, mask),
                       [[3 - 4.5, 3 - 4.5, 6 - 3], [4 - 2, 2 - 4, 0]])
    single = model.advantage(losses[:, :1], mask[:, :1])
    assert np.allclose(single, following[:, :1])


def test_sampled_positions_do_not_depend_on_the_batch():
    model = build_model()
    pairs = [([4, 5, 4], [4, 4]), ([5, 4, 4], [4]), ([4, 4, 5], [4, 4])]
    whole = batch_of(*pairs)
    last = batch_of(*pairs[1:])
    last.rows = whole.rows[1:]

    def chosen(batch):
        *_, cache = model.forward(batch, np.random.default_rng(3))
        return np.array([one.chosen for one in cache.attend_caches])

    assert (chosen(whole)[:, 1:] == chosen(last)).all()


def test_soft_equals_soft_attention():
    hard = HardRNNSearch.create(np.random.default_rng(0), 6, 5, soft=1.0, **SETTINGS)
    soft = RNNSearch.create(np.random.default_rng(0), 6, 5, **SETTINGS)
    hard.vector[...] = soft.vector[...] = np.random.default_rng(1).normal(0, 0.8, hard.size)
    batch = batch_of(([4, 5, 4], [4, 4]), ([5, 4], [4]))
    found = []
    for model in (hard, soft):
        grads = model.zeros_like()
        loss, _ = model.loss_and_grad(batch, None, 1.0, grads, np.random.default_rng(2))
        found.append((loss, grads.vector))
    assert found[0][0] == pytest.approx(found[1][0])
    assert np.allclose(found[0][1], found[1][1], rtol=1e-10, atol=1e-12)


def test_positions_are_sampled_from_the_weights():
    model = build_model()
    N = 4000
    memory, _, _ = model.encode(np.repeat(ONE.source, N, 1), np.repeat(ONE.source_mask, N, 1),
                                np.random.default_rng(5), np.arange(N))
    weights = np.tile([0.1, 0.6, 0.3], (N, 1))
    chosen, later = (sampled_weights(weights, memory.mask, memory.uniform(t)) for t in (1, 2))
    assert np.abs(chosen.mean(0) - weights[0]).max() < 4 * np.sqrt(0.25 / N)
    assert (chosen != later).any()


def test_invalid_arguments():
    heads = MultiHeadAttention.create(np.random.default_rng(0), 4, 4, 4, heads=2)
    with pytest.raises(TypeError, match="score"):
        HardAttention(heads)
    with pytest.raises(ValueError, match="discount"):
        build_model(discount=1.5)
