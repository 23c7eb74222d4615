"""Ensembles of runs trained on the same text."""

import numpy as np
import pytest

from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.experiments.runs.ensemble import load_ensemble
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.models.ensemble import Ensemble

PAIRS = [Pair(("a", "b"), ("x", "y")), Pair(("b",), ("y", "x")), Pair(("b", "a", "a"), ("x",))]
OTHERS = [Pair(("dog", "cat"), ("x", "y")), Pair(("cat",), ("y",))]
TEXT = Text([[["a", "b"], ["c"]], [["b", "c", "a"]]])


def translator(folder, pairs=PAIRS, **training):
    how = TranslatorTraining(**{"epochs": 1, "batch_size": 2} | training)
    Translator.create(pairs, settings=dict(hidden=4, embedding=3), training=how).fit(
        pairs, None, folder, 1, progress=False)
    return folder


def writer(folder, name="language-model", settings=None, **training):
    how = LanguageModelTraining(**{"epochs": 1, "batch_size": 2, "steps": 3} | training)
    LanguageModelRun.create(TEXT, name, dict(hidden=4, layers=1) | (settings or {}), how).fit(
        TEXT, None, folder, 1, progress=False)
    return folder


def test_translators(tmp_path):
    folders = [translator(tmp_path / str(seed), seed=seed) for seed in range(3)]
    together = load_ensemble(Translator, folders)
    singles = [Translator.load(folder) for folder in folders]
    assert isinstance(together.model, Ensemble) and len(together.model.models) == 3
    batch = singles[0].batches(PAIRS).batch([0, 1])
    wanted = np.mean([np.exp(-one.model.losses(batch)[0]) for one in singles], axis=0)
    np.testing.assert_allclose(np.exp(-together.model.losses(batch)[0]), wanted, rtol=1e-5)
    found = together.measure(PAIRS, 2, 1, rng=np.random.default_rng(0))
    best = min(one.measure(PAIRS, 2, 1)["perplexity"] for one in singles)
    worst = max(one.measure(PAIRS, 2, 1)["perplexity"] for one in singles)
    assert best < worst and found["perplexity"] < worst
    assert together.translate([["a", "b"]], 2)[0].weights.shape[1] == 3
    assert not isinstance(load_ensemble(Translator, folders[:1]).model, Ensemble)


@pytest.mark.parametrize("name", ["language-model", "attentive-language-model"])
def test_language_models(tmp_path, rng, name):
    folders = [writer(tmp_path / str(seed), name, seed=seed) for seed in range(2)]
    together = load_ensemble(LanguageModelRun, folders)
    found = together.measure(TEXT)
    assert found["perplexity"] < max(LanguageModelRun.load(one).measure(TEXT)["perplexity"]
                                     for one in folders)
    assert len(list(together.generate(rng, length=5))) == 5
    if name == "attentive-language-model":
        rows = [LanguageModelRun.load(one).attend(["a", "b"]) for one in folders]
        np.testing.assert_allclose(together.attend(["a", "b"]), np.mean(rows, 0), rtol=1e-6)
        near = writer(tmp_path / "near", name, {"window": 1})
        with pytest.raises(ValueError, match="differ in `window` or `carried`"):
            load_ensemble(LanguageModelRun, [*folders, near]).check_attention()


def test_invalid_ensembles(tmp_path):
    first = translator(tmp_path / "first")
    backwards = translator(tmp_path / "backwards", reverse_source=True)
    with pytest.raises(ValueError, match="backwards has reverse_source = True, .*first has False"):
        load_ensemble(Translator, [first, backwards])
    with pytest.raises(ValueError, match="other and .*first differ in their source vocabulary; o"):
        load_ensemble(Translator, [first, translator(tmp_path / "other", OTHERS)])
    words = writer(tmp_path / "words")
    with pytest.raises(ValueError, match="steps has steps = 2, but .*words has 3"):
        load_ensemble(LanguageModelRun, [words, writer(tmp_path / "steps", steps=2)])
    with pytest.raises(ValueError, match="is the checkpoint of a language model"):
        load_ensemble(Translator, [first, words])
    with pytest.raises(ValueError, match="folders is empty"):
        load_ensemble(Translator, [])
    with pytest.raises(TypeError, match="folders"):
        load_ensemble(Translator, 3)
