"""∂L/∂α of a traced backward pass compared with central differences."""

import numpy as np
import pytest

from numpy_attention.attention.history import HistoryAttention
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.course.trace import weights
from numpy_attention.course.trace.subjects import subject_of
from numpy_attention.course.trace.weights import weight_gradients
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.gradcheck import randomize
from numpy_attention.training.settings import TranslatorTraining

PAIRS = [Pair(("a", "b", "c"), ("x", "y")), Pair(("b",), ("y", "z", "x"))]
SENTENCE = "a b c", "y x z"
TEXT = Text([[["a", "b", "c", "d"], ["b", "a"]]])
STEP = 1e-6


def translator(name, training=None, **settings):
    sizes = {} if name == "transformer" else {"embedding": 3, "hidden": 4}
    found = Translator.create(PAIRS, name, sizes | settings, training)
    found.model = randomize(found.model.astype(np.float64), np.random.default_rng(1), 0.7)
    return found


def language_model_run(attention):
    found = LanguageModelRun.create(TEXT, "attentive-language-model", {
        "attention": attention, "hidden": 6, "layers": 1})
    found.model = randomize(found.model.astype(np.float64), np.random.default_rng(1), 0.7)
    return found


def shifted_loss(monkeypatch, run, sentence, kind, which, call, place, step):
    """Return L with `step` added to one weight (of all heads) in one call of an attention."""
    counts = []
    attention_weights = kind.attention_weights

    def shifted_weights(self, scores, visible):
        found = attention_weights(self, scores, visible)
        if self is which:
            counts.append(None)
            if call is None or len(counts) == call + 1:
                found[place] += step
        return found

    with monkeypatch.context() as patch:
        patch.setattr(kind, "attention_weights", shifted_weights)
        loss, _ = run.model.loss(subject_of(run, sentence).batch)
    return loss


def differences(monkeypatch, run, sentence, kind, which, shape, place_of):
    found = np.zeros(shape)
    for t, s in np.ndindex(shape):
        call, place = place_of(t, s)
        up, down = (shifted_loss(monkeypatch, run, sentence, kind, which, call, place, step)
                    for step in (STEP, -STEP))
        found[t, s] = (up - down) / (2 * STEP)
    return found


@pytest.mark.parametrize("name, settings", [
    ("rnnsearch", {"init": "modern"}), ("rnnsearch", {"attention": "general", "layers": 2}),
    ("luong", {}), ("luong", {"attention": "location", "longest": 9}),
    ("luong", {"window": "local-m", "width": 1}),
    ("rnnsearch", {"attention": "multi-head", "heads": 2})],
    ids=lambda given: given if isinstance(given, str) else "-".join(map(str, given.values())))
def test_recurrent_decoders(name, settings, monkeypatch):
    run = translator(name, **settings)
    found = weight_gradients(run, *SENTENCE)
    assert found.sources == ["a", "b", "c", "</s>"] and found.targets == ["y", "x", "z", "</s>"]
    assert np.allclose(found.weights.sum(1), 1) and found.visible.all()
    which = run.model.attention
    kind, place = SoftmaxAttention, lambda t, s: (t, (0, s))
    if settings.get("window"):
        which = which.attention
    if settings.get("attention") == "multi-head":
        which = which.attention
        kind, place = ScaledDotProductAttention, lambda t, s: (t, (0, slice(None), 0, s))
    expected = differences(monkeypatch, run, SENTENCE, kind, which, found.weights.shape, place)
    seen = found.weights > 0                            # weights outside a window are 0
    assert np.allclose(found.gradients[seen], expected[seen], rtol=1e-5, atol=1e-8)
    assert np.abs(expected).max() > 1e-4


def test_transformer_uses_source_attention_of_the_last_layer(monkeypatch):
    run = translator("transformer", size=4, layers=2, heads=2, smoothing=0.0, dropout=0.0)
    found = weight_gradients(run, *SENTENCE)            # as many source words as target words
    which = run.model.decoder[1].source_attention.attention
    expected = differences(monkeypatch, run, SENTENCE, ScaledDotProductAttention, which,
                           found.weights.shape, lambda t, s: (None, (0, slice(None), t, s)))
    assert np.allclose(found.gradients, expected, rtol=1e-5, atol=1e-8)
    assert np.abs(expected).max() > 1e-3


@pytest.mark.parametrize("attention", ["single", "combined", "attention", "key-value",
                                       "key-value-predict"])
def test_language_models(attention, monkeypatch):
    run = language_model_run(attention)
    found = weight_gradients(run, "a b c")
    assert found.sources == ["</s>", "a", "b", "c"] and found.targets == ["a", "b", "c", "</s>"]
    assert np.array_equal(found.visible, np.tri(4, k=-1, dtype=bool))
    expected = differences(monkeypatch, run, ("a b c",), HistoryAttention,
                           run.model.reader.attention, (4, 4), lambda t, s: (None, (t, 0, s)))
    seen = found.visible
    assert np.allclose(found.gradients[seen], expected[seen], rtol=1e-5, atol=1e-8)
    assert np.abs(expected[seen]).max() > 1e-4


def test_local_p_uses_weights_after_the_gaussian():
    run = translator("luong", window="local-p", width=2)
    found = weight_gradients(run, *SENTENCE)
    assert np.allclose(found.weights, run.attend([Pair(("a", "b", "c"), ("y", "x", "z"))])[0])
    assert not np.allclose(found.weights.sum(1), 1) and np.abs(found.gradients).max() > 1e-4


def test_reversed_source_is_shown_in_its_original_order():
    reversed_run = translator("luong", TranslatorTraining(reverse_source=True))
    same = translator("luong")
    found = weight_gradients(reversed_run, "a b c", "x y")
    other = weight_gradients(same, "c b a", "x y")
    assert np.allclose(found.gradients[:, :3], other.gradients[:, 2::-1])
    assert np.allclose(found.gradients[:, 3], other.gradients[:, 3])
    assert found.sources == ["a", "b", "c", "</s>"]


def test_models_without_weights_raise():
    with pytest.raises(ValueError, match="has no attention weights"):
        weight_gradients(translator("encoder-decoder"), *SENTENCE)
    with pytest.raises(ValueError, match="hard-rnnsearch reads one word .* no gradient"):
        weight_gradients(translator("hard-rnnsearch"), *SENTENCE)
    with pytest.raises(ValueError, match="no attention weights to show"):
        weight_gradients(language_model_run("ngram"), "a b")
    with pytest.raises(TypeError, match="LuongTranslator; expected the trained run its"):
        weight_gradients(translator("luong").model, *SENTENCE)


def test_missing_gradient_name_raises(monkeypatch):
    monkeypatch.setattr(weights, "GRADIENTS", ("dnothing", "dneither"))
    with pytest.raises(ValueError, match="name this array dalpha or dweights"):
        weight_gradients(translator("luong"), *SENTENCE)
