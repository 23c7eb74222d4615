"""Training state in a checkpoint: bit-identical resuming, and errors for invalid contents."""

import json

import numpy as np
import pytest
from small import language_trainer, trainer, translator_model

from numpy_attention.training import checkpoint, snapshot
from numpy_attention.training.optimizers import SGD
from numpy_attention.trees import leaves


def training_state(run):
    """Return everything that a snapshot must restore, as text and bytes."""
    arrays = [run.model.vector, *run.vectors.values(), *run.best.values(), *leaves(run.state)]
    attributes = {name: getattr(run, name) for name in snapshot.ATTRIBUTES}
    return json.dumps(attributes | {"best_loss": run.best_loss}), [a.tobytes() for a in arrays]


@pytest.mark.parametrize("make", [trainer, language_trainer])
def test_round_trip(tmp_path, make):
    run = make(path=tmp_path / "run.npz", optimizer=SGD(0.1, momentum=0.9))
    run.fit(2)
    run.state = np.arange(6.0).reshape(3, 2), None, (np.ones(3),)       # in the middle of an epoch
    run.position = 5
    run.epoch_loss = 1.5
    run.epoch_tokens = 3
    run.epoch_seconds = 0.25
    run.save()
    other = make(path=tmp_path / "run.npz", optimizer=SGD(0.1, momentum=0.9))
    assert training_state(other) != training_state(run)
    assert other.resume()
    assert training_state(other) == training_state(run) and other.state[1] is None
    assert set(other.best) == set(run.best) and bool(other.best) == (make is trainer)


def test_other_optimizer_settings_or_model_raise_and_change_nothing(tmp_path):
    path = tmp_path / "run.npz"
    trainer(path=path).fit(1)
    for run, message in (
        (trainer(path=path, optimizer=SGD(0.1)), "trained with .*Adam.*, not SGD.*; use"),
        (trainer(path=path, clip=2.0), "clip is 2.0, but .* was trained with clip=1.0"),
        (trainer(path=path, average="token"), "average is 'token', but .* with average='sentence'"),
        (trainer(translator_model(hidden=8), path), "shape"),
    ):
        before = training_state(run)
        with pytest.raises(ValueError, match=message):
            run.resume()
        assert training_state(run) == before


def changed(path, change):
    """Save a run of two epochs with its arrays and JSON changed."""
    trainer(path=path).fit(2)
    arrays, about = checkpoint.load(path)
    change(arrays, about)
    checkpoint.save(path, arrays, about)


def without(name):
    return lambda arrays, about: arrays.pop(name)


def put(name, array):
    return lambda arrays, about: arrays.update({name: array})


def state(**entries):
    return lambda arrays, about: about["trainer"].update(entries)


@pytest.mark.parametrize("change, message", [
    (without("optimizer/m"), "missing 'optimizer/m'. Resume with the same model"),
    (without("best/C"), "missing 'best/C'"),
    (put("state/0", np.zeros(2)), "unknown 'state/0'"),
    (put("optimizer/m", np.zeros(3, np.float32)), r"'optimizer/m' has shape \(3,\) and"),
    (put("parameters/C", np.zeros(3, np.int32)), r"'parameters/C' has shape \(3,\) and dtype int"),
    (state(epoch=3), "'trainer.epoch' is 3; expected 2, the number of epochs"),
    (state(position=10**6), "'trainer.position' is 1000000; expected at most 8, the number"),
    (state(position=1), "'trainer.position' is 1, but no tokens or seconds are"),
    (state(position=1, epoch_tokens=5), "no tokens or seconds"),
    (state(position=1, epoch_seconds=5.0), "no tokens or seconds"),
    (state(seed="7"), "'trainer.seed' is \"7\"; expected an integer"),
    (state(threads=10**6), "'trainer.threads' is 1000000; expected"),
    (state(history=[{}]), r"'trainer.history\[0\].epoch' is missing"),
    (lambda arrays, about: about.pop("state"), "'state' is missing"),
    (lambda arrays, about: about.update(state=[0, None]), "missing 'state/0'"),
    (lambda arrays, about: about.update(best_loss="low"), "'best_loss' is \"low\""),
])
def test_invalid_states_raise_and_change_nothing(tmp_path, change, message):
    path = tmp_path / "run.npz"
    changed(path, change)
    run = trainer(path=path)
    before = training_state(run)
    with pytest.raises(ValueError, match=message) as error:
        run.resume()
    assert "run.npz" in str(error.value) and "\n" not in str(error.value)
    assert training_state(run) == before


def test_resume_after_the_last_batch_of_an_epoch(tmp_path):
    path = tmp_path / "run.npz"
    changed(path, state(position=8, epoch_tokens=5, epoch_seconds=5.0))
    run = trainer(path=path)
    assert run.resume() and run.position == 8
    assert run.fit(3)[-1]["epoch"] == 3


def test_number_of_ranks_is_saved(tmp_path):
    path = tmp_path / "run.npz"
    run = trainer(path=path, threads=2)
    assert run.ranks_before == 1
    run.save()
    arrays, about = checkpoint.load(path)
    assert about["trainer"]["ranks"] == 1
    about["trainer"]["ranks"] = 2
    checkpoint.save(path, arrays, about)
    assert run.resume() and run.ranks_before == 2
    del about["trainer"]["ranks"]                           # as written by 0.2.0
    checkpoint.save(path, arrays, about)
    assert run.resume() and run.ranks_before == 1
    checkpoint.save(path, arrays, about | {"trainer": about["trainer"] | {"ranks": 0}})
    with pytest.raises(ValueError, match="'trainer.ranks' is 0; expected an integer"):
        run.resume()
