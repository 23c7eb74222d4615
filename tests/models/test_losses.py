"""The losses of single words add up to the loss of the batch, and are 0 at padding."""

import numpy as np
import pytest

from numpy_attention.data.vocabulary import PAD
from numpy_attention.gradcheck.cases.models import PAIRS, TEXT
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer

V = 9


@pytest.mark.parametrize("make", [
    lambda rng: RNNSearch.create(rng, V, V, hidden=6, embedding=5, dtype=np.float64),
    lambda rng: LuongTranslator.create(rng, V, V, hidden=6, embedding=5, dtype=np.float64),
    lambda rng: Transformer.create(rng, V, V, size=6, layers=1, heads=2, dtype=np.float64),
])
def test_translators(make, rng):
    model = make(rng)
    losses, state = model.losses(PAIRS)
    assert state is None and losses.dtype == np.float64
    assert not losses[~PAIRS.target_mask].any() and (losses[PAIRS.target_mask] > 0).all()
    assert losses.sum() == pytest.approx(model.loss(PAIRS)[0], rel=1e-12)
    log_probs = model.output.log_probabilities(model.forward(PAIRS)[0])
    targets = PAIRS.target_out[PAIRS.target_mask]
    np.testing.assert_allclose(losses[PAIRS.target_mask],
                               -log_probs[np.arange(len(targets)), targets], rtol=1e-12)


@pytest.mark.parametrize("make", [
    lambda rng: LanguageModel.create(rng, V, 6, dtype=np.float64),
    lambda rng: AttentiveLanguageModel.create(rng, V, "single", 6, carried=3, dtype=np.float64),
])
def test_language_models(make, rng):
    model = make(rng)
    state = before = None
    for _ in range(2):
        losses, state = model.losses(TEXT, state)
        loss, before = model.loss(TEXT, before)
        assert losses.shape == TEXT.targets.shape and losses.sum() == pytest.approx(loss, rel=1e-12)
        assert ((losses > 0) == (TEXT.targets != PAD)).all()
