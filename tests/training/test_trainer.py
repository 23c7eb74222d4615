"""The training loop: learning, sharing rows, bit-identical resuming, and stopping."""

import math
import os
import signal
import threading

import numpy as np
import pytest
from small import language_trainer, pairs, trainer, translator_model

from numpy_attention.data.batching import PairBatches
from numpy_attention.training import threads
from numpy_attention.training.distributed.ranks import SingleProcess
from numpy_attention.training.interrupt import Stopped
from numpy_attention.training.optimizers import SGD, Adam
from numpy_attention.training.trainer import Trainer


def test_loss_falls_in_history():
    run = trainer(count=200)
    history = run.fit(8)
    assert [line["epoch"] for line in history] == list(range(1, 9))
    assert history[-1]["train_perplexity"] < 0.5 * history[0]["train_perplexity"]
    assert history[-1]["valid_perplexity"] < history[0]["valid_perplexity"]
    assert math.isclose(history[-1]["valid_perplexity"], math.exp(history[-1]["valid_loss"]))


def test_two_threads_match_one():
    one, two = (trainer(translator_model(dtype=np.float64), threads=k) for k in (1, 2))
    one.fit(2)
    two.fit(2)
    np.testing.assert_allclose(one.model.vector, two.model.vector, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("make", [trainer, language_trainer])
@pytest.mark.parametrize("threads", [1, 2])
def test_resuming_within_an_epoch_is_bit_identical(tmp_path, make, threads):
    whole = make(threads=threads)
    whole.fit(3)

    class Stop(Exception):
        pass

    half = make(path=tmp_path / "run.npz", save_steps=1, threads=threads)
    save = half.save

    def save_and_stop():
        save()
        if half.step == len(half.train) + 3:
            raise Stop
    half.save = save_and_stop
    with pytest.raises(Stop):
        half.fit(3)
    rest = make(path=tmp_path / "run.npz", threads=threads)
    assert rest.resume() and rest.position == 3 and rest.epoch == 1
    rest.fit(3)
    assert np.array_equal(whole.model.vector, rest.model.vector)
    for name in whole.vectors:
        assert np.array_equal(whole.vectors[name], rest.vectors[name])
    assert without_time(rest.history) == without_time(whole.history)


def without_time(history):
    return [{key: value for key, value in line.items() if "second" not in key} for line in history]


def test_carried_state_is_used_and_reset_each_epoch():
    carried = language_trainer()
    reset = language_trainer()
    reset.train.carried = lambda place: False
    carried.fit(1)
    reset.fit(1)
    assert not np.allclose(carried.model.vector, reset.model.vector)
    assert carried.state is None


def test_time_limit_ends_the_run():
    run = trainer()
    run.fit(1000, minutes=0.01)
    assert 0.6 <= run.seconds < 30 and len(run.history) < 1000
    epochs = run.epoch
    vector = run.model.vector.copy()
    run.fit(1000, minutes=0.01)                         # the time is up already
    assert run.epoch == epochs and np.array_equal(run.model.vector, vector)
    run.fit(epochs + 1, minutes=10)                     # a larger limit continues
    assert run.epoch == epochs + 1 and not np.array_equal(run.model.vector, vector)


def test_clipping_bounds_the_step():
    run = trainer(optimizer=SGD(1.0), clip=0.01)
    before = run.model.vector.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run.train, "order", lambda rng=None: [np.arange(8)])
        run.fit(1)
    assert math.isclose(np.linalg.norm(run.model.vector - before), 0.01, rel_tol=1e-3)


@pytest.mark.parametrize("threads", [1, 2])
def test_frozen_parameters_stay_and_do_not_count_in_the_norm(threads):
    model = translator_model(dtype=np.float64)
    model.source_embedding.E *= 100
    run = trainer(model, optimizer=SGD(1.0), clip=0.01, threads=threads,
                  frozen=["source_embedding.E"])
    run.train.order = lambda rng=None: [np.arange(8)]
    before = run.model.copy()
    run.fit(1)
    assert np.array_equal(run.model.source_embedding.E, before.source_embedding.E)
    assert math.isclose(np.linalg.norm(run.model.vector - before.vector), 0.01, rel_tol=1e-9)
    with pytest.raises(ValueError, match="frozen = 'E'"):
        trainer(frozen=["E"])


def test_frozen_parameters_do_not_move_after_a_resume(tmp_path):
    path = tmp_path / "run.npz"
    trainer(path=path, optimizer=Adam()).fit(1)
    run = trainer(path=path, optimizer=Adam(), frozen=["source_embedding.E"])
    assert run.resume()
    before = run.model.source_embedding.E.copy()
    run.fit(2)
    assert np.array_equal(run.model.source_embedding.E, before)


@pytest.mark.parametrize("average", ["sentence", "token"])
def test_normalizer(average):
    run = trainer(optimizer=SGD(1.0), clip=math.inf, average=average)
    batch = run.train.batch(np.arange(8))
    grads = run.model.zeros_like()
    run.model.loss_and_grad(batch, None, 1.0, grads, np.random.default_rng([run.seed, 0]))
    before = run.model.vector.copy()
    run.train.order = lambda rng=None: [np.arange(8)]
    run.fit(1)
    by = batch.size if average == "sentence" else batch.tokens
    np.testing.assert_allclose(before - run.model.vector, grads.vector / by, atol=1e-6)


def test_interrupt_saves_and_prints_how_to_resume(tmp_path):
    run = trainer(path=tmp_path / "run.npz")
    before = signal.getsignal(signal.SIGINT)
    step = run.train_step

    def interrupted(*arguments):
        if run.step == 4:
            signal.raise_signal(signal.SIGINT)
        return step(*arguments)
    run.train_step = interrupted
    with pytest.raises(KeyboardInterrupt, match="after 5 steps, saved to .*resumes"):
        run.fit(3)
    rest = trainer(path=tmp_path / "run.npz")
    whole = trainer()
    assert rest.resume() and rest.step == 5
    rest.fit(3)
    whole.fit(3)
    assert np.array_equal(rest.model.vector, whole.model.vector)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("epochs", [1, 3])
def test_interrupt_during_validation(tmp_path, epochs):
    run = trainer(path=tmp_path / "run.npz")
    end = run._end_epoch

    def interrupted(pool):
        signal.raise_signal(signal.SIGINT)
        end(pool)
    run._end_epoch = interrupted
    with pytest.raises(KeyboardInterrupt, match="at the end of epoch 1 after 8 steps, saved"):
        run.fit(epochs)
    rest = trainer(path=tmp_path / "run.npz")
    assert rest.resume() and rest.epoch == 1 and len(rest.history) == 1
    assert len(rest.fit(epochs)) == epochs


class TwoRanks(SingleProcess):
    """A rank next to another one that receives no signal."""

    def allgather(self, value):
        quiet = {tuple: [(0, False)], int: [0]}.get(type(value), [])
        return [*quiet, value]


def warned_in(run, step, number, monkeypatch):
    """Warn as mpirun does in one step, then send a signal after the save; → steps saved."""
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    train, save, saves = run.train_step, run.save, []

    def interrupted(*arguments):
        if run.step == step:
            os.kill(os.getpid(), signal.SIGCONT)
        return train(*arguments)

    def saved():
        save()
        saves.append(run.step)
        if number and run.step == step + 1:
            os.kill(os.getpid(), number)

    run.train_step, run.save = interrupted, saved
    return saves


@pytest.mark.parametrize("step", [4, 7])
def test_mpirun_warning_saves_before_the_end(step, tmp_path, monkeypatch):
    """In the middle of an epoch, and at its end, where a save is due anyway: one save each."""
    run = trainer(path=tmp_path / "run.npz", ranks=TwoRanks())
    saves = warned_in(run, step, signal.SIGTERM, monkeypatch)
    with pytest.raises(Stopped, match=f"after {step + 1} steps, saved") as stopped:
        run.fit(3)
    assert saves == [step + 1] and stopped.value.number == signal.SIGTERM


def test_mpirun_warning_without_a_signal_saves_and_continues(tmp_path, monkeypatch):
    run = trainer(path=tmp_path / "run.npz", ranks=TwoRanks())
    saves = warned_in(run, 4, None, monkeypatch)
    assert len(run.fit(2)) == 2 and saves == [5, 8, 16]
    whole = trainer()
    whole.fit(2)
    assert np.array_equal(run.model.vector, whole.model.vector)


def test_mpirun_warning_at_the_end_of_an_epoch_saves_once(tmp_path, monkeypatch):
    run = trainer(path=tmp_path / "run.npz")
    saves = warned_in(run, None, None, monkeypatch)
    end = run._end_epoch

    def ended(pool):
        end(pool)
        os.kill(os.getpid(), signal.SIGCONT)
    run._end_epoch = ended
    assert len(run.fit(1)) == 1 and saves == [8]


def test_fit_works_outside_the_main_thread():
    run = trainer()
    histories = []
    thread = threading.Thread(target=lambda: histories.append(run.fit(1)))
    thread.start()
    thread.join()
    assert len(histories[0]) == 1


def test_median_step_size_sets_the_number_of_threads(monkeypatch):
    batches = PairBatches(*pairs(), batch_size=8)
    sizes = [batches.batch(place).tokens for place in batches.order()]
    middle = translator_model().size * sizes[len(sizes) // 2]
    assert sizes[0] < sizes[len(sizes) // 2] < max(sizes)
    monkeypatch.setattr(threads, "available", lambda ranks: 3)
    for limit, count in ((middle - 1, 3), (middle, 1)):
        monkeypatch.setattr(threads, "SMALL_STEP_OF_PROCESSES", limit)
        assert trainer(threads=None).threads == count


class Nothing:
    """An object without the required methods."""


@pytest.mark.parametrize("settings, message", [
    (dict(model=Nothing()), "^model .*Nothing"), (dict(optimizer=Nothing()), "^optimizer .*Noth"),
    (dict(train=None), "^train is None"), (dict(valid=Nothing()), "^valid .*Nothing"),
    (dict(schedule=3), "schedule is 3"), (dict(about=[1]), r"`about` is \[1\]"),
    (dict(about={"a": object()}), "`about` cannot be saved in a checkpoint: .*. Use only strings"),
    (dict(rng=5), "rng is 5"), (dict(average="row"), "expected one of 'sentence', 'token'"),
    (dict(clip=0.0), "clip = 0.0; expected a positive norm"), (dict(clip=math.nan), "clip = nan"),
    (dict(threads=0), "threads = 0"), (dict(patience=0), "patience = 0"),
    (dict(save_steps=0), "save_steps = 0"),
])
def test_invalid_arguments(settings, message):
    plain = trainer()
    rest = dict(model=plain.model, optimizer=plain.optimizer, train=plain.train,
                rng=np.random.default_rng(3))
    with pytest.raises((TypeError, ValueError), match=message):
        Trainer(**rest | settings)


def test_smallest_valid_arguments(tmp_path):
    run = trainer(clip=1e-300, patience=1, save_steps=1, threads=1, path=tmp_path / "run.npz")
    assert run.fit(0) == [] and run.fit(1, minutes=0) == []
    assert len(run.fit(1, minutes=float("inf"))) == 1
    for epochs, minutes, message in ((-1, None, "epochs = -1"), (1.5, None, "epochs = 1.5"),
                                     (1, -1, "minutes = -1; expected a number of at least 0"),
                                     (1, "x", "minutes = 'x'")):
        with pytest.raises((ValueError, TypeError), match=message):
            run.fit(epochs, minutes)


def test_thread_counts_that_ranks_cannot_share_raise():
    class Two(SingleProcess):
        count = 2

    with pytest.raises(ValueError, match=r"by the number of ranks \(2\); use 2 threads"):
        trainer(threads=3, ranks=Two())
    assert trainer(threads=4, ranks=Two()).threads_here() == 2


@pytest.mark.parametrize("changed, error, message", [
    ({"model": None}, TypeError,
     "^model is None, which has no attribute `vector`; expected a model$"),
    ({"optimizer": None}, TypeError, "^optimizer is None, which has no attribute `slots`; "),
    ({"train": None}, TypeError,
     "^train is None, which has no attribute `order`; expected batches such as PairBatches$"),
    ({"average": "mean"}, ValueError, "^average = 'mean'; expected"),
    ({"path": "."}, IsADirectoryError, r"^path is the folder '\.'; .* 'checkpoint.npz'$"),
])
def test_invalid_arguments_of_other_models(changed, error, message):
    fitting = trainer()
    arguments = {"model": fitting.model, "optimizer": fitting.optimizer, "train": fitting.train,
                 "rng": np.random.default_rng(0), "threads": 1}
    with pytest.raises(error, match=message):
        Trainer(**arguments | changed)


@pytest.mark.parametrize("share", [-1.0, math.nan])
def test_invalid_schedule_factor_raises(share):
    expected = "^the schedule's factor = .*; expected a .*number of at least 0"
    with pytest.raises(ValueError, match=expected):
        trainer(schedule=lambda step, epoch: share).fit(1)


def test_numpy_settings_become_python_numbers():
    run = trainer(clip=np.float32(2), threads=np.int64(1))
    assert type(run.clip) is float and type(run.threads) is int


def test_without_a_checkpoint_nothing_is_resumed(tmp_path):
    assert trainer(path=tmp_path / "run.npz").resume() is False
    assert trainer().resume() is False


def test_only_a_model_with_label_smoothing_reports_it():
    run = language_trainer()
    run.fit(1)
    assert "smoothing" not in run.history[0]
