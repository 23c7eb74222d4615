"""Read recipes from TOML. translators.toml explains the format."""

import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from numpy_attention.data.reading import read_lines
from numpy_attention.experiments.recipes.recipe import Figure, Recipe
from numpy_attention.registry import LANGUAGE_MODELS, TRANSLATORS
from numpy_attention.training.schema import NUMBER, PLAIN, TEXT, Every, Fields, Schema, check
from numpy_attention.training.settings import (
    LanguageModelTraining,
    Training,
    TranslatorTraining,
    whole,
)
from numpy_attention.validation.arguments import check_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Tables = Mapping[str, Mapping[str, Any]]

MERGED = {"settings", "training", "baselines"}      # dicts that are merged with those of the base
ENTRIES: dict[str, Schema] = {
    "base": TEXT,
    "description": TEXT,
    "details": TEXT,
    "model": TEXT,
    "corpus": Fields(others=PLAIN),
    "settings": Fields(others=PLAIN),
    "training": Fields(others=PLAIN),
    "metrics": Every(TEXT),
    "baselines": Fields(others=PLAIN),
    "beam": whole(1),
    "train_max_length": whole(1),
}
REQUIRED = ("model", "corpus", "metrics")
# recipes that had another name in version 1.0
RENAMED = {
    "asks-previous-additive": "query-previous-additive",
    "asks-previous-scaled-dot": "query-previous-scaled-dot",
}


def read_tables(path: str | Path) -> dict[str, dict[str, Any]]:
    """Read and check the tables of a file of recipes. Raises ValueError if a table is malformed."""
    text = "\n".join(read_lines(path))
    try:
        tables = tomllib.loads(text)
        for name, table in tables.items():
            check(table, Fields(optional=ENTRIES), name)
            unknown = table.keys() - ENTRIES
            if unknown:
                raise ValueError(f"recipe {name!r} has the unknown entry {min(unknown)!r}; "
                                 f"expected one of {', '.join(ENTRIES)}")
    except ValueError as error:         # including TOMLDecodeError
        raise ValueError(f"{path}: {error}") from None
    return tables


def recipes_of(own: Tables, tables: Tables) -> dict[str, Recipe]:
    """Return a dict with a Recipe for each table in `own` that has a description.

    tables: all tables on which a recipe may be based, including those of `own`.
    """
    return {name: recipe_of(name, tables) for name, table in own.items() if "description" in table}


def recipe_of(name: str, tables: Tables) -> Recipe:
    """Build a Recipe from its TOML table. Raises ValueError if an entry is missing or invalid."""
    entries = with_bases(name, tables)
    missing = [one for one in REQUIRED if one not in entries]
    if missing:
        raise ValueError(f"recipe {name!r} lacks {', '.join(missing)}; add what is missing, or "
                         "set `base` to another recipe")
    check_name(f"recipe {name!r}: model", entries["model"], TRANSLATORS | LANGUAGE_MODELS)
    return Recipe(
        name=name,
        description=", ".join(filter(None, [entries["description"], entries.get("details")])),
        corpus=entries["corpus"],
        model=entries["model"],
        settings=entries.get("settings", {}),
        training=training_of(name, entries),
        metrics=tuple(figure_of(name, text) for text in entries["metrics"]),
        baselines={figure_of(name, text): baseline_of(name, value)
                    for text, value in entries.get("baselines", {}).items()},
        beam=entries.get("beam", 5),
        train_max_length=entries.get("train_max_length"))


def with_bases(name: str, tables: Tables) -> dict[str, Any]:
    """Return the entries of a table, including those of the tables on which it is based.

    Raises ValueError for an unknown base, and for a table that is based on itself.
    """
    chain = [name]
    while "base" in tables[chain[-1]]:
        base = str(tables[chain[-1]]["base"])
        base = base if base in tables else RENAMED.get(base, base)
        if base not in tables or base in chain:
            problem = "is based on itself" if base in chain else f"has the unknown base {base!r}"
            raise ValueError(f"recipe {chain[-1]!r} {problem}; set `base` to another recipe of "
                             "this file or of the package")
        chain.append(base)
    entries: dict[str, Any] = {}
    for one in reversed(chain):
        for entry, value in tables[one].items():
            entries[entry] = entries.get(entry, {}) | value if entry in MERGED else value
    return entries


def training_of(name: str, entries: Mapping[str, Any]) -> Training:
    kind = LanguageModelTraining if entries["model"] in LANGUAGE_MODELS else TranslatorTraining
    training = entries.get("training", {})
    unknown = training.keys() - {one.name for one in fields(kind)}
    if unknown:
        raise ValueError(f"recipe {name!r} has the unknown training setting {min(unknown)!r}; "
                         f"expected a field of {kind.__name__}")
    return kind(**training)


def figure_of(name: str, text: str) -> Figure:
    """Split text such as "test bleu" into (split, metric). name: the recipe, for messages."""
    split, _, metric = text.partition(" ")
    if not split or not metric or " " in metric:
        raise ValueError(f"recipe {name!r} has the figure {text!r}; expected a split and a "
                         "metric, such as 'test bleu'")
    return split, metric


def baseline_of(name: str, value: Any) -> tuple[float, str]:
    if not (isinstance(value, list) and len(value) == 2 and value[0] in NUMBER
            and isinstance(value[1], str)):
        raise ValueError(f"recipe {name!r} has the baseline {value!r}; expected [value, 'source']")
    return value[0], value[1]
