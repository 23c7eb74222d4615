"""Language models measured beside each other on one text: recover, distances."""

import json
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

import numpy as np

from numpy_attention import plotting
from numpy_attention.experiments.analysis.distance import Distances, loss_by_distance
from numpy_attention.experiments.analysis.recovery import Recovery, disturbed
from numpy_attention.experiments.analysis.recovery import recover as recovery_of
from numpy_attention.bootstrap import Interval
from numpy_attention.cli.language_models import how_state_goes, text_to_measure_on, what_it_is
from numpy_attention.experiments.runs.ensemble import load_alike
from numpy_attention.experiments.runs.writer import LanguageModelRun

SHOWN = (1, 2, 5, 10, 20)       # distances of the table


def runs_and_batches(options: Namespace) -> tuple[dict[str, LanguageModelRun], Any, dict[str, Any]]:
    """→ the runs by their folders, the batches that all read, what the text is.

    ValueError: a folder given twice, or runs that cannot be compared.
    """
    for folder in options.runs:
        if options.runs.count(folder) > 1:
            raise ValueError(f"{folder} is given {options.runs.count(folder)} times: expected each "
                             "run once")
    found = load_alike(LanguageModelRun, options.runs, "compared", options.code)
    writers = dict(zip(options.runs, found))
    first = writers[options.runs[0]]
    text, corpus, split = text_to_measure_on(options, first)
    return writers, first.batches(text), {"corpus": corpus, "split": split}


def head(writers: Mapping[str, LanguageModelRun], about: Mapping[str, Any], how: str) -> None:
    """The runs, and what they are measured on."""
    for folder, writer in writers.items():
        print(f"{folder}: {what_it_is(writer)}")
    where = f"{about['corpus']}, {about['split']}" if about["split"] else about["corpus"]
    print(f"{where}: {how}")


def signed(more: Interval) -> str:
    """A difference with its interval."""
    return f"{more.mean:+.3f} ({more.low:+.3f} to {more.high:+.3f})"


def as_dicts(intervals: Mapping[Any, Interval]) -> dict[Any, dict[str, float]]:
    """What JSON can hold."""
    return {name: one._asdict() for name, one in intervals.items()}


# ---- recover ------------------------------------------------------------------------------------


def recover(options: Namespace) -> None:
    """What errors in their past cost language models, at each distance from them."""
    writers, batches, about = runs_and_batches(options)
    passages = disturbed(batches, np.random.default_rng([options.seed, 0]), options.words,
                         options.next, options.number, options.past)
    # the same draws for each, so that what is told of a run does not depend on the others
    found = {folder: recovery_of(writer.model, passages, np.random.default_rng([options.seed, 1]))
             for folder, writer in writers.items()}
    compared = {
        folder: one.more_than(found[options.runs[0]], np.random.default_rng([options.seed, 2]))
        for folder, one in found.items() if folder != options.runs[0]}
    if options.json:
        print(json.dumps(about | {
            "words": options.words, "passages": len(passages), "runs": {
                folder: of_recovery(one, compared.get(folder)) for folder, one in found.items()}}))
    else:
        head(writers, about, f"{len(passages):,} passages, the last {options.words} of the words "
             "read replaced; nats a token more than undisturbed")
        print("\n".join(lines_of_recovery(found, compared)))
    if options.output:
        curves = {folder: one.excess for folder, one in found.items()}
        title = f"{options.words} words replaced, {about['corpus']}"
        plotting.save(plotting.excess_loss(curves, title=title), options.output)


def lines_of_recovery(found: Mapping[str, Recovery], compared: Mapping[str, Any]) -> list[str]:
    """A row for each run, the mean first."""
    first = next(iter(found.values()))
    distances = [distance for distance in SHOWN if distance in first.excess]
    width = max(map(len, found))
    farthest = max(first.excess)
    lines = [f"  {'':<{width}}  {'undisturbed':>11}  {f'mean of the next {farthest}':<25}"
             + "".join(f"{f'at {distance}':>8}" for distance in distances)
             + ("   mean more than the first's" if compared else "")]
    for folder, one in found.items():
        line = (f"  {folder:<{width}}  {one.loss:11.3f}  {signed(one.mean):<25}"
                + "".join(f"{one.excess[distance].mean:+8.3f}" for distance in distances))
        if folder in compared:
            line += f"   {signed(compared[folder][1])}"
        lines.append(line)
    return lines


def of_recovery(one: Recovery,
                more: tuple[dict[int, Interval], Interval] | None) -> dict[str, Any]:
    """What JSON can hold; more: what it loses beyond the first run."""
    told = {"loss": one.loss, "tokens": one.tokens, "mean": one.mean._asdict(),
            "excess": as_dicts(one.excess)}
    if more:
        told |= {"more": {"mean": more[1]._asdict(), "excess": as_dicts(more[0])}}
    return told


# ---- distances ----------------------------------------------------------------------------------


def distances(options: Namespace) -> None:
    """What words cost language models, by how long ago they last occurred."""
    writers, batches, about = runs_and_batches(options)
    found = {
        folder: loss_by_distance(writer.model, batches, np.random.default_rng([options.seed, 1]))
        for folder, writer in writers.items()}
    first = found[options.runs[0]]
    compared = {folder: one.more_than(first, np.random.default_rng([options.seed, 2]))
                for folder, one in found.items() if one is not first}
    if options.json:
        print(json.dumps(about | {"tokens": first.tokens, "runs": {
            folder: {"loss": as_dicts(one.loss)} | (
                {"more": as_dicts(compared[folder])} if folder in compared else {})
            for folder, one in found.items()}}))
    else:
        head(writers, about, how_state_goes(writers[options.runs[0]],
                                            writers[options.runs[0]].training.batch_size))
        print("\n".join(lines_of_distances(found, compared)))
    if options.output:
        drawn = compared or {folder: one.loss for folder, one in found.items()}
        shown = {folder: {"all words" if words == "all" else words: bar
                          for words, bar in bars.items()} for folder, bars in drawn.items()}
        nats = f"nats a token more than {options.runs[0]}" if compared else "nats a token"
        title = f"{about['corpus']}, words by how long ago they last occurred"
        if len(shown) == 1:     # no legend names it
            title = "\n".join([*shown, title])
        plotting.save(plotting.costs(shown, title=title, xlabel=nats), options.output)


def lines_of_distances(found: Mapping[str, Distances],
                       compared: Mapping[str, Mapping[str, Interval]]) -> list[str]:
    """The groups of words, a row in each for each run."""
    lines = ["  words, by how long ago they last occurred: nats a token"
             + ", and more than the first's" * bool(compared)]
    width = max(map(len, found))
    for words, tokens in next(iter(found.values())).tokens.items():
        lines.append(f"  {words}: {tokens:,} tokens")
        for folder, one in found.items():
            more = f"   {signed(compared[folder][words])}" if folder in compared else ""
            lines.append(f"    {folder:<{width}}  {one.loss[words]}{more}")
    return lines
