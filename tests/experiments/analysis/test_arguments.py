"""Argument errors of the analyses: models without attention, other batches, invalid positions."""

import numpy as np
import pytest

from numpy_attention.data.batching import DocumentBatches, TextBatch, TextBatches
from numpy_attention.data.cloze import Question
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.experiments import analysis
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.language_model import LanguageModel

V = 12
RNG = np.random.default_rng(0)
WORDS = Vocabulary(list("abcdefgh"))
QUESTION = Question((("a",),), ("b",), (), ("c", "d"), 0)
TEXT = TextBatches(list(RNG.integers(4, V, 300)), batch_size=4, steps=9)
PLAIN = LanguageModel.create(RNG, V, 6)
GRU = LanguageModel.create(RNG, V, 6, cell="gru")
ATTENTIVE = AttentiveLanguageModel.create(RNG, V, "single", hidden=6)
NGRAM = AttentiveLanguageModel.create(RNG, V, "ngram", hidden=6)
PADDED = TextBatch(np.array([[4, 5], [4, 0]]), np.array([[4, 5], [4, 0]]), np.arange(2))
WHOLE = TextBatch(np.array([[4], [4]]), np.array([[4], [4]]), np.arange(1))


@pytest.mark.parametrize("use", [
    lambda model, batches, rng: analysis.ablate(model, batches, rng),
    lambda model, batches, rng: analysis.role_gradients(model, batches, rng),
    lambda model, batches, rng: analysis.loss_by_distance(model, batches, rng),
])
def test_kinds(use):
    with pytest.raises(TypeError, match="model is None"):
        use(None, TEXT, RNG)
    with pytest.raises(TypeError, match="batches"):
        use(ATTENTIVE, [1], RNG)
    with pytest.raises(TypeError, match="rng"):
        use(ATTENTIVE, TEXT, 3)


class Nan:
    def losses(self, batch, state=None):
        return np.full(batch.targets.shape, np.nan), state


@pytest.mark.parametrize("use, message", [
    (lambda: analysis.changed(ATTENTIVE, "nix", RNG), "change = 'nix'; expected one of 'no "),
    (lambda: analysis.ablate(ATTENTIVE, TEXT, RNG, ["nix"]), "change = 'nix'"),
    (lambda: analysis.role_gradients(PLAIN, TEXT, RNG), "LanguageModel has no attention over"),
    (lambda: analysis.role_gradients(NGRAM, TEXT, RNG), "with NGramReadout has no attention"),
    (lambda: analysis.attention_span(NGRAM, TEXT), "has no attention weights"),
    (lambda: analysis.attention_span(ATTENTIVE, TEXT, 9), "has 9 earlier positions; "),
    (lambda: analysis.gradient_flow(PLAIN, PADDED), "is padded"),
    (lambda: analysis.gradient_flow(GRU, WHOLE, of="c"), "`of` = 'c' is .* of GRU; expected 'h'$"),
    (lambda: analysis.disturbed(TEXT, RNG, words=8, past=8), "words = 8; .* from 1 to 7"),
    (lambda: analysis.disturbed(TEXT, RNG, following=0), "following = 0"),
    (lambda: analysis.cloze_test(PLAIN, WORDS, [], RNG), "no questions"),
    (lambda: analysis.cloze_test(PLAIN, WORDS, [QUESTION], RNG, "kept"), "state = 'kept'"),
    (lambda: analysis.cloze_test(PLAIN, WORDS, [QUESTION], RNG, steps=0), "steps = 0"),
])
def test_values(use, message):
    with pytest.raises(ValueError, match=message):
        use()


def test_untrained_model():
    with pytest.raises(ArithmeticError, match="log p of a query is nan; did training diverge"):
        analysis.cloze_test(Nan(), WORDS, [QUESTION], RNG)


def test_losses_of_different_texts():
    found, other = (analysis.loss_by_distance(PLAIN, batches, RNG)
                    for batches in (TEXT, DocumentBatches([[5, 4, 4, 5, 7, 8]], 1)))
    with pytest.raises(ValueError, match="on different texts or batches"):
        found.more_than(other, RNG)
