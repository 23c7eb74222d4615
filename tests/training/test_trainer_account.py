"""Bookkeeping of the training loop: history, time, steps, clipping, saves and non-finite values."""

import itertools
import math
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from small import language_trainer, pairs, trainer, translator_model

from numpy_attention.data.batching import PairBatches
from numpy_attention.training import trainer as training
from numpy_attention.training.diagnosis import NonFiniteError
from numpy_attention.training.evaluation import evaluate
from numpy_attention.training.optimizers import SGD
from numpy_attention.training.schedules import Decay
from numpy_attention.training.trainer import Trainer


class Still:
    """An optimizer that changes nothing and records its arguments."""

    slots = ()

    def __init__(self):
        self.steps = []
        self.factors = []

    def update(self, weights, gradient, vectors, step, rate, factor):
        gradient[:] = 0
        self.steps.append((step, rate))
        self.factors.append(factor)


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances a quarter of a second each time it is read."""
    ticks = itertools.count()
    now = SimpleNamespace(perf_counter=lambda: next(ticks) / 4)
    monkeypatch.setattr(training, "time", now)


# ---- settings ------------------------------------------------------------------------------------

def test_default_settings():
    run = Trainer(translator_model(), SGD(0.1), PairBatches(*pairs()), rng=np.random.default_rng(3))
    assert (run.average, run.clip, run.progress) == ("sentence", 5.0, True)
    assert run.schedule(1, 0) == run.schedule(99, 9) == 1
    assert run.valid is run.path is run.patience is run.save_steps is None and run.about == {}


def test_initial_state_of_a_run():
    run = trainer()
    assert run.seed == np.random.default_rng(3).integers(2**63)     # the generator's first number
    assert run.epoch == run.position == run.step == run.bad_epochs == 0 and not run.stopped
    assert run.seconds == run.epoch_loss == run.epoch_tokens == run.epoch_seconds == 0
    assert run.history == [] and run.best == {} and run.best_loss == math.inf and run.state is None
    assert not any(vector.any() for vector in run.vectors.values())


# ---- history -------------------------------------------------------------------------------------

def test_history_line_by_hand(clock):
    """With constant weights and no dropout, the training loss is that of the text."""
    run = trainer(translator_model(dropout=0.0), optimizer=Still(), threads=2)
    lines = run.fit(2)
    train = evaluate(run.model, run.train, 2)
    valid = evaluate(run.model, run.valid, 2)
    for epoch, line in enumerate(lines, 1):
        assert line == {
            "epoch": epoch, "step": 8 * epoch, "seconds": 2.0 * epoch, "threads": 2,
            "train_loss": pytest.approx(train.mean), "valid_loss": pytest.approx(valid.mean),
            "train_perplexity": pytest.approx(train.perplexity),
            "valid_perplexity": pytest.approx(valid.perplexity),
            "tokens_per_second": round(train.tokens / 2),
        }
    assert run.seconds == 4
    run.seconds = 1.23456
    assert run.fit(3)[-1]["seconds"] == 3.23
    assert run.position == run.epoch_loss == run.epoch_tokens == run.epoch_seconds == 0


def test_smoothing_is_reported_if_used():
    for smoothing in (0.0, 0.1):
        run = trainer()
        run.model.smoothing = smoothing
        assert run.fit(1)[0].get("smoothing", 0.0) == smoothing


def test_bar_and_epoch_line_are_shown(monkeypatch, clock):
    calls = []

    class Bar:
        def __init__(self, *arguments):
            calls.append(arguments)

        def __enter__(self):
            return "bar"

        def __exit__(self, *error):
            calls.append("closed")

    monkeypatch.setattr(training, "bar_of", Bar)
    monkeypatch.setattr(training, "advance", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(training, "print_epoch", lambda *arguments: calls.append(arguments))
    run = trainer(optimizer=Still(), count=24, threads=2, progress=True)
    run.position, run.epoch_loss, run.epoch_tokens = 1, 50.0, 40        # resumed after one batch
    run.fit(1)
    (bar, *advances), (closed, line) = calls[:-2], calls[-2:]
    assert bar == (1, 3, 1, 2, True, 1) and closed == "closed"
    assert [advance[0] for advance in advances] == ["bar"] * 2
    assert [advance[3] for advance in advances] == [0.25, 0.5]
    assert 50 < advances[0][1] < advances[1][1] and 40 < advances[0][2] < advances[1][2]
    assert line == (run.history[0], 0.5)
    assert run.history[0]["tokens_per_second"] == round(advances[1][2] / 0.5)
    assert run.history[0]["train_loss"] == advances[1][1] / advances[1][2]
    run.fit(2)
    assert calls[5] == (2, 3, 0, 2, True, 1)
    calls.clear()
    trainer(optimizer=Still(), progress=False).fit(1)
    assert calls[0][4] is False and calls[-1] == "closed"


# ---- time and steps ------------------------------------------------------------------------------

def test_time_limit_ends_the_epoch_after_the_batch_that_exceeds_it(clock):
    run = trainer(optimizer=Still())
    run.fit(9, minutes=2.5 / 60)                                # 10 steps of 0.25 s
    assert run.step == 10 and run.seconds == 2.5
    assert run.epoch == 2 and run.position == 0                 # the rest of the second is skipped
    run.fit(9, minutes=2.5 / 60)
    assert run.step == 10
    run.fit(9, minutes=2.6 / 60)
    assert run.step == 11


def test_steps_are_counted_and_match_the_plan():
    run = trainer(optimizer=Still(), schedule=Decay(1, 2))
    assert [run.steps_of(epochs) for epochs in range(4)] == [0, 8, 16, 24]
    run.train.order = lambda rng: [np.arange(8)] * int(rng.integers(1, 9))      # random sizes
    planned = [run.steps_of(epochs) for epochs in range(4)]
    run.fit(3)
    assert [line["step"] for line in run.history] == planned[1:] and len(set(planned)) == 4
    rates = [rate for _, rate in run.optimizer.steps]
    assert [step for step, _ in run.optimizer.steps] == list(range(1, planned[3] + 1))
    assert rates == sum(([0.5**i] * (planned[i + 1] - planned[i]) for i in range(3)), [])


def test_state_is_empty_at_the_start_of_each_text():
    run = language_trainer(optimizer=Still())
    begun = []
    step = run.model.loss_and_grad

    def noted(part, before, scale, grads, rng):
        begun.append(before is None)
        return step(part, before, scale, grads, rng)
    run.model.loss_and_grad = noted
    run.fit(2)
    places = run.train.order()
    assert begun == 2 * [not run.train.carried(place) for place in places]
    assert begun == 2 * [True, *[False] * (len(places) - 1)]


# ---- clipping ------------------------------------------------------------------------------------

def with_gradient(run, number):
    """Give a trainer's model a gradient with `number` in one entry and 0 elsewhere."""
    def loss_and_grad(part, before, scale, grads, rng):
        grads.vector[0] += number
        return 1.0, None
    run.model.loss_and_grad = loss_and_grad
    return run


@pytest.mark.parametrize("clip, number, factor", [
    (2.0, 0.0, 1.0), (2.0, 1.0, 1.0), (2.0, 2.0, 1.0), (2.0, 8.0, 0.25), (0.25, 0.5, 0.5),
])
def test_clipping_factor_by_hand(clip, number, factor):
    run = with_gradient(trainer(optimizer=Still(), clip=clip), number)
    run.fit(1)
    assert set(run.optimizer.factors) == {factor}


# ---- saves ---------------------------------------------------------------------------------------

def saved_at(run):
    """Return (epoch, position, step) of every save."""
    places = []
    run.save = lambda: places.append((run.epoch, run.position, run.step))
    return places


def test_saved_after_every_epoch_and_every_save_steps():
    run = trainer(optimizer=Still(), save_steps=3)
    places = saved_at(run)
    run.fit(2)
    assert places == [(0, 3, 3), (0, 6, 6), (1, 0, 8),
                      (1, 1, 9), (1, 4, 12), (1, 7, 15), (2, 0, 16)]
    run = trainer(optimizer=Still())
    places = saved_at(run)
    run.fit(2)
    assert places == [(1, 0, 8), (2, 0, 16)]


def test_stopping_without_a_path_reports_that_nothing_is_saved():
    run = trainer(optimizer=Still())
    run.train.carried = lambda place: run.step == 10 and signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match="in epoch 2 after 11 steps, not saved, because no"):
        run.fit(3)


# ---- non-finite values ---------------------------------------------------------------------------

@pytest.mark.parametrize("loss, number, words", [
    (math.nan, 0.0, "has loss nan and gradient norm 0.0. The first NaN or inf is in the loss. "),
    (1.0, math.inf, "has loss 1.0 and gradient norm inf. The first NaN or inf is in the gradient"),
])
def test_non_finite_values_are_reported_with_their_step(loss, number, words):
    run = trainer(optimizer=Still())
    fine = run.model.loss_and_grad

    def loss_and_grad(part, before, scale, grads, rng):
        if run.step < 9:
            return fine(part, before, scale, grads, rng)
        grads.vector[0] += number
        return loss, None
    run.model.loss_and_grad = loss_and_grad
    with pytest.raises(NonFiniteError, match=f"^step 10 of epoch 2 {words}"):
        run.fit(2)
    assert run.step == len(run.optimizer.steps) == 9
