"""Recipes: experiments by name, each a small file that says what is trained, and to what end."""

from numpy_attention.recipes import (bible_text, daniluk, dates, equal, grammar, mechanisms,
                                     multi30k, reverse, rnnsearch_bible, salton, zaremba)
from numpy_attention.recipes.recipe import Recipe

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (
    rnnsearch_bible.RECIPE,
    multi30k.RECIPE,
    reverse.RECIPE,
    dates.RECIPE,
    *grammar.RECIPES,
    *mechanisms.RECIPES,
    *zaremba.RECIPES,
    *salton.RECIPES,
    *daniluk.RECIPES,
    *equal.RECIPES,
    *bible_text.RECIPES,
)}


def find_recipe(name: str) -> Recipe:
    """The Recipe of this name. ValueError: an unknown one."""
    if name not in RECIPES:
        raise ValueError(f"unknown recipe {name!r}: expected one of {', '.join(RECIPES)}")
    return RECIPES[name]
