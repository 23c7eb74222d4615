"""Subjects of a trace: runs, models of the package, any object with forward and backward."""

import re

import numpy as np
import pytest
from added.squashed import SquashedAttention

from numpy_attention.course.trace import traced
from numpy_attention.data.batching import TextBatch, pair_batch
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.data.vocabulary import EOS
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.layers.linear import Linear
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer
from numpy_attention.training.settings import TranslatorTraining

PAIRS = [Pair(("a", "b", "c"), ("x", "y")), Pair(("b",), ("y", "z", "x"))]
TEXT = Text([[["a", "b", "c"], ["b", "a"]]])
SMALL = {"embedding": 3, "hidden": 4}


def rng():
    return np.random.default_rng(0)


def loss_in(trace):
    return float(trace.title.rpartition("L = ")[2])


def test_translator_with_a_translation():
    translator = Translator.create(PAIRS, "rnnsearch", SMALL)
    found = traced(translator, "a b c", "x y")
    expected, _ = translator.model.loss(translator.batches(PAIRS[:1]).batch([0]))
    assert found.title.startswith("RNNSearch, a b c → x y: L = ")
    assert np.isclose(loss_in(found), expected, rtol=1e-5)
    assert traced(translator, ["a", "b", "c"], ["x", "y"]).title == found.title


def test_translator_without_a_translation_uses_its_own():
    translator = Translator.create(PAIRS, "luong", SMALL | {"layers": 1})
    translator.model.output.b[EOS] = -9.0
    own = translator.translate([["a", "b"]], beam=1)[0].target
    assert own and f"a b → {' '.join(own)}:" in traced(translator, "a b").title
    translator.model.output.b[EOS] = 99.0
    with pytest.raises(ValueError, match="is empty; pass a translation after the"):
        traced(translator, "a b")


def test_reversed_source():
    translator = Translator.create(PAIRS, "luong", SMALL | {"layers": 1},
                                   TranslatorTraining(reverse_source=True))
    expected, _ = translator.model.loss(translator.batches(PAIRS[:1]).batch([0]))
    assert np.isclose(loss_in(traced(translator, "a b c", "x y")), expected, rtol=1e-5)


def test_user_defined_attention_is_traced():
    model = RNNSearch.create(rng(), 9, 9, 3, 4, attention=SquashedAttention)
    rows = [row for row in traced(model, [4, 5], [5, 6, 7]).rows if row.layer == "attention"]
    assert {"squashed", "dsquashed", "dalpha", "weights"} <= {row.name for row in rows}
    assert "squashed.py" in {row.file for row in rows}


def test_language_model_run():
    run = LanguageModelRun.create(TEXT, "attentive-language-model", {"hidden": 4, "layers": 1})
    found = traced(run, "a b")
    assert found.title.startswith("AttentiveLanguageModel, a b: L = ")
    ids = run.vocabulary.encode(["a", "b"])
    read = np.array([EOS, *ids, EOS])[:, None]
    expected, _ = run.model.loss(TextBatch(read[:-1], read[1:], np.arange(1)))
    assert np.isclose(loss_in(found), expected, rtol=1e-5)
    assert loss_in(traced(run.model, ids)) == loss_in(found)


def test_language_model_run_of_characters():
    text = Text([[list("a b c")]], unit="characters")
    run = LanguageModelRun.create(text, "language-model", {"hidden": 4, "layers": 1})
    assert traced(run, "a c").title.startswith("LanguageModel, a c: ")


@pytest.mark.parametrize("model", [
    Transformer.create(rng(), 9, 9, size=4, layers=1, heads=2, smoothing=0.0),
    RNNSearch.create(rng(), 9, 9, 3, 4, layers=2, init="modern")], ids=["transformer", "rnnsearch"])
def test_model_with_ids_or_a_batch(model):
    batch = pair_batch([[4, 5, 6]], [[7, 8]])
    expected, _ = model.loss(batch)
    assert np.isclose(loss_in(traced(model, [4, 5, 6], [7, 8])), expected, rtol=1e-5)
    assert traced(model, batch).title.startswith(f"{type(model).__name__}, one batch: L = ")


def test_language_model_with_a_batch():
    model = LanguageModel.create(rng(), 9, hidden=4, layers=1)
    batch = TextBatch(np.full((3, 2), 4), np.full((3, 2), 5), np.arange(2))
    expected, _ = model.loss(batch)
    assert np.isclose(loss_in(traced(model, batch)), expected, rtol=1e-5)


def test_model_and_inputs_are_unchanged():
    model = Linear.create(rng(), 3, 2)
    x = np.ones((2, 3), np.float32)
    before = model.W.copy()
    traced(model, x)
    assert np.array_equal(model.W, before) and np.array_equal(x, np.ones((2, 3)))


# ---- invalid arguments --------------------------------------------------------------------------


@pytest.mark.parametrize("model, inputs, message", [
    (Translator.create(PAIRS, "rnnsearch", SMALL), (), "0 inputs; expected a source sentence"),
    (Translator.create(PAIRS, "rnnsearch", SMALL), ("a", " "), "the translation is empty"),
    (LanguageModelRun.create(TEXT), ("a", "b"), "2 inputs; expected one sentence"),
    (RNNSearch.create(rng(), 9, 9, 3, 4), ([4],), "1 input; expected the ids of a source sent"),
    (AttentiveLanguageModel.create(rng(), 9, hidden=4), ([],), "the sentence is empty"),
    (None, (np.ones(2),), "model is None; expected a translator, a language model or an object"),
])
def test_invalid_subjects_raise(model, inputs, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        traced(model, *inputs)


def test_invalid_functions_raise():
    with pytest.raises(TypeError, match="forward"):
        traced(None, np.ones(2), forward=7, backward=len)
    with pytest.raises(TypeError, match="expected at least one output"):
        traced(None, np.ones(2), forward=np.sum, backward=len)
    with pytest.raises(TypeError, match="pass two functions: forward=… and"):
        traced(None, np.ones(2), forward=np.sum)
