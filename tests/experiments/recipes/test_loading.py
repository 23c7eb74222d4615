"""Recipes in TOML: tables, inheritance, errors, and the recipes of the package."""

import subprocess
import sys

import numpy as np
import pytest

from numpy_attention.data.datasets.corpora import find_corpus
from numpy_attention.experiments.recipes import RECIPES, find_recipe, load_recipes, loading
from numpy_attention.models.registry import build
from numpy_attention.registry import SCORES
from numpy_attention.training.settings import LanguageModelTraining, TranslatorTraining


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_can_be_built(name):
    recipe = find_recipe(name)
    assert recipe.name == name
    kind = "text" if recipe.is_language_model else "parallel"
    assert find_corpus(recipe.corpus["name"], kind)
    test = "test_2016_flickr" if "multi30k" in name else "test"
    assert {"valid", test} >= {split for split, _ in recipe.metrics}
    words = [range(9)] if recipe.is_language_model else [range(9), range(9)]
    build(recipe.model, np.random.default_rng(0), *words, **recipe.settings)


def test_recipes_not_yet_run_have_the_settings_of_their_papers():
    """Zaremba et al. 2014, section 4.1 and table 1; Salton et al. 2017, sections 4 and 5."""
    zaremba = RECIPES["zaremba-medium"]
    assert zaremba.settings == {"hidden": 650, "layers": 2, "init": 0.05, "dropout": 0.5}
    assert zaremba.training == LanguageModelTraining(
        epochs=39, batch_size=20, steps=35, optimizer="sgd", learning_rate=1.0, schedule="decay",
        full_epochs=6, divisor=1.2, clip=5.0, keep="last")
    for score in ("single", "combined"):
        salton = RECIPES[f"salton-{score}"]
        assert salton.settings == {"attention": score, "hidden": 650, "layers": 2, "init": 0.05,
                                   "dropout": 0.5}
        assert salton.training == LanguageModelTraining(
            epochs=39, batch_size=32, state="sentence", cut=35, optimizer="sgd", learning_rate=1.0,
            schedule="decay", full_epochs=12, divisor=2.0, clip=5.0)


def test_baseline_perplexity_follows_from_the_published_one():
    """The published value counts one word per sentence without predicting it."""
    counts = {"valid": (73_760, 3_370), "test": (82_430, 3_761)}
    for score in ("single", "combined"):
        for (split, _), (value, source) in RECIPES[f"salton-{score}"].baselines.items():
            tokens, first = counts[split]
            assert f"not verified; {value ** (tokens / (tokens - first)):.1f} where" in source


def test_entries_are_merged_with_the_base(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("""
        [small]
        base = "clauses-dot"
        details = "small"
        corpus = { name = "copy" }
        settings = { hidden = 8 }
        metrics = ["test bleu"]

        [mine]
        base = "small"
        description = "mine"
        training = { epochs = 2 }
        baselines = { "test bleu" = [30, "a paper"] }
        beam = 3
        train_max_length = 7
    """)
    mine, = load_recipes(path).values()
    dot = RECIPES["clauses-dot"]
    assert (mine.name, mine.description, mine.model) == ("mine", "mine, small", "luong")
    assert mine.corpus == {"name": "copy"}
    assert mine.settings == dot.settings | {"hidden": 8}
    assert mine.training == TranslatorTraining(**vars(dot.training) | {"epochs": 2})
    assert mine.metrics == (("test", "bleu"),) and mine.beam == 3
    assert mine.train_max_length == 7
    assert mine.baselines == {("test", "bleu"): (30, "a paper")}


@pytest.mark.parametrize("text, message", [
    ("[mine", "Expected"),
    ("mine = 3", "'mine' is 3; expected a dict"),
    ("mine.metrics = [3]", r"'mine.metrics\[0\]' is 3"),
    ("mine.seting = {}", "recipe 'mine' has the unknown entry 'seting'; expected one of base, "),
    ("mine.description = ''", "recipe 'mine' lacks model, corpus, metrics; add"),
    ("mine = { description = '', base = 'other' }", "has the unknown base 'other'"),
    ("mine = { description = '', base = 'mine' }", "recipe 'mine' is based on itself"),
    ("mine = { description = '', base = 'dates', model = 'rnn' }", "recipe 'mine': model = 'rnn'"),
    ("mine = { description = '', base = 'dates', training = { steps = 2 } }",
     "'mine' has the unknown training setting 'steps'"),
    ("mine = { description = '', base = 'dates', training = { epochs = 0 } }", "epochs = 0"),
    ("mine = { description = '', base = 'dates', metrics = ['bleu'] }", "the figure 'bleu'"),
    ("mine = { description = '', base = 'dates', baselines = { 'test near' = 1 } }", "baseline 1"),
    ("mine = { description = '', base = 'dates', metrics = ['test near'] }", "a baseline for"),
    ("mine = { description = '', base = 'salton-lstm', train_max_length = 9 }", "only for transl"),
])
def test_malformed_file(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"mine.toml: .*{message}"):
        load_recipes(path)


@pytest.mark.parametrize("name, message", [
    ("daniluk-lstn", "unknown recipe 'daniluk-lstn'; expected one of .*, such as 'daniluk-lstm', "),
    ("~~~~", "such as 'rnnsearch-bible', 'multi30k-de-en', 'multi30k-de-en-smoothed'$"),
    (["dates"], r"unknown recipe \['dates'\]; "),
])
def test_unknown_name(name, message):
    with pytest.raises(ValueError, match=message):
        find_recipe(name)


@pytest.mark.parametrize("old", loading.RENAMED)
def test_old_name_is_accepted(tmp_path, old):
    with pytest.warns(DeprecationWarning, match=f"{old} was renamed {loading.RENAMED[old]}"):
        recipe = find_recipe(old)
    path = tmp_path / "mine.toml"
    path.write_text(f'[mine]\nbase = "{old}"\ndescription = "mine"\n')
    assert load_recipes(path)["mine"].digest() == recipe.digest()


def test_every_score_has_a_recipe():
    assert {f"clauses-{name}" for name in SCORES} < RECIPES.keys()


def test_new_score_has_a_recipe_and_loading_recipes_compiles_nothing():
    code = """
import sys
from numpy_attention import registry
registry.SCORES["cosine"] = "attention.cosine:CosineAttention"
from numpy_attention.experiments.recipes import find_recipe
assert "numba" not in sys.modules
new, dot = find_recipe("clauses-cosine"), find_recipe("clauses-dot")
assert new.settings == dot.settings | {"attention": "cosine"}, new.settings
assert (new.corpus, new.training, new.metrics) == (dot.corpus, dot.training, dot.metrics)
assert new.description.startswith("cosine attention, 3 million parameters")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
