"""The vocabulary sizes that tests/experiments/recipes/test_recorded.py uses."""

from numpy_attention.data import running_text
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.experiments.recipes import RECIPES
from numpy_attention.experiments.runs.translator import vocabularies_of


def test_clauses():
    recipe = RECIPES["clauses-dot"]
    pairs = recipe.load("train")
    assert max(len(pair.source) for pair in pairs) + 1 == 13        # columns of `location`
    assert tuple(map(len, vocabularies_of(pairs, recipe.training))) == (5_767, 8_497)


def test_clauses_and_verses():
    recipe = RECIPES["length-additive"]
    pairs = recipe.load("train")
    assert tuple(map(len, vocabularies_of(pairs, recipe.training))) == (6_438, 9_822)
    lengths = [len(pair.source) for pair in pairs + recipe.load("test")]
    assert 1 <= min(lengths) and max(lengths) < 52                  # the edges of its buckets


def test_bible_en():
    how = RECIPES["bible-lstm"].training
    text = running_text.load("bible-en", "train")
    assert len(Vocabulary.build(text.sentences, how.max_vocabulary, how.min_count)) == 12_354
