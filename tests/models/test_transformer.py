"""Transformer: decoding with cached keys equals full recomputation; the future is ignored."""

import laws
import numpy as np
import pytest

from numpy_attention.data.batching import PairBatch, pair_batch
from numpy_attention.data.vocabulary import BOS
from numpy_attention.gradcheck.cases.case import V
from numpy_attention.gradcheck.cases.models import PAIRS, transformer
from numpy_attention.models.transformer import Transformer

FORMS = [{}, {"pre_norm": True, "tied": False}]


@pytest.mark.parametrize("settings", FORMS)
def test_decoding_with_cached_keys_equals_full_recomputation(rng, settings):
    model = transformer(rng, np.float64, **settings)
    weights = model.weights(PAIRS)
    mask = PAIRS.target_mask
    state = model.start(PAIRS.source, PAIRS.source_mask)
    total = 0.0
    order = np.array([2, 0, 0])
    for t, tokens in enumerate(PAIRS.target_in):
        before = state
        log_probs, attended, state = model.next(tokens, before)
        total -= log_probs[np.arange(3), PAIRS.target_out[t]][mask[t]].sum()
        np.testing.assert_allclose(attended[mask[t]], weights[t][mask[t]], atol=1e-13)
        swapped, _, _ = model.next(tokens[order], before.take(order))
        np.testing.assert_allclose(swapped, log_probs[order], atol=1e-13)
    assert total == pytest.approx(model.loss(PAIRS)[0], rel=1e-12)


@pytest.mark.parametrize("settings", FORMS)
def test_future_is_ignored(rng, settings):
    model = transformer(rng, np.float64, **settings)
    batch = pair_batch([[4, 5, 6]], [[4, 5, 8, 6]])
    full = model.forward(batch)[0]
    for t in range(1, 5):
        other = batch.target_in.copy()
        other[t:] = 7
        changed, _, _ = model.forward(PairBatch(batch.source, other, batch.target_out, batch.rows))
        np.testing.assert_allclose(changed[:t], full[:t], atol=1e-13)
        assert np.abs(changed[t] - full[t]).max() > 1e-6


def test_shares_and_padding(rng):
    model = transformer(rng, np.float64)
    model.smoothing = 0.1
    laws.shares_and_padding(model, PAIRS)


def test_invalid_arguments(rng):
    for settings, message in (
            ({"size": 5}, "must be even"),
            ({"size": 6, "heads": 4}, "divisible"),
            ({"size": 4, "heads": 2, "smoothing": 1.0}, r"a fraction in \[0, 1\)")):
        with pytest.raises(ValueError, match=message):
            Transformer.create(rng, 8, V, layers=1, **settings)
    model = transformer(rng, np.float64)
    with pytest.raises(ValueError, match=r"source\[:, 0\] does not begin"):
        model.start(np.zeros((2, 1), np.int64), np.zeros((2, 1), bool))
    log_probs, _, _ = model.next(np.full(3, BOS), model.start(PAIRS.source, PAIRS.source_mask))
    assert log_probs.shape == (3, V)
