"""What a checkpoint holds of a training: enough to go on bit-identically, and what it refuses."""

import json

import numpy as np
import pytest
from small import language_trainer, trainer, translator_model

from numpy_attention.training import checkpoint, snapshot
from numpy_attention.training.optimizers import SGD
from numpy_attention.trees import leaves


def standing(run):
    """All that a snapshot must bring back, as text or bytes."""
    arrays = [run.model.vector, *run.vectors.values(), *run.best.values(), *leaves(run.state)]
    attributes = {name: getattr(run, name) for name in snapshot.ATTRIBUTES}
    return json.dumps(attributes | {"best_loss": run.best_loss}), [a.tobytes() for a in arrays]


@pytest.mark.parametrize("make", [trainer, language_trainer])
def test_all_comes_back(tmp_path, make):
    run = make(path=tmp_path / "run.npz", optimizer=SGD(0.1, momentum=0.9))
    run.fit(2)
    run.state = np.arange(6.0).reshape(3, 2), None, (np.ones(3),)           # as within an epoch
    run.position = 5
    run.epoch_loss = 1.5
    run.epoch_tokens = 3
    run.epoch_seconds = 0.25
    run.save()
    other = make(path=tmp_path / "run.npz", optimizer=SGD(0.1, momentum=0.9))
    assert standing(other) != standing(run)
    assert other.resume()
    assert standing(other) == standing(run) and other.state[1] is None
    assert set(other.best) == set(run.best) and bool(other.best) == (make is trainer)


def test_no_path_or_no_file_is_nothing_to_resume(tmp_path):
    run = trainer(path=tmp_path / "run.npz")
    assert not run.resume() and not trainer().resume()
    trainer().save()
    assert not list(tmp_path.iterdir())


def test_another_optimizer_setting_or_model_is_refused_and_nothing_is_changed(tmp_path):
    path = tmp_path / "run.npz"
    trainer(path=path).fit(1)
    for run, message in (
        (trainer(path=path, optimizer=SGD(0.1)), "was trained with Adam.*same optimizer"),
        (trainer(path=path, clip=2.0), "clip=1.0, now 2.0"),
        (trainer(path=path, average="token"), "average=sentence, now token"),
        (trainer(translator_model(hidden=8), path), "shape"),
    ):
        before = standing(run)
        with pytest.raises(ValueError, match=message):
            run.resume()
        assert standing(run) == before


def test_the_caller_s_own_words_are_kept(tmp_path):
    trainer(path=tmp_path / "run.npz", about={"note": "ü"}).fit(1)
    assert checkpoint.load_about(tmp_path / "run.npz")["about"] == {"note": "ü"}
