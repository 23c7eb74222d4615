"""Recipes: experiments by name, each a small file that says what is trained, and to what end."""

from difflib import get_close_matches

from numpy_attention.validation.messages import short_repr
from numpy_attention.experiments.recipes import (appendix, asks_previous, bible_text, by_length, daniluk,
                                     dates, directions, equal, grammar, layer_above, mechanisms,
                                     multi30k, reverse, rnnsearch_bible, salton, wikitext, zaremba)
from numpy_attention.experiments.recipes.recipe import Recipe

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (
    rnnsearch_bible.RECIPE,
    multi30k.RECIPE,
    reverse.RECIPE,
    dates.RECIPE,
    *grammar.RECIPES,
    *mechanisms.RECIPES,
    *directions.RECIPES,
    *asks_previous.RECIPES,
    *appendix.RECIPES,
    *by_length.RECIPES,
    *zaremba.RECIPES,
    *salton.RECIPES,
    *daniluk.RECIPES,
    *equal.RECIPES,
    *bible_text.RECIPES,
    *layer_above.RECIPES,
    *wikitext.RECIPES,
)}


def find_recipe(name: str) -> Recipe:
    """The Recipe of this name. ValueError: an unknown one."""
    if not isinstance(name, str) or name not in RECIPES:
        like = get_close_matches(str(name), RECIPES, 3, 0.3) or list(RECIPES)[:3]
        raise ValueError(f"unknown recipe {short_repr(name)}: expected one of the {len(RECIPES)} in "
                         f"numpy_attention.experiments.recipes.RECIPES, such as {', '.join(like)}")
    return RECIPES[name]
