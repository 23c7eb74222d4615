"""Every recipe as it stands, one field a line: all that its figures depend on, and what is told.

    python tools/written_recipes.py         writes tests/recipes/written.txt anew

A test holds the package to that file, so whoever changes a recipe, or the default of a setting that
one of them leaves out, sees which recipes change in the diff of the file.
"""

import sys
from dataclasses import fields
from pathlib import Path

from numpy_attention.models.registry import settings_of
from numpy_attention.recipes import RECIPES

FILE = Path(__file__).resolve().parents[1] / "tests" / "recipes" / "written.txt"


def lines_of(recipe):
    """Its name, then the fields, and the settings that it leaves to their defaults."""
    left = settings_of(recipe.model)
    for name in recipe.settings:
        left.pop(name, None)
    training = {one.name: getattr(recipe.training, one.name) for one in fields(recipe.training)}
    lines = [
        recipe.name,
        f"  {recipe.description}",
        f"  corpus: {said(recipe.corpus)}",
        f"  {recipe.model}: {said(recipe.settings)}",
        f"  by default: {said(left)}",
        f"  training: {said(training)}",
        f"  beam: {recipe.beam}",
        f"  records: {', '.join(' '.join(figure) for figure in recipe.metrics)}",
    ]
    for (split, metric), (value, source) in recipe.yardsticks.items():
        lines.append(f"  beside {split} {metric}: {value} ({source})")
    return lines


def said(values):
    return ", ".join(f"{name} {values[name]!r}" for name in sorted(values))


def written():
    """The file's text, for the recipes as they are now."""
    return "".join(f"{line}\n" for recipe in RECIPES.values() for line in lines_of(recipe))


def main():
    FILE.write_text(written(), encoding="utf-8")
    print(f"{FILE.name} holds {len(RECIPES)} recipes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
