"""Recipes: the recorded experiments by name, read from the TOML files next to this module."""

import warnings
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from numpy_attention.experiments.recipes import loading
from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.registry import SCORES
from numpy_attention.validation.messages import short_repr

TABLES: dict[str, dict[str, Any]] = {}
for _file in ("translators.toml", "language_models.toml"):
    TABLES |= loading.read_tables(Path(__file__).with_name(_file))

RECIPES: dict[str, Recipe] = loading.recipes_of(TABLES, TABLES)


def load_recipes(path: str | Path) -> dict[str, Recipe]:
    """Read user-defined recipes from a TOML file. Return {name: Recipe}.

    translators.toml explains the format. A table may be based on another table of the file, or on a
    recipe of the package such as "clauses-dot". `RECIPES.update(load_recipes(path))` makes the
    recipes available by name. Raises ValueError for a malformed file or table, and OSError if the
    file cannot be read.
    """
    tables = loading.read_tables(path)
    try:
        return loading.recipes_of(tables, TABLES | tables)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def recipe_with_attention(attention: str | type) -> Recipe:
    """Return a recipe like "clauses-dot", which trains Luong's decoder, but with this attention."""
    name, described = f"clauses-{attention}", f"{attention} attention"
    if isinstance(attention, type):
        name = f"own-{attention.__name__}"
        described = f"user-defined {attention.__name__} attention"
    table = {"base": "clauses-luong", "description": described,
             "settings": {"attention": attention}}
    return loading.recipe_of(name, TABLES | {name: table})


# a score in the registry that has no recipe in the TOML files gets one
RECIPES |= {f"clauses-{score}": recipe_with_attention(score) for score in SCORES
            if f"clauses-{score}" not in RECIPES}


def find_recipe(name: str) -> Recipe:
    """Return the recipe with this name. Raises ValueError if no recipe has this name."""
    if not isinstance(name, str) or name not in RECIPES | loading.RENAMED:
        like = get_close_matches(str(name), RECIPES, 3, 0.3) or list(RECIPES)[:3]
        raise ValueError(f"unknown recipe {short_repr(name)}; expected one of numpy_attention."
                         f"experiments.recipes.RECIPES, such as {', '.join(map(repr, like))}")
    if name in loading.RENAMED:
        warnings.warn(f"recipe {name} was renamed {loading.RENAMED[name]}", DeprecationWarning,
                      stacklevel=2)
    return RECIPES[loading.RENAMED.get(name, name)]
