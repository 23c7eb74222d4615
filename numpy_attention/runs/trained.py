"""A model together with what it was trained for: its vocabularies, settings and training; saved, loaded, resumed."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from numpy_attention.data.subwords import restored
from numpy_attention.models.registry import build
from numpy_attention.runs.resume import CHECKPOINT, check_same
from numpy_attention.training import checkpoint
from numpy_attention.training.optimizers import SGD, Adadelta, Adam
from numpy_attention.training.schedules import Constant, Decay, LinearDecay, Warmup
from numpy_attention.training.trainer import Trainer

OPTIMIZERS = {"sgd": SGD, "adam": Adam, "adadelta": Adadelta}
SCHEDULES = ("constant", "decay", "linear", "warmup")


@dataclass
class Training:
    """How a model is trained: everything that a run's result depends on besides the data and the model.

    schedule: "constant"; "decay", the rate divided by `divisor` in every epoch after `full_epochs`; "linear", straight
    down to 0 at the end of the last epoch; "warmup", up over `warmup` steps and down with 1 / √step. keep: the parameters
    of the "best" epoch on the validation text, or the "last".
    """

    epochs: int = 10
    minutes: float | None = None
    batch_size: int = 64
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    schedule: str = "constant"
    full_epochs: int = 0
    divisor: float = 2.0
    warmup: int = 400
    clip: float = 1.0
    average: str = "sentence"
    patience: int | None = None
    keep: str = "best"
    save_steps: int | None = None
    min_count: int = 1
    seed: int = 0

    def __post_init__(self):
        for name, given, known in (("optimizer", self.optimizer, OPTIMIZERS), ("schedule", self.schedule, SCHEDULES),
                                   ("keep", self.keep, ("best", "last"))):
            if given not in known:
                raise ValueError(f"{name} {given!r}: expected one of {', '.join(known)}")
        if self.epochs < 1:
            raise ValueError(f"epochs {self.epochs}: expected at least 1")

    def schedule_of(self, steps_of):
        """The schedule of a training; steps_of(epochs): how many steps so many epochs make."""
        return {"constant": lambda: Constant(), "decay": lambda: Decay(self.full_epochs, self.divisor),
                "linear": lambda: LinearDecay(steps_of(self.epochs)),
                "warmup": lambda: Warmup(self.warmup)}[self.schedule]()


class Trained:
    """Base of `Translator` and `Writer`, dataclasses with the fields model, one for each of VOCABULARIES, name,
    settings, training, corpus and history; they say how their text becomes `batches`."""

    KIND = ""
    VOCABULARIES = ()
    TRAINING = Training

    def trainer(self, train, valid=None, folder=None, threads=None, progress=True):
        """The Trainer that `fit` runs, for a loop of one's own."""
        how = self.training
        trainer = Trainer(self.model, OPTIMIZERS[how.optimizer](how.learning_rate), self.batches(train),
                          self.batches(valid) if valid else None, rng=np.random.default_rng([how.seed, 1]),
                          average=how.average, clip=how.clip, patience=how.patience, save_steps=how.save_steps,
                          path=None if folder is None else Path(folder) / CHECKPOINT, about=self.configuration(),
                          threads=threads, progress=progress)
        trainer.schedule = how.schedule_of(trainer.steps_of)        # the trainer alone knows how its epochs are shuffled
        return trainer

    def fit(self, train, valid=None, folder=None, threads=None, progress=True):
        """Train, or resume where a checkpoint is, and keep the parameters of the best epoch, or the last; → self.

        ValueError: the folder holds a run with other settings.
        """
        if folder is not None:
            check_same(folder, self, threads)
        trainer = self.trainer(train, valid, folder, threads, progress)
        if trainer.resume() and progress:
            print(f"resumed after {trainer.step:,} steps and {trainer.epoch} whole epochs")
        self.history = trainer.fit(self.training.epochs, self.training.minutes)
        self.threads = trainer.threads
        if self.training.keep == "best":
            trainer.use_best()
        return self

    def configuration(self):
        """All but the parameters, as a dict that JSON can hold."""
        return {"kind": self.KIND, "name": self.name, "settings": self.settings, "corpus": self.corpus,
                "training": dataclasses.asdict(self.training),
                **{name: getattr(self, name).saved() for name in self.VOCABULARIES}}

    @classmethod
    def load(cls, folder):
        """What was trained in a run's folder, with the parameters that its training keeps.

        FileNotFoundError: no run there; ValueError: its checkpoint is damaged, or of another kind.
        """
        path = Path(folder) / CHECKPOINT
        arrays, about = checkpoint.load(path)
        known = about.get("about", {})
        if known.get("kind") != cls.KIND:
            raise ValueError(f"{path} is no {cls.KIND}'s checkpoint, but a {known.get('kind', 'plain model')}'s: "
                             "name the folder of a run that `numpy-attention train` made")
        training = cls.TRAINING(**known["training"])
        vocabularies = [restored(known[name]) for name in cls.VOCABULARIES]
        model = build(known["name"], np.random.default_rng(0), *vocabularies, **known["settings"])
        best = training.keep == "best" and any(name.startswith("best/") for name in arrays)
        checkpoint.restore(model, arrays, "best" if best else "parameters")
        return cls(model, *vocabularies, known["name"], known["settings"], training,
                   known["corpus"], about["trainer"]["history"])


def kind_of(folder):
    """The kind of what was trained in a run's folder, "translator" or "writer"; errors as `checkpoint.load_about` has them."""
    return checkpoint.load_about(Path(folder) / CHECKPOINT).get("about", {}).get("kind", "plain model")
