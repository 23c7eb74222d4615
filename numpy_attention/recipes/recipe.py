"""What a recipe is, and how one is run."""

from dataclasses import dataclass, field, replace

from numpy_attention.data.corpora import load_parallel
from numpy_attention.runs import check_same
from numpy_attention.training.evaluation import evaluate
from numpy_attention.translation import Training, Translator


@dataclass(frozen=True)
class Recipe:
    """A translation experiment whose figures are recorded.

    corpus: arguments of `load_parallel` but the split. model, settings: as `Translator.create` takes them. training:
    its seed is replaced by the run's. metrics: the figures to record, (split, metric), metrics as `Translator.measure`
    names them. yardsticks: {(split, metric): (value, "whose figure it is")}, published or measured elsewhere.
    """

    name: str
    description: str
    corpus: dict
    model: str
    settings: dict
    training: Training
    metrics: tuple
    yardsticks: dict = field(default_factory=dict)
    beam: int = 5

    def __post_init__(self):
        strange = [" ".join(figure) for figure in self.yardsticks if figure not in self.metrics]
        if strange:
            raise ValueError(f"recipe {self.name} has yardsticks for {', '.join(strange)}, which it does not record")


def run(recipe, seed=0, threads=None, folder=None, progress=True):
    """Train, or resume, in `folder` and measure; → the figures, dicts with the fields of `numpy_attention.results`.

    threads: None chooses by the size of a step; a resumed run keeps its own. ValueError: the folder holds a run with
    other settings, or a metric that this corpus cannot give.
    """
    train, valid = (load_parallel(split=split, **recipe.corpus) for split in ("train", "valid"))
    translator = Translator.create(train, recipe.model, recipe.settings, replace(recipe.training, seed=seed),
                                   recipe.corpus)
    if folder is not None:
        check_same(folder, translator, threads)
    translator.fit(train, valid, folder, threads, progress)
    found = {}
    for split in dict.fromkeys(split for split, _ in recipe.metrics):
        pairs = valid if split == "valid" else load_parallel(split=split, **recipe.corpus)
        wanted = {metric for where, metric in recipe.metrics if where == split}
        if wanted == {"perplexity"}:
            found[split] = {"perplexity": evaluate(translator.model, translator.batches(pairs),
                                                   translator.threads).perplexity}
        else:
            found[split] = translator.measure(pairs, recipe.beam, translator.threads)
        if wanted - found[split].keys():
            raise ValueError(f"recipe {recipe.name}: {split} has no {', '.join(sorted(wanted - found[split].keys()))}, "
                             f"only {', '.join(found[split])}")
    minutes = round(translator.history[-1]["seconds"] / 60, 2)
    return [{"recipe": recipe.name, "seed": seed, "metric": metric, "split": split,
             "value": round(found[split][metric], 4), "parameters": translator.model.size, "minutes": minutes,
             "threads": translator.threads}
            for split, metric in recipe.metrics]
