"""compare: several recipes on one corpus with one budget, in one table and two figures."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.cli.shared import END, example_of
from numpy_attention.data.pairs import Pair
from numpy_attention.data.selection import selected
from numpy_attention.metrics import LengthBucket
from numpy_attention.module import Array
from numpy_attention.paths import make_folder
from numpy_attention.recipes import RECIPES
from numpy_attention.recipes.recipe import LanguageRecipe, Recipe
from numpy_attention.runs.resume import check_same
from numpy_attention.runs.saved import CHECKPOINT
from numpy_attention.runs.translator import Translation, Translator
from numpy_attention.training.lock import check_free
from numpy_attention.training.settings import Training

Found = Mapping[str, Sequence[Translation]]

BUDGET = ("epochs", "minutes")
COLUMNS = {             # of the table: figure → (title, form)
    "parameters": ("parameters", ","),
    "minutes": ("minutes", ".1f"),
    "perplexity": ("perplexity", ".2f"),
    "bleu": ("BLEU", ".2f"),
    "chrf": ("chrF", ".2f"),
    "aer": ("AER", ".3f"),
    "pointing": ("pointing", ".3f"),
}


def compare(options: Namespace) -> None:
    recipes = chosen(options)
    folder = Path(options.output)
    train, valid, pairs = (recipes[0].load(split) for split in ("train", "valid", "test"))
    example = example_of(options.index, pairs, "test", "pairs")
    runs = [Path("runs") / run_name(recipe, options) for recipe in recipes]
    models = [recipe.create(train, options.seed) for recipe in recipes]
    for trained, run in zip(models, runs):
        check_free(run / CHECKPOINT)                    # what cannot be trained is said at once
        check_same(run, trained, options.threads)
    make_folder(folder)
    print(f"{len(recipes)} recipes on {selected(recipes[0].corpus).label}: "
          f"{budget_of(recipes[0].training)} each, seed {options.seed}; "
          f"measured on {len(pairs):,} pairs (test)", flush=True)
    lines = {}
    found = {}
    weights = {}
    for recipe, trained, run in zip(recipes, models, runs):
        print(f"{recipe.name}: {recipe.description}", flush=True)
        trained.fit(train, valid, run, options.threads)
        found[recipe.name], lines[recipe.name] = measured(recipe, trained, pairs)
        weights[recipe.name] = trained.attend([example])[0]
    print(f"\n{table(lines)}\n{how_measured(recipes)}")
    draw(weights, example, found, pairs, folder)


# ---- what is compared ---------------------------------------------------------------------------


def chosen(options: Namespace) -> list[Recipe]:
    """The recipes of the names or patterns, with one budget.

    ValueError: fewer than two, or what cannot be compared.
    """
    names = list(dict.fromkeys(name for pattern in options.names for name in matching(pattern)))
    if len(names) < 2:
        raise ValueError(f"{', '.join(names)} alone: expected at least two recipes to compare")
    recipes = [RECIPES[name] for name in names]
    for recipe in recipes:
        check_comparable(recipe, recipes[0])
    recipes = [with_budget(recipe, options) for recipe in recipes]
    budgets = [budget_of(recipe.training) for recipe in recipes]
    for recipe, budget in zip(recipes, budgets):
        if budget != budgets[0]:
            raise ValueError(f"{names[0]} trains for {budgets[0]}, {recipe.name} for {budget}: "
                             "give them one budget with --epochs and --minutes")
    return recipes


def matching(pattern: str) -> list[str]:
    """The names of recipes that a pattern fits. ValueError: there is none."""
    names = [name for name in RECIPES if fnmatch(name, pattern)]
    if not names:
        raise ValueError(f"no recipe is named {pattern!r}: expected a name of `numpy-attention "
                         "reproduce --list`, or a pattern such as 'clauses-*'")
    return names


def check_comparable(recipe: Recipe, first: Recipe) -> None:
    """ValueError: a language model's recipe, or one with another text than the first."""
    if isinstance(recipe, LanguageRecipe):
        raise ValueError(f"{recipe.name} is a language model's recipe, and what is compared are "
                         "translators: leave it out")
    if recipe.corpus != first.corpus:
        raise ValueError(f"{first.name} and {recipe.name} learn from different texts: compare "
                         "recipes of one corpus")


def with_budget(recipe: Recipe, options: Namespace) -> Recipe:
    """A recipe with --epochs and --minutes, where they are given."""
    given = {name: getattr(options, name) for name in BUDGET if name in options.given}
    return replace(recipe, training=replace(recipe.training, **given))


def budget_of(training: Training) -> str:
    """A training's budget in words."""
    minutes = f", at most {training.minutes:g} minutes" if training.minutes else ""
    return f"{training.epochs} epochs{minutes}"


def run_name(recipe: Recipe, options: Namespace) -> str:
    """The folder that `reproduce` trains in, or with a budget not the recipe's one of its own."""
    own = RECIPES[recipe.name].training
    budget = [f"{getattr(recipe.training, name):g}{name[0]}" for name in BUDGET
              if getattr(recipe.training, name) != getattr(own, name)]
    return "-".join([recipe.name, *budget, f"seed{options.seed}"])


# ---- what comes out -----------------------------------------------------------------------------


def measured(recipe: Recipe, trained: Translator,
             pairs: Sequence[Pair]) -> tuple[list[Translation], dict[str, float]]:
    """→ the translations of the pairs, the figures of the table."""
    sources = [pair.source for pair in pairs]
    found = trained.translate(sources, recipe.beam, threads=trained.threads or 1)
    figures = trained.measure(pairs, recipe.beam, trained.threads, found)
    minutes = trained.history[-1]["seconds"] / 60
    return found, figures | {"parameters": trained.model.size, "minutes": minutes}


def table(lines: Mapping[str, Mapping[str, float]]) -> str:
    """A Markdown table of {name: figures}; – where a figure does not exist."""
    rows = [["recipe", *(title for title, _ in COLUMNS.values())]]
    for name, figures in lines.items():
        rows.append([name, *(format(figures[key], form) if key in figures else "–"
                             for key, (_, form) in COLUMNS.items())])
    widths = [max(map(len, column)) for column in zip(*rows)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(row_of(row, widths) for row in (rows[0], rule, *rows[1:]))


def row_of(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A row of a Markdown table: the name to the left, figures to the right."""
    name = cells[0].ljust(widths[0])
    figures = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])]
    return f"| {' | '.join([name, *figures])} |"


def how_measured(recipes: Sequence[Recipe]) -> str:
    """What stands beneath the table: sacreBLEU's signatures, the beam, and what counts."""
    beams = sorted({recipe.beam for recipe in recipes})
    return (f"BLEU: {metrics.signature(metrics.bleu)}\n"
            f"chrF: {metrics.signature(metrics.chrf)}\n"
            f"beam {', '.join(map(str, beams))}; perplexity and AER of the reference's words, "
            "pointing of its sure links")


def draw(weights: Mapping[str, Array], example: Pair, found: Found, pairs: Sequence[Pair],
         folder: Path) -> None:
    """Save heatmaps of one pair side by side, and BLEU by length."""
    grid = plotting.heatmap_grid(weights, [*example.source, END], [*example.target, END],
                                 example.sure, example.possible)
    print("saved", plotting.save(grid, folder / "heatmaps.png"))
    curves = plotting.bleu_by_length_plot(by_length(found, pairs))
    print("saved", plotting.save(curves, folder / "bleu_by_length.png"))


def by_length(found: Found, pairs: Sequence[Pair],
              buckets: int = 6) -> dict[str, list[LengthBucket]]:
    """{name: LengthBuckets} of translations, by source lengths that hold about as many each."""
    lengths = [len(pair.source) for pair in pairs]
    references = [pair.target for pair in pairs]
    quantiles = np.quantile(lengths, np.linspace(0, 1, buckets + 1)[:-1])
    edges = sorted({int(edge) for edge in quantiles}) + [max(lengths) + 1]
    return {name: metrics.bleu_by_length([one.target for one in translations], references, lengths,
                                         edges)
            for name, translations in found.items()}
