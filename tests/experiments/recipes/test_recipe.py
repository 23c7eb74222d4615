"""Running a recipe: its figures and their intervals, reproducible from the seed."""

from dataclasses import replace

import pytest
from tiny_recipe import TINY

from numpy_attention.experiments.recipes import results
from numpy_attention.experiments.recipes.recipe import run
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.translator import Translator


def test_figures(tmp_path):
    lines = run(TINY, 3, 1, tmp_path / "run", progress=False)
    assert [(line["split"], line["metric"]) for line in lines] == list(TINY.metrics)
    translator = Translator.load(tmp_path / "run")
    assert translator.training.seed == 3 and translator.corpus == TINY.corpus
    for line in lines:
        assert results.check(line) and line["seed"] == 3 and line["threads"] == 1
        assert line["parameters"] == translator.model.size
    assert lines[0]["value"] == pytest.approx(translator.history[-1]["valid_perplexity"], abs=1e-4)
    assert {line["settings"] for line in lines} == {TINY.digest()}
    for split in ("valid", "test"):             # each split has a generator with the run's seed
        found = translator.measure(TINY.load(split), 2, 1, rng=confidence.draws(3))
        for line in lines:
            if line["split"] == split:
                ends = [found[line["metric"] + end] for end in ("", "_low", "_high")]
                assert [line["value"], line["low"], line["high"]] == pytest.approx(ends, abs=6e-5)
    assert run(TINY, 4, 1, progress=False)[0]["value"] != lines[0]["value"]


def test_unavailable_metric(tmp_path):
    with pytest.raises(ValueError, match="no metric 'comet'; choose from .*, exact, pointing,"):
        comet = replace(TINY, metrics=(("test", "comet"),), baselines={})
        run(comet, 0, 1, progress=False)
    with pytest.raises(ValueError, match="has a baseline for 'valid perplexity', which is not"):
        replace(TINY, metrics=(("test", "bleu"),))


def test_training_sentences_can_be_shorter_than_those_measured():
    whole = replace(TINY, corpus=TINY.corpus | {"max_length": 5})
    short = replace(whole, train_max_length=4)
    assert {len(pair.source) for pair in whole.load("train")} == {3, 4, 5}
    assert {len(pair.source) for pair in short.load("train")} == {3, 4}
    assert short.load("test") == whole.load("test")
