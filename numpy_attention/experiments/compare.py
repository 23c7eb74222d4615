"""Compare recipes: train them on one corpus with one budget, measure, and plot side by side.

With several ranks (processes of mpirun), rank 0 assigns the training runs to the other ranks.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.recipes import RECIPES
from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs.provenance import check_rank_consistency
from numpy_attention.experiments.runs.resume import check_same
from numpy_attention.experiments.runs.saved import CHECKPOINT
from numpy_attention.metrics import LengthBucket
from numpy_attention.module import Array
from numpy_attention.training.distributed.jobs import handed_out
from numpy_attention.training.distributed.ranks import SingleProcess
from numpy_attention.training.lock import check_free
from numpy_attention.training.settings import Training
from numpy_attention.validation.messages import EXPECTED, format_error, plural

Sentences = Sequence[Sequence[str]]

BUDGET = ("epochs", "minutes")
COLUMNS = {             # of the table: figure → (title, format)
    "parameters": ("parameters", ","),
    "minutes": ("minutes", ".1f"),
    "perplexity": ("perplexity", ".2f"),
    "bleu": ("BLEU", ".2f"),
    "chrf": ("chrF", ".2f"),
    "aer": ("AER", ".3f"),
    "pointing": ("pointing", ".3f"),
}
COSTS = ("parameters", "minutes")       # columns without a standard deviation


class Texts(NamedTuple):
    """Pairs for training, validation and test, and one test pair whose attention is plotted."""

    train: Sequence[Pair]
    valid: Sequence[Pair]
    test: Sequence[Pair]
    example: Pair


class Job(NamedTuple):
    """A training run of a recipe. name: for messages. drawn: whether the plots show this run."""

    recipe: Recipe
    seed: int
    name: str
    folder: Path
    drawn: bool


class Outcome(NamedTuple):
    """The metrics of a training run and, if the plots show this run, the data to plot.

    weights: the attention weights of `Texts.example`. words: the translated test sentences.
    """

    figures: dict[str, float]
    weights: Array | None = None
    words: Sentences = ()


# ---- subjects -----------------------------------------------------------------------------------


def with_one_budget(recipes: Sequence[Recipe], **budget: Any) -> list[Recipe]:
    """Return copies of the recipes with a new budget, and check that they can be compared.

    budget: new values of `epochs` or `minutes`, if any. Raises ValueError for fewer than two
    recipes, a recipe of a language model, different corpora, or copies with different budgets.
    """
    first = recipes[0]
    if len(recipes) < 2:
        raise ValueError(f"got only recipe {first.name}; expected at least two recipes to compare")
    for recipe in recipes:
        if recipe.is_language_model:
            raise ValueError(f"recipe {recipe.name} trains a language model, but only "
                             "translators can be compared; omit this recipe")
        if recipe.corpus != first.corpus:
            raise ValueError(f"recipes {first.name} and {recipe.name} are trained on different "
                             "texts; compare recipes of one corpus")
    found = [replace(recipe, training=replace(recipe.training, **budget)) for recipe in recipes]
    for recipe in found:
        if budget_of(recipe.training) != budget_of(found[0].training):
            raise ValueError(f"recipe {first.name} trains for {budget_of(found[0].training)}, but "
                             f"{recipe.name} for {budget_of(recipe.training)}; use epochs "
                             "and minutes to give all recipes the same budget")
    return found


def budget_of(training: Training) -> str:
    """Describe the epochs and the minutes of a training run in words."""
    minutes = f", at most {training.minutes:g} minutes" if training.minutes else ""
    return f"{plural(training.epochs, 'epoch')}{minutes}"


def run_name(recipe: Recipe, seed: int) -> str:
    """Return a run's folder name: "NAME-seed0", or "NAME-5e-seed0" if epochs was set to 5."""
    usual = RECIPES[recipe.name if recipe.name in RECIPES else "clauses-dot"].training
    budget = [f"{getattr(recipe.training, name):g}{name[0]}" for name in BUDGET
              if getattr(recipe.training, name) != getattr(usual, name)]
    return "-".join([recipe.name, *budget, f"seed{seed}"])


def jobs_of(recipes: Sequence[Recipe], seeds: Sequence[int], ranks: SingleProcess) -> list[Job]:
    """Return one job for each recipe and seed. The jobs of the first seed are plotted."""
    several = len(seeds) > 1 or ranks.count > 1
    return [Job(recipe, seed, f"{recipe.name}, seed {seed}" if several else recipe.name,
                Path("runs") / run_name(recipe, seed), drawn=seed == seeds[0])
            for recipe in recipes for seed in seeds]


# ---- training runs ------------------------------------------------------------------------------


def check(jobs: Sequence[Job], texts: Texts, threads: int | None, ranks: SingleProcess) -> None:
    """Raise an error before any training if one of the jobs cannot be trained or resumed."""
    def check_all() -> None:
        recipe = None
        for job in jobs:                    # jobs of one recipe follow each other
            if job.recipe is not recipe:
                recipe = job.recipe
                trained = recipe.create(texts.train, job.seed)
            trained.training = replace(trained.training, seed=job.seed)
            check_free(job.folder / CHECKPOINT)
            check_same(job.folder, trained, threads)

    ranks.first(check_all)
    if ranks.count > 1:
        trained = jobs[0].recipe.create(texts.train, jobs[0].seed)
        check_rank_consistency(ranks, trained, texts.train, texts.valid, threads)


def train(jobs: Sequence[Job], texts: Texts, threads: int | None, ranks: SingleProcess,
          done: Callable[[int, Job, Outcome], None]) -> dict[str, list[Outcome]]:
    """Run all jobs. Return a dict from the name of each recipe to its Outcomes, one per seed.

    With several ranks, rank 0 calls done(number of jobs done, job, Outcome) after each job.
    """
    outcomes = handed_out(ranks, jobs, lambda job: outcome_of(job, texts, threads, ranks), done)
    found: dict[str, list[Outcome]] = {}
    for job, outcome in zip(jobs, outcomes):
        found.setdefault(job.recipe.name, []).append(outcome)
    return found


def outcome_of(job: Job, texts: Texts, threads: int | None, ranks: SingleProcess) -> Outcome:
    """Train or resume a job, and measure it. With several ranks, errors contain the job's name."""
    alone = ranks.count == 1
    if alone:
        # without the number of epochs, which the budget may change
        print(f"{job.name}: {re.sub(', [0-9]+ epochs?', '', job.recipe.description)}", flush=True)
    try:
        beam = job.recipe.beam
        made = job.recipe.create(texts.train, job.seed)
        made.fit(texts.train, texts.valid, job.folder, threads, progress=alone)
        sources = [pair.source for pair in texts.test]
        found = made.translate(sources, beam, threads=made.threads or 1)
        figures = made.measure(texts.test, beam, made.threads, found)
    except EXPECTED as error:
        if alone:
            raise
        raise ValueError(f"{job.name}: {format_error(error)}") from error
    figures |= {"parameters": made.model.size, "minutes": made.history[-1]["seconds"] / 60}
    if not job.drawn:
        return Outcome(figures)
    return Outcome(figures, made.attend([texts.example])[0], [one.target for one in found])


# ---- results ------------------------------------------------------------------------------------


def table(lines: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Format the metrics of recipes as a Markdown table. A missing metric is shown as –.

    lines: {name of a recipe: list with a dict of metrics for each seed}.
    """
    rows = [["recipe", *(title for title, _ in COLUMNS.values())]]
    for name, seeds in lines.items():
        rows.append([name, *(cell(key, [figures[key] for figures in seeds if key in figures])
                             for key in COLUMNS)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows = [[one.rjust(width) if n else one.ljust(width)
             for n, (one, width) in enumerate(zip(row, widths))] for row in rows]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def cell(key: str, values: Sequence[float]) -> str:
    """Format the mean of a metric over seeds, ± the standard deviation unless `key` is in COSTS."""
    if not values:
        return "–"
    form = COLUMNS[key][1]
    text = format(mean(values), form)
    if len(values) > 1 and key not in COSTS:
        text += f" ± {stdev(values):{form}}"
    return text


def draw(outcomes: Mapping[str, Outcome], texts: Texts, folder: Path) -> list[Path]:
    """Save heatmaps.png and bleu_by_length.png in a folder; return the paths of the two files."""
    example = texts.example
    grid = plotting.heatmap_grid(
        {name: np.asarray(one.weights) for name, one in outcomes.items()},
        source_tokens=[*example.source, "</s>"], target_tokens=[*example.target, "</s>"],
        gold=example.sure, possible=example.possible)
    words = {name: one.words for name, one in outcomes.items()}
    curves = plotting.bleu_by_length_plot(by_length(words, texts.test))
    return [plotting.save(grid, folder / "heatmaps.png"),
            plotting.save(curves, folder / "bleu_by_length.png")]


def by_length(found: Mapping[str, Sentences], pairs: Sequence[Pair],
              buckets: int = 6) -> dict[str, list[LengthBucket]]:
    """Measure BLEU in up to `buckets` ranges of source lengths, for each recipe.

    found: a dict from the name of a recipe to one translation for each pair.
    """
    lengths = [len(pair.source) for pair in pairs]
    references = [pair.target for pair in pairs]
    quantiles = np.quantile(lengths, np.linspace(0, 1, buckets + 1)[:-1])
    edges = sorted({int(edge) for edge in quantiles}) + [max(lengths) + 1]
    return {name: metrics.bleu_by_length(words, references, lengths, edges)
            for name, words in found.items()}
