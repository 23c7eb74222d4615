"""What a recipe is, and how one is run."""

from dataclasses import dataclass, field, replace

from numpy_attention.data import running_text
from numpy_attention.data.corpora import load_parallel
from numpy_attention.runs.resume import check_same
from numpy_attention.runs.trained import Training
from numpy_attention.training.evaluation import evaluate
from numpy_attention.runs.translator import Translator
from numpy_attention.runs.writer import Writer


@dataclass(frozen=True)
class Recipe:
    """An experiment whose figures are recorded: here a translation.

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

    def load(self, split):
        """What to train or measure on."""
        return load_parallel(split=split, **self.corpus)

    def create(self, train, training):
        """What is trained, untrained."""
        return Translator.create(train, self.model, self.settings, training, self.corpus)

    def measure(self, trained, data, wanted):
        """At least the metrics wanted, as {metric: value}."""
        if wanted == {"perplexity"}:
            return {"perplexity": evaluate(trained.model, trained.batches(data), trained.threads).perplexity}
        return trained.measure(data, self.beam, trained.threads)


@dataclass(frozen=True)
class LanguageRecipe(Recipe):
    """A language model's. corpus: {"name": …}; model, settings: as `Writer.create` takes them."""

    metrics: tuple = (("valid", "perplexity"), ("test", "perplexity"))

    def load(self, split):
        return running_text.load(self.corpus["name"], split)

    def create(self, train, training):
        return Writer.create(train, self.model, self.settings, training, self.corpus)

    def measure(self, trained, data, wanted):
        return trained.measure(data, trained.threads)


def untrained(recipe, train, seed=0, threads=None, folder=None):
    """What will learn from `train` in `folder`. ValueError: the folder holds a run with other settings."""
    made = recipe.create(train, replace(recipe.training, seed=seed))
    if folder is not None:
        check_same(folder, made, threads)
    return made


def fit(recipe, seed=0, threads=None, folder=None, progress=True):
    """Train, or resume, in `folder`; → (what was trained, what it was validated on). Errors as `run` has them."""
    train, valid = map(recipe.load, ("train", "valid"))
    trained = untrained(recipe, train, seed, threads, folder)
    return trained.fit(train, valid, folder, threads, progress), valid


def run(recipe, seed=0, threads=None, folder=None, progress=True):
    """Train, or resume, in `folder` and measure; → the figures, dicts with the fields of `numpy_attention.recipes.results`.

    threads: None chooses by the size of a step; a resumed run keeps its own. ValueError: the folder holds a run with
    other settings, or a metric that this corpus cannot give.
    """
    trained, valid = fit(recipe, seed, threads, folder, progress)
    found = {}
    for split in dict.fromkeys(split for split, _ in recipe.metrics):
        wanted = {metric for where, metric in recipe.metrics if where == split}
        found[split] = recipe.measure(trained, valid if split == "valid" else recipe.load(split), wanted)
        if wanted - found[split].keys():
            raise ValueError(f"recipe {recipe.name}: {split} has no {', '.join(sorted(wanted - found[split].keys()))}, "
                             f"only {', '.join(found[split])}")
    minutes = round(trained.history[-1]["seconds"] / 60, 2)
    return [{"recipe": recipe.name, "seed": seed, "metric": metric, "split": split,
             "value": round(found[split][metric], 4), "parameters": trained.model.size, "minutes": minutes,
             "threads": trained.threads}
            for split, metric in recipe.metrics]
