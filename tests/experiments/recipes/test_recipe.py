"""Recipes: run, recorded beside their baselines, resumed."""

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from numpy_attention.cli import catalogue
from numpy_attention.cli.main import main
from numpy_attention.data.datasets.corpora import find_corpus
from numpy_attention.models.registry import build
from numpy_attention.experiments.recipes import RECIPES, find_recipe, results
from numpy_attention.experiments.recipes.recipe import LanguageRecipe, Recipe, run
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.lock import held
from numpy_attention.training.trainer import Trainer

TINY = Recipe(
    name="tiny",
    description="copies three symbols",
    corpus={"name": "copy", "count": 60, "max_length": 3},
    model="rnnsearch",
    settings={"hidden": 8, "embedding": 4, "init": "modern"},
    training=TranslatorTraining(epochs=1, batch_size=16, learning_rate=0.01),
    metrics=(
        ("valid", "perplexity"),
        ("test", "perplexity"),
        ("test", "bleu"),
        ("test", "pointing"),
    ),
    baselines={("valid", "perplexity"): (2.5, "a textbook")},
    beam=2)


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(RECIPES, "tiny", TINY)
    return tmp_path


def test_figures(tmp_path):
    lines = run(TINY, 3, 1, tmp_path / "run", progress=False)
    assert [(line["split"], line["metric"]) for line in lines] == list(TINY.metrics)
    translator = Translator.load(tmp_path / "run")
    assert translator.training.seed == 3 and translator.corpus == TINY.corpus
    for line in lines:
        assert results.check(line) and line["seed"] == 3 and line["threads"] == 1
        assert line["parameters"] == translator.model.size
    assert lines[0]["value"] == pytest.approx(translator.history[-1]["valid_perplexity"], abs=1e-4)
    assert lines[0]["value"] != lines[1]["value"]
    assert all(line["low"] <= line["high"] for line in lines)
    assert lines[0]["low"] < lines[0]["value"] < lines[0]["high"]
    assert run(TINY, 4, 1, progress=False)[0]["value"] != lines[0]["value"]


class Trained:
    """Stands for a Translator: notes how it is measured."""

    def __init__(self, seed=0):
        self.seed = seed
        self.measured = []
        self.history = [{"seconds": 754.0}]
        self.model = SimpleNamespace(size=12)
        self.threads = 3

    @classmethod
    def create(cls, train, model, settings, training, corpus):
        return cls(training.seed)

    def fit(self, *how):
        pass

    def measure(self, *how, **more):
        self.measured.append((how, more))
        if more["rng"] == "rng":
            return {}
        drawn = more["rng"].random()
        return {"bleu": 12.345678, "bleu_low": 12.0 + drawn, "bleu_high": 13.5, "perplexity": 2.0}


@dataclass(frozen=True)
class Stand(Recipe):
    TRAINS = Trained

    def load(self, split):
        loaded.append(split)
        return split


loaded = []
STAND = Stand(name="stand", description="", corpus={}, model="", settings={},
              training=TranslatorTraining(), metrics=(("valid", "bleu"), ("test", "bleu")), beam=7)


def test_what_a_run_records():
    loaded.clear()
    ranks = SimpleNamespace(count=2)
    drawn = np.random.default_rng([0, 2]).random()      # a generator of the seed's, for each split
    assert run(STAND, ranks=ranks) == [
        {"recipe": "stand", "settings": STAND.digest(), "seed": 0, "metric": "bleu",
         "split": split, "value": 12.3457, "low": round(12 + drawn, 4), "high": 13.5,
         "parameters": 12, "minutes": 12.57, "threads": 6}
        for split in ("valid", "test")]
    assert loaded == ["train", "valid", "test"]         # each once


def test_how_a_recipe_measures():
    trained = STAND.create(None)
    assert trained.seed == 0
    STAND.measure(trained, "pairs", {"bleu", "perplexity"}, "ranks", "rng")
    assert trained.measured == [(("pairs", 7, 3), {"ranks": "ranks", "rng": "rng"})]


def test_where_perplexity_alone_is_asked_nothing_is_translated(monkeypatch):
    trained = TINY.create(TINY.load("train"))
    trained.threads = 1
    monkeypatch.setattr(Translator, "measure", lambda *how, **more: pytest.fail("translated"))
    found = TINY.measure(trained, TINY.load("test"), {"perplexity"})
    assert found.keys() == {"perplexity"} and 1 < found["perplexity"] < 100
    again = TINY.measure(trained, TINY.load("test"), {"perplexity"}, rng=np.random.default_rng(0))
    assert again["perplexity"] == pytest.approx(found["perplexity"], rel=1e-6)
    assert again["perplexity_low"] < again["perplexity"] < again["perplexity_high"]


def test_reproduce(tiny, capsys):
    assert main(["reproduce", "tiny", "--seed", "1", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    assert "baseline 2.5 (a textbook)" in out and "4 figures appended to results/tiny.jsonl" in out
    lines = results.read_file(tiny / "results/tiny.jsonl")
    assert len(lines) == 4 and {line["seed"] for line in lines} == {1}
    assert [path.name for path in (tiny / "runs").iterdir()] == ["tiny-seed1"]
    # resumed: nothing new
    assert main(["reproduce", "tiny", "--seed", "1", "--threads", "1"]) == 0
    assert "already contains these figures" in capsys.readouterr().out
    assert main(["reproduce", "tiny", "--threads", "1", "--results", "elsewhere"]) == 0
    assert {line["seed"] for line in results.read(tiny / "elsewhere")} == {0}
    assert results.read_file(tiny / "results/tiny.jsonl") == lines


def test_a_changed_recipe_is_refused_before_the_training(tiny, capsys, monkeypatch):
    assert main(["reproduce", "tiny", "--threads", "1"]) == 0
    monkeypatch.setitem(RECIPES, "tiny", replace(TINY, beam=3))
    monkeypatch.setattr(catalogue, "run", lambda *arguments: pytest.fail("trained"))
    assert main(["reproduce", "tiny", "--seed", "1", "--threads", "1"]) == 2
    assert "tiny.jsonl: figures of 'tiny' with other settings" in capsys.readouterr().err


def test_a_recipe_that_another_training_is_at_work_on_is_refused(tiny, capsys):
    with held("runs/tiny-seed0/checkpoint.npz"):
        assert main(["reproduce", "tiny", "--threads", "1"]) == 2
    error = capsys.readouterr().err
    assert "error: another training is at work on runs/tiny-seed0/checkpoint.npz" in error
    assert not (tiny / "results").exists()


def test_an_interrupted_recipe_records_nothing(tiny, capsys, monkeypatch):
    def stop(self, *arguments):
        self.save()
        raise KeyboardInterrupt("stopped")
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_end_epoch", stop)
        assert main(["reproduce", "tiny", "--threads", "1"]) == 130
    assert not (tiny / "results").exists()
    assert main(["reproduce", "tiny", "--threads", "1"]) == 0
    assert "resumed after 4 steps" in capsys.readouterr().out


def test_damaged_results_are_told_before_the_training(tiny, capsys, monkeypatch):
    (tiny / "results").mkdir()
    (tiny / "results/tiny.jsonl").write_text(json.dumps({"recipe": "tiny"}) + "\n")
    monkeypatch.setattr(catalogue, "run", lambda *arguments: pytest.fail("trained"))
    assert main(["reproduce", "tiny"]) == 2
    assert "tiny.jsonl, line 1" in capsys.readouterr().err


def test_a_changed_recipe_does_not_resume_the_old_run(tiny, monkeypatch, capsys):
    run(TINY, 0, 1, tiny / "runs/tiny-seed0", progress=False)
    changed = replace(TINY, settings=TINY.settings | {"hidden": 9})
    monkeypatch.setitem(RECIPES, "tiny", changed)
    assert main(["reproduce", "tiny"]) == 2
    assert "hidden 8 there, 9 now" in capsys.readouterr().err


def test_a_metric_that_cannot_be_had(tmp_path):
    with pytest.raises(ValueError, match="test has no comet"):
        comet = replace(TINY, metrics=(("test", "comet"),), baselines={})
        run(comet, 0, 1, progress=False)
    with pytest.raises(ValueError, match="baselines for valid perplexity"):
        replace(TINY, metrics=(("test", "bleu"),))


def test_list(capsys):
    assert main(["reproduce", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out and recipe.description in out for name, recipe in RECIPES.items())


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_can_be_built(name):
    recipe = find_recipe(name)
    language = isinstance(recipe, LanguageRecipe)
    assert recipe.name == name
    assert find_corpus(recipe.corpus["name"], "text" if language else "parallel")
    test = "test_2016_flickr" if "multi30k" in name else "test"
    assert {"valid", test} >= {split for split, _ in recipe.metrics}
    words = [range(9)] if language else [range(9), range(9)]
    build(recipe.model, np.random.default_rng(0), *words, **recipe.settings)


@pytest.mark.parametrize("name, message", [
    ("daniluk-lstn", "unknown recipe 'daniluk-lstn': expected one of the {n} in "
                     "numpy_attention.experiments.recipes.RECIPES, such as daniluk-lstm, "),
    ("~~~~", "such as {first}, {second}, {third}$"),
    (["dates"], r"unknown recipe \['dates'\]: "),
])
def test_a_name_of_no_recipe(name, message):
    first, second, third, *_ = RECIPES
    with pytest.raises(ValueError, match=message.format(
            n=len(RECIPES), first=first, second=second, third=third)) as told:
        find_recipe(name)
    assert len(str(told.value).partition("such as ")[2].split(", ")) == 3


def test_a_name_need_not_be_much_alike_to_be_offered():
    with pytest.raises(ValueError, match="such as bible-key-value, daniluk-key-value$"):
        find_recipe("key")
