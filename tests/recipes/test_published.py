"""Recipes too large to have been run here say what their papers say."""

from numpy_attention.recipes import RECIPES

VALID, TEST = ("valid", "perplexity"), ("test", "perplexity")


def test_zaremba_medium():
    """Zaremba et al. 2014, section 4.1 and table 1."""
    recipe = RECIPES["zaremba-medium"]
    assert recipe.corpus == {"name": "ptb"} and recipe.model == "language-model"
    assert recipe.settings == {"hidden": 650, "layers": 2, "init": 0.05, "dropout": 0.5}
    how = recipe.training
    assert (how.optimizer, how.schedule, how.keep) == ("sgd", "decay", "last")
    assert (how.epochs, how.full_epochs, how.divisor) == (39, 6, 1.2)
    assert (how.batch_size, how.steps, how.learning_rate, how.clip) == (20, 35, 1.0, 5.0)
    assert {figure: value for figure, (value, _) in recipe.yardsticks.items()} == {
        VALID: 86.2, TEST: 82.7}


def test_salton():
    """Salton et al. 2017, sections 4 and 5."""
    for score, valid, test in (("single", 71.7, 70.1), ("combined", 72.6, 70.7)):
        recipe = RECIPES[f"salton-{score}"]
        assert recipe.corpus == {"name": "ptb"} and recipe.model == "attentive-language-model"
        assert recipe.settings == {"attention": score, "hidden": 650, "layers": 2, "init": 0.05,
                                   "dropout": 0.5}
        how = recipe.training
        assert (how.optimizer, how.schedule, how.keep) == ("sgd", "decay", "best")
        assert (how.epochs, how.full_epochs, how.divisor) == (39, 12, 2.0)
        assert (how.batch_size, how.steps, how.learning_rate, how.clip) == (32, 35, 1.0, 5.0)
        assert {figure: value for figure, (value, _) in recipe.yardsticks.items()} == {
            VALID: valid, TEST: test}
