"""compare: train recipes on one corpus with one budget, print a table, and save two figures."""

from argparse import Namespace
from fnmatch import fnmatch
from pathlib import Path

from numpy_attention import metrics
from numpy_attention.cli.shared import example_of
from numpy_attention.custom.kinds import ATTENTION, custom_class
from numpy_attention.data.selection import selected
from numpy_attention.experiments import compare as comparison
from numpy_attention.experiments.compare import COLUMNS, Job, Outcome, Texts
from numpy_attention.experiments.recipes import RECIPES, recipe_with_attention
from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.reports import NO_FOUR_WORDS
from numpy_attention.registry import is_custom_code
from numpy_attention.training.distributed.ranks import world
from numpy_attention.validation.paths import make_folder


def compare(options: Namespace) -> None:
    ranks = world()
    recipes = chosen(options)
    seeds = options.seeds or (options.seed,)
    threads = options.threads or (1 if ranks.count > 1 else None)
    folder = Path(options.output)
    train, valid, test = (recipes[0].load(split) for split in ("train", "valid", "test"))
    texts = Texts(train, valid, test, example_of(options.index, test, "the test split", "pairs"))
    jobs = comparison.jobs_of(recipes, seeds, ranks)
    comparison.check(jobs, texts, threads, ranks)
    ranks.first(lambda: make_folder(folder))
    seeds_used = f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
    print(f"{len(recipes)} recipes on {selected(recipes[0].corpus).label}: "
          f"{comparison.budget_of(recipes[0].training)} each, {seeds_used}; "
          f"measured on {len(test):,} pairs (test)", flush=True)
    if ranks.count > 1:
        print(f"{len(jobs)} training runs, {min(len(jobs), ranks.count - 1)} at a time; the same "
              "command resumes them", flush=True)
    found = comparison.train(jobs, texts, threads, ranks, print_done)
    rows = {name: [one.figures for one in outcomes] for name, outcomes in found.items()}
    print(f"\n{comparison.table(rows)}")
    if len(seeds) > 1:
        print(f"mean ± standard deviation over {seeds_used}; the figures show seed {seeds[0]}")
    beams = sorted({recipe.beam for recipe in recipes})
    print(f"BLEU: {metrics.signature(metrics.bleu)}\nchrF: {metrics.signature(metrics.chrf)}\n"
          f"beam {', '.join(map(str, beams))}; perplexity and AER of the reference's words, "
          "pointing of its sure links")
    if any(figures.get("bleu_empty") for seeds in rows.values() for figures in seeds):
        print(NO_FOUR_WORDS)
    first = {name: outcomes[0] for name, outcomes in found.items()}
    for file in ranks.first(lambda: comparison.draw(first, texts, folder)):
        print("saved", file)


def chosen(options: Namespace) -> list[Recipe]:
    """Return the recipes to compare, all with the same budget (epochs and minutes).

    Raises ValueError if no recipe matches a name, or if the recipes cannot be compared.
    """
    found = {recipe.name: recipe for pattern in options.names for recipe in matching(pattern)}
    budget = {name: getattr(options, name) for name in comparison.BUDGET if name in options.given}
    return comparison.with_one_budget(list(found.values()), **budget)


def matching(pattern: str) -> list[Recipe]:
    """Return the recipes whose names match a pattern. Raises ValueError if no name matches.

    For a pattern FILE.py:CLASS, return one recipe, whose attention is this class.
    """
    if is_custom_code(pattern):
        return [recipe_with_attention(custom_class(pattern, ATTENTION))]
    found = [recipe for name, recipe in RECIPES.items() if fnmatch(name, pattern)]
    if not found:
        raise ValueError(f"no recipe is named {pattern!r}; expected a name listed by "
                         "`numpy-attention reproduce --list`, or a pattern such as 'clauses-*'")
    return found


def print_done(count: int, job: Job, outcome: Outcome) -> None:
    """Print the results of a run trained on another rank. count: the number of finished runs."""
    figures = [f"{title} {outcome.figures[key]:{form}}" for key, (title, form) in COLUMNS.items()
               if key in outcome.figures]
    print(f"{count} done: {job.name}: {', '.join(figures)}", flush=True)
