"""What `numpy-attention compare` does: several recipes on one corpus with one budget, one table, and figures."""

from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.data.selection import selected
from numpy_attention.recipes import RECIPES
from numpy_attention.recipes.recipe import LanguageRecipe, untrained

EOS = ["</s>"]
COLUMNS = {"parameters": ",", "minutes": ".1f", "perplexity": ".2f", "bleu": ".2f", "chrf": ".2f", "aer": ".3f",
           "pointing": ".3f"}


def compare(options):
    recipes, folder = chosen(options), Path(options.output)
    train, valid, pairs = map(recipes[0].load, ("train", "valid", "test"))
    if options.index >= len(pairs):
        raise ValueError(f"--index {options.index}: test has {len(pairs):,} pairs, numbered from 0")
    folders = [Path("runs") / run_name(recipe, options) for recipe in recipes]
    models = [untrained(recipe, train, options.seed, options.threads, run)      # what cannot be resumed is said at once
              for recipe, run in zip(recipes, folders)]
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{len(recipes)} recipes on {selected(recipes[0].corpus).label}: "
          f"{budget_of(recipes[0].training)} each, seed {options.seed}; "
          f"measured on {len(pairs):,} pairs (test)", flush=True)
    lines, found, weights = {}, {}, {}
    for recipe, trained, run in zip(recipes, models, folders):
        print(f"{recipe.name}: {recipe.description}", flush=True)
        trained.fit(train, valid, run, options.threads)
        found[recipe.name] = trained.translate([pair.source for pair in pairs], recipe.beam, threads=trained.threads)
        figures = trained.measure(pairs, recipe.beam, trained.threads, found[recipe.name])
        lines[recipe.name] = figures | {"parameters": trained.model.size, "minutes": trained.history[-1]["seconds"] / 60}
        weights[recipe.name] = trained.attend([pairs[options.index]])[0]
    print("\n" + table(lines))
    probe = [["a"]], [["a"]]
    print(f"BLEU: {metrics.bleu(*probe).signature}\nchrF: {metrics.chrf(*probe).signature}\n"
          f"beam {', '.join(str(beam) for beam in sorted({recipe.beam for recipe in recipes}))}; perplexity and AER of the "
          "reference's words, pointing of its sure links")
    example = pairs[options.index]
    grid = plotting.heatmap_grid(weights, [*example.source, *EOS], [*example.target, *EOS], example.sure, example.possible)
    print("saved", plotting.save(grid, folder / "heatmaps.png"))
    print("saved", plotting.save(plotting.bleu_by_length_plot(by_length(found, pairs)), folder / "bleu_by_length.png"))


def chosen(options):
    """The recipes of the names or patterns, with one budget. ValueError: fewer than two, or what cannot be compared."""
    names = list(dict.fromkeys(name for pattern in options.names for name in matching(pattern)))
    recipes = [RECIPES[name] for name in names]
    if len(recipes) < 2:
        raise ValueError(f"{', '.join(names)} alone: expected at least two recipes to compare")
    for recipe in recipes:
        if isinstance(recipe, LanguageRecipe):
            raise ValueError(f"{recipe.name} is a language model's recipe, and what is compared are translators: leave it out")
        if recipe.corpus != recipes[0].corpus:
            raise ValueError(f"{recipes[0].name} and {recipe.name} learn from different texts: compare recipes of one corpus")
    changes = {name: getattr(options, name) for name in ("epochs", "minutes") if getattr(options, name)}
    recipes = [replace(recipe, training=replace(recipe.training, **changes)) for recipe in recipes]
    for recipe in recipes:
        one, other = recipes[0].training, recipe.training
        if (one.epochs, one.minutes) != (other.epochs, other.minutes):
            raise ValueError(f"{recipes[0].name} trains for {budget_of(one)}, {recipe.name} for {budget_of(other)}: give them "
                             "one budget with --epochs and --minutes")
    return recipes


def budget_of(training):
    """A training's budget in words."""
    return f"{training.epochs} epochs" + (f", at most {training.minutes:g} minutes" if training.minutes else "")


def matching(pattern):
    names = [name for name in RECIPES if fnmatch(name, pattern)]
    if not names:
        raise ValueError(f"no recipe is named {pattern!r}: expected a name, or a pattern such as 'clauses-*', of "
                         f"{', '.join(RECIPES)}")
    return names


def run_name(recipe, options):
    """The folder that `reproduce` trains in, or with another budget than the recipe's own one of its own."""
    own = RECIPES[recipe.name].training
    budget = [f"{getattr(recipe.training, name):g}{name[0]}" for name in ("epochs", "minutes")
              if getattr(recipe.training, name) != getattr(own, name)]
    return "-".join([recipe.name, *budget, f"seed{options.seed}"])


def table(lines):
    """A Markdown table of {name: figures}; – where a figure does not exist."""
    head = ["recipe", *("BLEU" if name == "bleu" else "chrF" if name == "chrf" else "AER" if name == "aer" else name
                        for name in COLUMNS)]
    rows = [[name, *(format(figures[key], form) if key in figures else "–" for key, form in COLUMNS.items())]
            for name, figures in lines.items()]
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join("| " + " | ".join(text.ljust(width) if k == 0 else text.rjust(width)
                                       for k, (text, width) in enumerate(zip(row, widths))) + " |"
                     for row in (head, rule, *rows))


def by_length(found, pairs, buckets=6):
    """{name: LengthBuckets} of translations, by source lengths that hold about as many sentences each."""
    lengths = [len(pair.source) for pair in pairs]
    edges = sorted({int(edge) for edge in np.quantile(lengths, np.linspace(0, 1, buckets + 1)[:-1])}) + [max(lengths) + 1]
    return {name: metrics.bleu_by_length([one.target for one in translations], [pair.target for pair in pairs], lengths, edges)
            for name, translations in found.items()}
