"""compare: several recipes on one corpus with one budget, in one table and two figures.

On several ranks, as mpirun starts them, each trains another recipe, or another seed of it.
"""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.cli.shared import END, example_of
from numpy_attention.data.pairs import Pair
from numpy_attention.data.selection import selected
from numpy_attention.metrics import LengthBucket
from numpy_attention.validation.messages import EXPECTED, plural, format_error
from numpy_attention.module import Array
from numpy_attention.registry import is_custom_code
from numpy_attention.custom.kinds import ATTENTION, custom_class
from numpy_attention.validation.paths import make_folder
from numpy_attention.experiments.recipes import RECIPES, find_recipe, recipe_with_attention
from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs.provenance import check_rank_consistency
from numpy_attention.experiments.runs.resume import check_same
from numpy_attention.experiments.runs.saved import CHECKPOINT
from numpy_attention.training.distributed.jobs import handed_out
from numpy_attention.training.lock import check_free
from numpy_attention.training.distributed.ranks import world
from numpy_attention.training.settings import Training

Sentences = Sequence[Sequence[str]]

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
COSTS = ("parameters", "minutes")       # of those, what is no measure


class Texts(NamedTuple):
    """Pairs to train on, to validate on, to measure on, and the one of these that is drawn."""

    train: Sequence[Pair]
    valid: Sequence[Pair]
    test: Sequence[Pair]
    example: Pair


class Job(NamedTuple):
    """One training, in its folder; name: for the reader; drawn: whether the pictures show it."""

    recipe: Recipe
    seed: int
    name: str
    folder: Path
    drawn: bool


class Drawn(NamedTuple):
    """What the pictures show of a training: attention weights of the example, translations."""

    weights: Array
    words: Sentences


class Made(NamedTuple):
    """What comes of a training."""

    figures: dict[str, float]
    drawn: Drawn | None


def compare(options: Namespace) -> None:
    ranks = world()
    recipes = chosen(options)
    seeds = options.seeds or (options.seed,)
    threads = options.threads or (1 if ranks.count > 1 else None)
    folder = Path(options.output)
    train, valid, test = (recipes[0].load(split) for split in ("train", "valid", "test"))
    texts = Texts(train, valid, test, example_of(options.index, test, "test", "pairs"))
    several = len(seeds) > 1 or ranks.count > 1
    jobs = [Job(recipe, seed, f"{recipe.name}, seed {seed}" if several else recipe.name,
                Path("runs") / run_name(recipe, seed), drawn=seed == seeds[0])
            for recipe in recipes for seed in seeds]
    ranks.first(lambda: check(jobs, train, threads, folder))
    if ranks.count > 1:
        check_rank_consistency(ranks, recipes[0].create(train, seeds[0]), train, valid, threads)
    print(f"{len(recipes)} recipes on {selected(recipes[0].corpus).label}: "
          f"{budget_of(recipes[0].training)} each, {named(seeds)}; "
          f"measured on {len(test):,} pairs (test)", flush=True)
    if ranks.count > 1:
        print(f"{len(jobs)} trainings, {min(len(jobs), ranks.count - 1)} at a time; the same "
              "command resumes them", flush=True)
    made = handed_out(ranks, jobs, lambda job: done(job, texts, threads), say_done)
    rows = {recipe.name: [one.figures for job, one in zip(jobs, made) if job.recipe is recipe]
            for recipe in recipes}
    print(f"\n{table(rows)}\n{how_measured(recipes, seeds)}")
    drawn = {job.recipe.name: one.drawn for job, one in zip(jobs, made) if one.drawn}
    ranks.first(lambda: draw(drawn, texts, folder))


# ---- what is compared ---------------------------------------------------------------------------


def chosen(options: Namespace) -> list[Recipe]:
    """The recipes of the names or patterns, with one budget.

    ValueError: fewer than two, or what cannot be compared.
    """
    found = [recipe for pattern in options.names for recipe in matching(pattern)]
    recipes = list({recipe.name: recipe for recipe in found}.values())
    names = [recipe.name for recipe in recipes]
    if len(names) < 2:
        raise ValueError(f"{', '.join(names)} alone: expected at least two recipes to compare")
    for recipe in recipes:
        check_comparable(recipe, recipes[0])
    recipes = [with_budget(recipe, options) for recipe in recipes]
    budgets = [budget_of(recipe.training) for recipe in recipes]
    for recipe, budget in zip(recipes, budgets):
        if budget != budgets[0]:
            raise ValueError(f"{names[0]} trains for {budgets[0]}, {recipe.name} for {budget}: "
                             "give them one budget with --epochs and --minutes")
    return recipes


def matching(pattern: str) -> list[Recipe]:
    """The recipes that a pattern fits, or of a class of one's own. ValueError: there are none."""
    if is_custom_code(pattern):
        return [recipe_with_attention(custom_class(pattern, ATTENTION))]
    found = [recipe for name, recipe in RECIPES.items() if fnmatch(name, pattern)]
    if not found:
        raise ValueError(f"no recipe is named {pattern!r}: expected a name of `numpy-attention "
                         "reproduce --list`, or a pattern such as 'clauses-*'")
    return found


def check_comparable(recipe: Recipe, first: Recipe) -> None:
    """ValueError: a language model's recipe, or one with another text than the first."""
    if recipe.is_language_model:
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
    return f"{plural(training.epochs, 'epoch')}{minutes}"


def run_name(recipe: Recipe, seed: int) -> str:
    """The folder that `reproduce` trains in, or with a budget not the recipe's one of its own."""
    own = (RECIPES.get(recipe.name) or find_recipe("clauses-dot")).training
    budget = [f"{getattr(recipe.training, name):g}{name[0]}" for name in BUDGET
              if getattr(recipe.training, name) != getattr(own, name)]
    return "-".join([recipe.name, *budget, f"seed{seed}"])


def named(seeds: Sequence[int]) -> str:
    """seed 0, or seeds 0, 1, 2."""
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def check(jobs: Sequence[Job], train: Sequence[Pair], threads: int | None, folder: Path) -> None:
    """Errors say what cannot be trained, resumed or written, before anything is trained."""
    first = jobs[0]
    trained = first.recipe.create(train, first.seed)
    for job in jobs:
        if job.recipe is not first.recipe:
            first = job
            trained = job.recipe.create(train, job.seed)
        trained.training = replace(trained.training, seed=job.seed)
        check_free(job.folder / CHECKPOINT)
        check_same(job.folder, trained, threads)
    make_folder(folder)


# ---- trainings ----------------------------------------------------------------------------------


def done(job: Job, texts: Texts, threads: int | None) -> Made:
    """What comes of a job, done by this rank; on one of several, errors name the job."""
    if world().count == 1:
        print(f"{job.name}: {job.recipe.description}", flush=True)
        return trained(job, texts, threads)
    try:
        return trained(job, texts, threads, progress=False)
    except EXPECTED as error:
        raise ValueError(f"{job.name}: {format_error(error)}") from error


def trained(job: Job, texts: Texts, threads: int | None, progress: bool = True) -> Made:
    """Train, or resume, and measure."""
    beam = job.recipe.beam
    made = job.recipe.create(texts.train, job.seed)
    made.fit(texts.train, texts.valid, job.folder, threads, progress)
    sources = [pair.source for pair in texts.test]
    found = made.translate(sources, beam, threads=made.threads or 1)
    figures = made.measure(texts.test, beam, made.threads, found)
    figures |= {"parameters": made.model.size, "minutes": made.history[-1]["seconds"] / 60}
    if not job.drawn:
        return Made(figures, None)
    words = [one.target for one in found]
    return Made(figures, Drawn(made.attend([texts.example])[0], words))


def say_done(count: int, job: Job, made: Made) -> None:
    """A line for a training that another rank has done; count: how many are."""
    figures = [f"{title} {made.figures[key]:{form}}" for key, (title, form) in COLUMNS.items()
               if key in made.figures]
    print(f"{count} done: {job.name}: {', '.join(figures)}", flush=True)


# ---- what comes out -----------------------------------------------------------------------------


def table(lines: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """A Markdown table of {name: figures of each seed}; – where a figure does not exist."""
    rows = [["recipe", *(title for title, _ in COLUMNS.values())]]
    for name, seeds in lines.items():
        rows.append([name, *(cell(key, [figures[key] for figures in seeds if key in figures])
                             for key in COLUMNS)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(row_of(row, widths) for row in (rows[0], rule, *rows[1:]))


def cell(key: str, values: Sequence[float]) -> str:
    """A figure in the table: the mean over seeds, ± the standard deviation where it is a measure.
    """
    if not values:
        return "–"
    form = COLUMNS[key][1]
    text = format(mean(values), form)
    if len(values) > 1 and key not in COSTS:
        text += f" ± {stdev(values):{form}}"
    return text


def row_of(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A row of a Markdown table: the name to the left, figures to the right."""
    name = cells[0].ljust(widths[0])
    figures = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])]
    return f"| {' | '.join([name, *figures])} |"


def how_measured(recipes: Sequence[Recipe], seeds: Sequence[int]) -> str:
    """What stands beneath the table: the seeds, sacreBLEU's signatures, the beam, what counts."""
    several = ""
    if len(seeds) > 1:
        several = (f"mean ± standard deviation over {named(seeds)}; the pictures are of seed "
                   f"{seeds[0]}\n")
    beams = sorted({recipe.beam for recipe in recipes})
    return (f"{several}BLEU: {metrics.signature(metrics.bleu)}\n"
            f"chrF: {metrics.signature(metrics.chrf)}\n"
            f"beam {', '.join(map(str, beams))}; perplexity and AER of the reference's words, "
            "pointing of its sure links")


def draw(drawn: Mapping[str, Drawn], texts: Texts, folder: Path) -> None:
    """Save heatmaps of one pair side by side, and BLEU by length."""
    example = texts.example
    weights = {name: one.weights for name, one in drawn.items()}
    found = {name: one.words for name, one in drawn.items()}
    grid = plotting.heatmap_grid(weights, [*example.source, END], [*example.target, END],
                                 example.sure, example.possible)
    print("saved", plotting.save(grid, folder / "heatmaps.png"))
    curves = plotting.bleu_by_length_plot(by_length(found, texts.test))
    print("saved", plotting.save(curves, folder / "bleu_by_length.png"))


def by_length(found: Mapping[str, Sentences], pairs: Sequence[Pair],
              buckets: int = 6) -> dict[str, list[LengthBucket]]:
    """{name: LengthBuckets} of translations, by source lengths that hold about as many each."""
    lengths = [len(pair.source) for pair in pairs]
    references = [pair.target for pair in pairs]
    quantiles = np.quantile(lengths, np.linspace(0, 1, buckets + 1)[:-1])
    edges = sorted({int(edge) for edge in quantiles}) + [max(lengths) + 1]
    return {name: metrics.bleu_by_length(words, references, lengths, edges)
            for name, words in found.items()}
