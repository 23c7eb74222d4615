"""AttentiveLanguageModel: decoding word by word gives the loss and weights of the whole text."""

import numpy as np
import pytest

from numpy_attention.data.batching import TextBatch
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.registry import HISTORY_READOUTS

B, V = 3, 9


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("attention", HISTORY_READOUTS)
def test_word_by_word_equals_the_whole_text(rng, attention, window):
    without_weights = attention in ("ngram", "projection")
    settings = {} if without_weights else {"window": window}
    model = AttentiveLanguageModel.create(rng, V, attention, hidden=6, dtype=np.float64, init=0.7,
                                          **settings)
    inputs, targets = rng.integers(4, V, (2, 7, B))
    text = TextBatch(inputs, targets, np.arange(B))
    weights, _ = model.weights(text)
    state, total = None, 0.0
    for t in range(len(inputs)):
        log_probs, attended, state = model.next(inputs[t], state)
        total -= log_probs[np.arange(B), targets[t]].sum()
        np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=1e-12)
        if without_weights:
            assert attended is None
            assert weights is None
        else:
            size = min(t, window or t)
            assert attended.shape == (B, size)
            np.testing.assert_allclose(attended, weights[t, :, t - size:t], atol=1e-13)
    assert total == pytest.approx(model.loss(text)[0], rel=1e-12)
