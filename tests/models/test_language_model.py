"""LanguageModel: carried state, shares, padding, ties. Gradients and laws: tests/test_checks.py."""

import laws
import numpy as np
import pytest

from numpy_attention.data.batching import TextBatch
from numpy_attention.data.running_text import Text
from numpy_attention.experiments.choices import language_model
from numpy_attention.gradcheck.cases.case import V
from numpy_attention.gradcheck.cases.models import TEXT
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.training.settings import LanguageModelTraining


def model_of(cell, **settings):
    rng = np.random.default_rng(0)
    return LanguageModel.create(rng, V, 3, cell=cell, init=0.5, dtype=np.float64, **settings)


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_two_windows_with_carried_state_equal_one(cell):
    model = model_of(cell)
    halves = [TextBatch(TEXT.inputs[w], TEXT.targets[w], TEXT.rows)
              for w in (slice(0, 2), slice(2, 4))]
    first, state = model.loss(halves[0])
    second, _ = model.loss(halves[1], state)
    assert first + second == pytest.approx(model.loss(TEXT)[0], rel=1e-12)
    assert model.loss(halves[1])[0] != pytest.approx(second, rel=1e-6)      # so the state matters


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_shares_and_padding(cell):
    laws.shares_and_padding(model_of(cell, dropout=0.3, tied=True), TEXT)


def test_next_equals_the_loss_of_the_whole_text(rng):
    model = model_of("lstm")
    state = None
    total = 0.0
    inputs, targets = rng.integers(4, V, (2, 5, 2))
    for tokens, wanted in zip(inputs, targets):
        log_probs, _, state = model.next(tokens, state)
        total -= log_probs[np.arange(2), wanted].sum()
    whole, _ = model.loss(TextBatch(inputs, targets, np.arange(2)))
    assert total == pytest.approx(whole, rel=1e-12)


def test_tied_embedding_and_invalid_arguments():
    tied = model_of("gru", tied=True)
    assert tied.output.words is tied.embedding
    assert model_of("gru").size - tied.size == V * 3
    with pytest.raises(ValueError, match="so their sizes must agree"):
        model_of("gru", tied=True, embedding=4)
    with pytest.raises(ValueError, match="expected one of rnn, lstm, gru"):
        model_of("elman")


def test_a_budget_without_tied_is_that_of_an_untied_model(rng):
    text = Text([[[str(k) for k in range(200)]]])
    _, sizes = language_model(text, LanguageModelTraining(min_count=1), parameters=20_000)
    assert 18_000 < LanguageModel.create(rng, 204, **sizes).size <= 20_000
