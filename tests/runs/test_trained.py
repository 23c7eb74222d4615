"""What translators and writers share: a folder goes on with its own run alone, schedules end with it, the best is kept."""

import numpy as np
import pytest

from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.runs.trained import kind_of
from numpy_attention.training import checkpoint
from numpy_attention.runs.translator import Translator, TranslatorTraining
from numpy_attention.runs.writer import Writer, WriterTraining

PAIRS = [Pair(("a", "b"), ("x", "y")), Pair(("b",), ("y", "x")), Pair(("b", "a", "a"), ("x",))]
OTHERS = [Pair(("dog", "cat"), ("chien", "chat")), Pair(("cat",), ("chat",))]
SIZES = dict(hidden=4, embedding=3, init="modern")


def translator_of(pairs=PAIRS, settings=SIZES, **training):
    training = TranslatorTraining(**{"epochs": 1, "batch_size": 2} | training)
    return Translator.create(pairs, settings=settings, training=training)


@pytest.fixture
def folder(tmp_path):
    translator_of().fit(PAIRS, PAIRS, tmp_path, 1, progress=False)
    return tmp_path


@pytest.mark.parametrize("other, threads, message", [
    (translator_of(OTHERS), None, "source_vocabulary"), (translator_of(settings=SIZES | {"dropout": 0.5}), None, "dropout"),
    (translator_of(seed=7), None, "seed 0 there, 7 now"), (translator_of(batch_size=1), None, "batch_size 2 there, 1 now"),
    (translator_of(), 2, "threads 1 there, 2 now"),
])
def test_another_run_is_not_resumed(folder, other, threads, message):
    before = (folder / "checkpoint.npz").read_bytes()
    with pytest.raises(ValueError, match=message):
        other.fit(PAIRS, PAIRS, folder, threads, progress=False)
    assert (folder / "checkpoint.npz").read_bytes() == before


def test_what_leaves_the_steps_as_they_were_may_change(folder):
    more = translator_of(epochs=3, minutes=5.0, save_steps=2, keep="last").fit(PAIRS, PAIRS, folder, progress=False)
    assert len(more.history) == 3 and more.threads == 1
    assert len(Translator.load(folder).fit(PAIRS, PAIRS, folder, 1, progress=False).history) == 3


def test_the_arrays_are_read_once(folder, monkeypatch):
    read, load = [], checkpoint.load
    monkeypatch.setattr(checkpoint, "load", lambda path: read.append(path) or load(path))
    assert kind_of(folder) == "translator"
    Translator.load(folder)
    assert len(read) == 1
    translator_of().fit(PAIRS, PAIRS, folder, 1, progress=False)
    assert len(read) == 2


@pytest.mark.parametrize("state, steps", [("carried", None), ("sentence", None), ("article", 5), (None, None)])
def test_a_linear_schedule_ends_with_the_last_step(state, steps, rng):
    """Also where shuffled groups of documents take more windows than sorted ones."""
    how = dict(epochs=2, batch_size=2, schedule="linear")
    if state is None:
        learn = [Pair(("a",) * n, ("x",) * n) for n in rng.integers(1, 6, 61)]
        trained = translator_of(learn, **how)
    else:
        learn = Text([[["a"] for _ in range(n)] for n in rng.integers(1, 40, 90)], whole=True)
        training = WriterTraining(state=state, steps=steps or 35, **how)
        trained = Writer.create(learn, settings=dict(hidden=4, layers=1), training=training)
    trainer = trained.trainer(learn, threads=1, progress=False)
    trainer.fit(2)
    assert trainer.schedule.steps == trainer.step
    assert (trainer.step > 2 * len(trainer.train)) if state == "article" else (trainer.step == 2 * len(trainer.train))


@pytest.mark.parametrize("flat", [False, True])
def test_the_best_parameters_are_kept_by_name(folder, flat):
    """And those of runs that kept them as one vector are read."""
    best = Translator.load(folder).model.vector.copy()
    arrays, about = checkpoint.load(folder / "checkpoint.npz")
    names = [name for name in arrays if name.startswith("best/")]
    assert len(names) == len(list(Translator.load(folder).model.named_parameters()))
    arrays |= {name: array + 1 for name, array in arrays.items() if name.startswith("parameters/")}     # another last epoch
    if flat:
        arrays["best"] = np.concatenate([arrays.pop(name).ravel() for name in names])
    else:
        arrays = dict(reversed(arrays.items()))                                      # a field has moved in its class since
    checkpoint.save(folder / "checkpoint.npz", arrays, about)
    assert np.array_equal(Translator.load(folder).model.vector, best)
    resumed = translator_of()
    trainer = resumed.trainer(PAIRS, PAIRS, folder, 1, progress=False)
    assert trainer.resume() and np.array_equal(resumed.model.vector, best + 1)
    assert np.array_equal(trainer.use_best().vector, best)
