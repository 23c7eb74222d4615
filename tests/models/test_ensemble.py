"""Ensemble: averaged probabilities, word by word and in one pass, in searches and sampling."""

import numpy as np
import pytest

from numpy_attention.data.batching import TextBatches
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.decoding.sampling import read, sample
from numpy_attention.gradcheck.cases.models import PAIRS, TEXT
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.ensemble import Ensemble
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer
from numpy_attention.training.evaluation import evaluate

V = 11


def translators(rng):
    models = [RNNSearch.create(rng, V, V, hidden=6, embedding=5, dtype=np.float64),
              LuongTranslator.create(rng, V, V, hidden=6, embedding=5, dtype=np.float64),
              Transformer.create(rng, V, V, size=6, layers=1, heads=2, dtype=np.float64)]
    for model in models:
        model.vector[:] = rng.normal(0, 0.6, model.size)
    return models


def language_models(rng):
    models = [LanguageModel.create(rng, V, 6, dtype=np.float64),
              AttentiveLanguageModel.create(rng, V, "single", 6, carried=3, dtype=np.float64)]
    for model in models:
        model.vector[:] = rng.normal(0, 0.6, model.size)
    return models


def test_word_probabilities_are_averaged(rng):
    models = translators(rng)
    ensemble = Ensemble(models)
    losses, state = ensemble.losses(PAIRS)
    wanted = np.mean([np.exp(-model.losses(PAIRS)[0]) for model in models], axis=0)
    np.testing.assert_allclose(np.exp(-losses), wanted, rtol=1e-12)
    assert not losses[~PAIRS.target_mask].any()
    assert ensemble.loss(PAIRS)[0] == pytest.approx(losses.sum())
    assert ensemble.size == sum(model.size for model in models) == len(ensemble.vector)


def test_word_by_word_equals_one_pass(rng):
    ensemble = Ensemble(translators(rng))
    losses, _ = ensemble.losses(PAIRS)
    state = ensemble.start(PAIRS.source, PAIRS.source_mask)
    for t, (before, after) in enumerate(zip(PAIRS.target_in, PAIRS.target_out)):
        log_p, weights, state = ensemble.next(before, state)
        np.testing.assert_allclose(np.exp(log_p).sum(1), 1, rtol=1e-12)
        rows = PAIRS.target_mask[t]
        np.testing.assert_allclose(-log_p[np.arange(len(after)), after][rows], losses[t][rows],
                                   rtol=1e-10)
        np.testing.assert_allclose(weights[rows], ensemble.weights(PAIRS)[t][rows], atol=1e-12)


@pytest.mark.parametrize("search", [greedy, beam_search])
def test_ensemble_of_one_model_twice_equals_the_model(rng, search):
    model = translators(rng)[0]
    single, twice = (search(one, PAIRS.source, PAIRS.source_mask)
                     for one in (model, Ensemble([model, model])))
    for a, b in zip(single, twice):
        for one, other in zip(*((found if isinstance(found, list) else [found])
                                for found in (a, b))):
            assert one.ids == other.ids
            assert one.log_probability == pytest.approx(other.log_probability)
            np.testing.assert_allclose(one.weights, other.weights, atol=1e-12)


def test_language_models_keep_their_states(rng):
    models = language_models(rng)
    ensemble = Ensemble(models)
    batches = TextBatches(rng.integers(4, V, 90), batch_size=3, steps=7)
    found = evaluate(ensemble, batches)
    state, single = None, [None, None]
    total = 0.0
    for place in batches.order():
        batch = batches.batch(place)
        parts = [model.losses(batch, before) for model, before in zip(models, single)]
        single = [after for _, after in parts]
        both = np.mean([np.exp(-losses) for losses, _ in parts], axis=0)
        losses, state = ensemble.losses(batch, state)
        np.testing.assert_allclose(np.exp(-losses), both, rtol=1e-12)
        total += losses.sum()
    assert found.loss == pytest.approx(total)
    two = evaluate(ensemble, batches, threads=2, by_row=True)
    assert two.loss == pytest.approx(total)


def test_sampling(rng):
    ensemble = Ensemble(language_models(rng))
    start = read(ensemble, [2, 4, 5])
    log_p = [read(model, [2, 4, 5]).log_probabilities for model in ensemble.models]
    np.testing.assert_allclose(np.exp(start.log_probabilities), np.exp(log_p).mean(0), rtol=1e-10)
    choices = list(sample(ensemble, start, rng, 4))
    assert len(choices) == 4 and all(choice.weights is None for choice in choices)
    attentive = Ensemble([ensemble.models[1]] * 2)
    weights, _ = attentive.weights(TEXT, None)
    np.testing.assert_allclose(weights, ensemble.models[1].weights(TEXT)[0], rtol=1e-12)
    assert ensemble.weights is not None


@pytest.mark.parametrize("models, error, message", [
    ([], ValueError, "models has length 0; expected at least 2 models"),
    (3, TypeError, "models"), ([1, 2], TypeError, r"models\[0\] is 1, of type int"),
])
def test_invalid_models(models, error, message):
    with pytest.raises(error, match=message):
        Ensemble(models)
