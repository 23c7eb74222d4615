"""Recipes: recorded experiments, and how to run them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy_attention.registry import LANGUAGE_MODELS
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess
from numpy_attention.training.settings import Training

if TYPE_CHECKING:
    import numpy as np

Figure = tuple[str, str]        # (split, metric)


@dataclass(frozen=True)
class Recipe:
    """An experiment whose results are recorded. Its methods import the training code when called.

    corpus: the training text, as a dict that `data.selection` describes
    model, settings: arguments of `Translator.create` or `LanguageModelRun.create`
    training: the training settings; each run replaces the seed
    metrics: the results to record, each as (split, name of a metric that `measure` returns)
    baselines: {figure: (value, source)}, for values that were published or measured elsewhere
    beam: the beam size with which translations are measured
    train_max_length: the maximum length of a source or target in training; None for no limit

    Raises ValueError for a baseline of a figure that is not recorded, and for train_max_length with
    a language model, which is not trained on pairs.
    """

    name: str
    description: str
    corpus: dict[str, Any]
    model: str
    settings: dict[str, Any]
    training: Training
    metrics: tuple[Figure, ...]
    baselines: Mapping[Figure, tuple[float, str]] = field(default_factory=dict)
    beam: int = 5
    train_max_length: int | None = None

    def __post_init__(self) -> None:
        strange = [" ".join(figure) for figure in self.baselines if figure not in self.metrics]
        if strange:
            raise ValueError(f"recipe {self.name!r} has a baseline for {strange[0]!r}, which is "
                             "not one of its metrics; add the metric, or remove the baseline")
        if self.train_max_length and self.is_language_model:
            raise ValueError(f"recipe {self.name!r} has train_max_length, which is only for "
                             "translators; use the training setting `cut` for a language model")

    @property
    def is_language_model(self) -> bool:
        return self.model in LANGUAGE_MODELS

    @property
    def trains(self) -> Any:
        """The class of the run, Translator or LanguageModelRun."""
        from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
        from numpy_attention.experiments.runs.translator import Translator
        return LanguageModelRun if self.is_language_model else Translator

    def digest(self) -> str:
        """Return an eight-digit digest of all settings that affect the results, except the seed.

        Default training settings are left out, so a new option does not change any digest.
        """
        training = {one.name: getattr(self.training, one.name) for one in fields(self.training)
                    if getattr(self.training, one.name) != one.default}
        content = [self.corpus, self.model, self.settings, training, self.beam]
        if self.train_max_length:
            content.append(self.train_max_length)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]

    def load(self, split: str) -> Any:
        """Load a split of the corpus: a list of Pairs or, for a language model, a Text."""
        from numpy_attention.data.selection import selected
        data = selected(self.corpus).load(split)[0]
        if split == "train" and self.train_max_length:
            return [pair for pair in data
                    if max(len(pair.source), len(pair.target)) <= self.train_max_length]
        return data

    def create(self, train: Any, seed: int = 0) -> Any:
        """Create an untrained Translator or LanguageModelRun for the training text `train`."""
        training = replace(self.training, seed=seed)
        return self.trains.create(train, self.model, self.settings, training, self.corpus)

    def measure(self, trained: Any, data: Any, wanted: set[str],
                ranks: SingleProcess = SINGLE_PROCESS,
                rng: "np.random.Generator | None" = None) -> dict[str, float]:
        """Measure a trained run on a split of the corpus; return a dict of metrics.

        wanted: names of metrics. The result has those that the corpus supports, and may have more.
        rng: if given, add the ends of each metric's confidence interval, `…_low` and `…_high`.
        """
        from numpy_attention.experiments.recipes import measures
        if self.is_language_model:
            return trained.measure(data, trained.threads, ranks, rng)
        if wanted == {"perplexity"}:
            return measures.perplexity(trained, data, ranks, rng)
        if measures.length_edges(wanted):
            return measures.by_length(trained, data, wanted, self.beam, ranks, rng)
        found = trained.measure(data, self.beam, trained.threads, ranks=ranks, rng=rng)
        if wanted.intersection(measures.PHENOMENA.values()):
            found |= measures.by_phenomenon(trained, data, rng)
        return found


def run(
    recipe: Recipe,
    seed: int = 0,
    threads: int | None = None,
    folder: str | Path | None = None,
    progress: bool = True,
    ranks: SingleProcess = SINGLE_PROCESS,
) -> list[dict[str, Any]]:
    """Train a recipe or resume its run in `folder`, and measure it.

    Return one dict per figure, for `results.append`. threads: the number of threads of each rank;
    by default, that of the resumed run or, for a new run, one that suits the size of a step.
    Raises ValueError for a folder with another run, or a metric that the corpus does not have.
    """
    from numpy_attention.experiments.runs import confidence
    train = recipe.load("train")
    valid = recipe.load("valid")
    trained = recipe.create(train, seed)
    trained.fit(train, valid, folder, threads, progress, ranks)
    found = {}
    for split in dict.fromkeys(split for split, _ in recipe.metrics):
        wanted = {metric for where, metric in recipe.metrics if where == split}
        data = valid if split == "valid" else recipe.load(split)
        found[split] = recipe.measure(trained, data, wanted, ranks, confidence.draws(seed))
        missing = wanted - found[split].keys()
        if missing:
            names = [one for one in found[split] if not one.endswith(("_low", "_high"))]
            raise ValueError(f"recipe {recipe.name!r}: the {split} split has no metric "
                             f"{min(missing)!r}; choose from {', '.join(names)}")
    minutes = round(trained.history[-1]["seconds"] / 60, 2)
    return [
        {
            "recipe": recipe.name,
            "settings": recipe.digest(),
            "seed": seed,
            "metric": metric,
            "split": split,
            "value": round(found[split][metric], 4),
            **{end: round(found[split][f"{metric}_{end}"], 4) for end in ("low", "high")
               if f"{metric}_{end}" in found[split]},
            "parameters": trained.model.size,
            "minutes": minutes,
            "threads": trained.threads * ranks.count,
        }
        for split, metric in recipe.metrics]
