"""Is a run's attention alive? What it costs to change it: ablate."""

import json
from argparse import Namespace
from typing import Any

import numpy as np

from numpy_attention import plotting
from numpy_attention.experiments.analysis.ablation import CHANGES, Ablation, ablate
from numpy_attention.cli import language_models, translators
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.experiments.runs.writer import LanguageModelRun


def translator(options: Namespace) -> None:
    """Measure a translator's perplexity on pairs, paired by sentence."""
    trained = Translator.load(options.run, options.code)
    pairs, name, split = translators.text_to_measure_on(options, trained)
    show(options, trained, pairs, name, split, f"{len(pairs):,} pairs")


def writer(options: Namespace) -> None:
    """Measure a language model's perplexity on a text, in as many streams as it learned from."""
    trained = LanguageModelRun.load(options.run, options.code)
    text, name, split = language_models.text_to_measure_on(options, trained)
    how = language_models.how_state_goes(trained, trained.training.batch_size)
    show(options, trained, text, name, split, how)


def show(options: Namespace, trained: Any, data: Any, name: str, split: str | None,
         about: str) -> None:
    """Measure, print and draw."""
    rng = np.random.default_rng(options.seed)
    found = ablate(trained.model, trained.batches(data), rng)
    where = f"{name}, {split}" if split else name
    if options.json:
        print(json.dumps({"run": str(options.run), "corpus": name, "split": split,
                          **as_dict(found)}))
    else:
        print(f"{options.run}: {trained.name}, {trained.model.size:,} parameters")
        print(f"{where}: {about}; {found.tokens:,} tokens, {found.loss:.3f} nats each")
        print("\n".join(lines_of(found)))
        print(found.verdict())
    if options.output:
        shown = {"all words" if words == "all" else words:
                 {one.change: one.more for one in found.costs if one.words == words}
                 for words in dict.fromkeys(one.words for one in found.costs)}
        plotting.save(plotting.costs(shown, title=f"{options.run} on {where}"), options.output)


def lines_of(found: Ablation) -> list[str]:
    """A row for each change; where words are told apart, one for each group of them."""
    lines = []
    for change, what in CHANGES.items():
        lines.append(f"  {change}: {what}")
        for one in found.costs:
            if one.change == change:
                lines.append(f"    {one.words:<13} {one.tokens:9,} tokens   {one.loss:7.3f} nats   "
                             f"{one.more.mean:+.3f} ({one.more.low:+.3f} to {one.more.high:+.3f})")
    return lines


def as_dict(found: Ablation) -> dict[str, Any]:
    """What JSON can hold."""
    return {
        "loss": found.loss,
        "tokens": found.tokens,
        "alive": found.alive,
        "costs": [one._asdict() | {"more": one.more._asdict()} for one in found.costs],
    }
