"""Small runs to attack: trained once a process, then copied."""

import functools
import tempfile
from pathlib import Path

from numpy_attention.data.own_text import OwnPairs, OwnText
from numpy_attention.data.selection import selected
from numpy_attention.runs.saved import CHECKPOINT
from numpy_attention.runs.translator import Translator
from numpy_attention.runs.writer import Writer
from numpy_attention.training.settings import TranslatorTraining, WriterTraining

SOURCE = "the cat sees\na dog runs far\nthe dog sees\na cat runs\nthe bird sings\n" * 4
TARGET = "el gato ve\nun perro corre lejos\nel perro ve\nun gato corre\nel ave canta\n" * 4
SIZES = {"hidden": 8, "embedding": 6, "init": "modern"}
SETTINGS = {
    "rnnsearch": SIZES,
    "luong": SIZES | {"layers": 1, "attention": "general", "window": "local-p", "width": 2},
    "transformer": {"size": 8, "layers": 1, "heads": 2},
    "attentive-language-model": {
        "hidden": 8, "embedding": 8, "layers": 1, "attention": "combined", "carried": 3},
    "language-model": {"hidden": 8, "layers": 1, "tied": True},
}


class Run:
    """A run that stands in a checkpoint: what it learnt from, and how."""

    def __init__(self, name, texts):
        self.name = name
        self.texts = texts

    def create(self, epochs=1):
        """→ the Translator or Writer before training, its two splits."""
        selection = self.selection()
        learn, valid = selection.load("train", "valid")
        how = {"epochs": epochs, "batch_size": 4, "save_steps": 2}
        if self.name in ("rnnsearch", "luong", "transformer"):
            made = Translator.create(learn, self.name, SETTINGS[self.name],
                                     TranslatorTraining(**how), selection.saved())
        else:
            made = Writer.create(learn, self.name, SETTINGS[self.name],
                                 WriterTraining(steps=5, **how), selection.saved())
        return made, learn, valid

    def selection(self):
        if self.name in ("rnnsearch", "luong", "transformer"):
            return OwnPairs(self.texts / "source.txt", self.texts / "target.txt")
        return OwnText(self.texts / "source.txt")

    @functools.cached_property
    def checkpoint(self):
        """The bytes of its checkpoint after an epoch."""
        with tempfile.TemporaryDirectory() as folder:
            made, learn, valid = self.create()
            made.fit(learn, valid, folder, 1, progress=False)
            return (Path(folder) / CHECKPOINT).read_bytes()

    @property
    def kind(self):
        return Translator if isinstance(self.selection(), OwnPairs) else Writer

    def put(self, folder):
        """Its checkpoint into a folder; → the path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / CHECKPOINT
        path.write_bytes(self.checkpoint)
        return path


@functools.cache
def texts():
    """A folder with the text that they all learn from, for as long as the process lives; users
    without rights may read it, too.
    """
    keep.append(tempfile.TemporaryDirectory(prefix="hostile-texts-"))
    folder = Path(keep[0].name)
    folder.chmod(0o755)
    (folder / "source.txt").write_text(SOURCE, encoding="utf-8")
    (folder / "target.txt").write_text(TARGET, encoding="utf-8")
    return folder


keep = []


@functools.cache
def run(name):
    """The Run of a model."""
    return Run(name, texts())


def any_run(rng):
    return run(list(SETTINGS)[rng.integers(len(SETTINGS))])


def saved(learnt):
    """What `selected` makes of a run's selection again."""
    return selected(learnt.selection().saved())
