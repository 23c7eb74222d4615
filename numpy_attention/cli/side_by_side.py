"""Commands that compare language models on one text: recover, distances."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from numpy_attention import plotting
from numpy_attention.cli.evaluate import data_to_measure, place_of
from numpy_attention.cli.shared import print_json
from numpy_attention.experiments.analysis import recovery
from numpy_attention.experiments.analysis.distance import loss_by_distance
from numpy_attention.experiments.reports import (
    describe,
    describe_reading,
    group_of,
    lines_of_distances,
    lines_of_recovery,
)
from numpy_attention.experiments.runs.ensemble import load_alike
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun


def runs_and_batches(options: Namespace) -> tuple[dict[str, LanguageModelRun], Any, dict[str, Any]]:
    """Return the runs {folder: run}, batches of the text to measure, and {"corpus": …, "split": …}.

    Raises ValueError if a folder is given twice, or if the runs cannot be compared.
    """
    for folder in options.runs:
        if options.runs.count(folder) > 1:
            raise ValueError(f"{folder} was given {options.runs.count(folder)} times; pass it once")
    runs = dict(zip(options.runs, load_alike(
        LanguageModelRun, options.runs, "compared", options.code)))
    first = runs[options.runs[0]]
    text, corpus, split = data_to_measure(options, first)
    return runs, first.batches(text), {"corpus": corpus, "split": split}


def compared(options: Namespace, runs: Mapping[str, LanguageModelRun],
             measure: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a dict with the result of each run, and one with the differences from the first run.

    measure: a function of a model and a generator. Its results have a method `more_than`.
    """
    found = {folder: measure(run.model, np.random.default_rng([options.seed, 1]))
             for folder, run in runs.items()}
    first, *others = found
    return found, {
        folder: found[folder].more_than(found[first], np.random.default_rng([options.seed, 2]))
        for folder in others}


def print_head(runs: Mapping[str, LanguageModelRun], about: Mapping[str, Any], how: str) -> None:
    """Print the runs, the text on which they are measured, and how they are measured."""
    for folder, run in runs.items():
        print(f"{folder}: {describe(run)}")
    print(f"{place_of(about)}: {how}")


def recover(options: Namespace) -> None:
    """Replace the last words that language models read, and measure the loss of the next words."""
    runs, batches, about = runs_and_batches(options)
    passages = recovery.disturbed(batches, np.random.default_rng([options.seed, 0]), options.words,
                                  options.next, options.number, options.past)
    found, more = compared(options, runs, lambda model, rng: recovery.recover(model, passages, rng))
    curves = {folder: one.excess for folder, one in found.items()}
    if options.json:
        lines = {folder: {name: getattr(one, name) for name in ("loss", "tokens", "mean", "excess")}
                 for folder, one in found.items()}
        for folder, (excess, mean) in more.items():
            lines[folder]["more"] = {"mean": mean, "excess": excess}
        print_json(about | {"words": options.words, "passages": len(passages), "runs": lines})
    else:
        print_head(runs, about, f"{len(passages):,} passages with the last {options.words} "
                   "words replaced; increase of the loss in nats per token")
        print(*lines_of_recovery(found, more), sep="\n")
    if options.output:
        title = f"{options.words} words replaced, {about['corpus']}"
        plotting.save(plotting.excess_loss(curves, title=title), options.output)


def distances(options: Namespace) -> None:
    """Compare the loss of language models on words grouped by how long ago they last occurred."""
    runs, batches, about = runs_and_batches(options)
    found, more = compared(options, runs, lambda model, rng: loss_by_distance(model, batches, rng))
    first = options.runs[0]
    tokens = found[first].tokens
    if options.json:
        lines = {folder: {"loss": one.loss} | ({"more": more[folder]} if folder in more else {})
                 for folder, one in found.items()}
        print_json(about | {"tokens": tokens, "runs": lines})
    else:
        streams = runs[first].training.batch_size
        print_head(runs, about, describe_reading(runs[first], streams))
        print(*lines_of_distances(found, more), sep="\n")
    if options.output:
        drawn = more or {folder: one.loss for folder, one in found.items()}
        bars = {folder: {group_of(words): bar for words, bar in one.items()}
                for folder, one in drawn.items()}
        nats = f"nats per token more than {first}" if more else "nats per token"
        title = f"{about['corpus']}, words by how long ago they last occurred"
        if len(bars) == 1:      # there is no legend
            title = "\n".join([*bars, title])
        plotting.save(plotting.costs(bars, title=title, xlabel=nats), options.output)
