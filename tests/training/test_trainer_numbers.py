"""Random numbers and choices of the training loop: dropout seeds, order, schedule, best epoch."""

import numpy as np
import pytest
from small import trainer

from numpy_attention.training import trainer as training
from numpy_attention.training.evaluation import Evaluation
from numpy_attention.training.optimizers import SGD
from numpy_attention.training.settings import Training

# ---- a step -------------------------------------------------------------------------------------


def recorded(run, epochs=2):
    """Run a training; → the generator states of its steps, and the batches it took."""
    states, places = [], []
    model, batches = type(run.model), type(run.train)
    loss_and_grad, batch = model.loss_and_grad, batches.batch

    def with_state(self, part, before, scale, grads, rng):
        states.append((run.step, rng.bit_generator.state["state"]["state"]))
        return loss_and_grad(self, part, before, scale, grads, rng)

    def with_place(self, place):
        if self is run.train:
            places.append(str(place))
        return batch(self, place)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "loss_and_grad", with_state)
        patch.setattr(batches, "batch", with_place)
        run.fit(epochs)
    return states, places


def state_of(*seed):
    return np.random.default_rng(seed).bit_generator.state["state"]["state"]


@pytest.mark.parametrize("threads", [1, 2])
def test_dropout_seed_differs_between_steps_and_runs(threads):
    """Threads of a step share the seed, because dropout hashes the row ids."""
    seen = set()
    for seed in (3, 4):
        run = trainer(rng=np.random.default_rng(seed), threads=threads)
        assert run.seed == int(np.random.default_rng(seed).integers(2**63))
        states, _ = recorded(run)
        assert len(states) >= 16
        assert all(state == state_of(run.seed, step) for step, state in states)
        seen |= set(states)
    assert len({state for _, state in seen}) == 2 * 16


def test_order_differs_between_epochs_and_runs():
    orders = set()
    for seed in (3, 4):
        run = trainer(rng=np.random.default_rng(seed))
        _, places = recorded(run)
        for epoch in range(2):
            order = run.train.order(np.random.default_rng([run.seed, epoch]))
            assert places[8 * epoch:8 * (epoch + 1)] == list(map(str, order))
            orders.add(str(order))
    assert len(orders) == 4


def test_schedule_and_optimizer_count_steps_from_1_and_epochs_from_0():
    asked, rates = [], []

    def schedule(step, epoch):
        asked.append((step, epoch))
        return step / 100

    class Recorded(SGD):
        def update(self, weights, gradient, vectors, step, rate=1.0, factor=1.0):
            rates.append((step, rate))
            super().update(weights, gradient, vectors, step, rate, factor)

    trainer(optimizer=Recorded(0.1), schedule=schedule).fit(2)
    assert asked == [(step, (step - 1) // 8) for step in range(1, 17)]
    assert rates == [(step, step / 100) for step in range(1, 17)]


# ---- an epoch -----------------------------------------------------------------------------------


def validated(run, losses, monkeypatch):
    """Train with these validation losses; after epoch k all parameters equal k."""
    losses = iter(losses)

    def evaluation(model, *rest):
        model.vector[:] = run.epoch + 1
        return Evaluation(10 * next(losses), 10)
    monkeypatch.setattr(training, "evaluate", evaluation)
    return run


def test_best_epoch_is_the_first_with_the_lowest_loss(monkeypatch):
    losses = [3.0, 2.0, 2.5, 1.5, 1.9, 1.5, 1.7]
    run = validated(trainer(), losses, monkeypatch)
    found = []
    for epoch in range(1, len(losses) + 1):
        run.fit(epoch)
        best, = {float(value) for array in run.best.values() for value in array.ravel()}
        found.append((best, run.best_loss, run.bad_epochs))
    assert found == [(1, 3.0, 0), (2, 2.0, 0), (2, 2.0, 1), (4, 1.5, 0), (4, 1.5, 1), (4, 1.5, 2),
                     (4, 1.5, 3)]
    assert not run.stopped and (run.model.vector == 7).all()
    assert (run.use_best().vector == 4).all()


@pytest.mark.parametrize("patience, epochs", [(1, 3), (np.int64(2), 6), (3, 7), (4, 8),
                                              (None, 8)])
def test_patience_counts_from_the_best_epoch(patience, epochs, monkeypatch):
    losses = [3.0, 2.0, 2.5, 1.5, 1.9, 1.5, 1.7, 1.6]
    run = validated(trainer(patience=patience), losses, monkeypatch)
    assert len(run.fit(8)) == epochs and run.stopped is (patience is not None)


@pytest.mark.parametrize("until", [2, 3, 4, 5])
def test_mean_of_the_last_epochs_is_kept(until, tmp_path, monkeypatch):
    """Before epoch 3, the best epoch is kept. The mean continues after a resume."""
    losses = [2.0, 1.0, 3.0, 0.5, 1.2]
    path = tmp_path / "run.npz"
    first = trainer(path=path, average_parameters_from=np.int64(3))
    validated(first, losses, monkeypatch).fit(until)
    rest = trainer(path=path, average_parameters_from=3)
    assert rest.resume()
    means = {2: 2, 3: 3, 4: 3.5, 5: 4}
    assert (rest.use_best().vector == means[until]).all()
    validated(rest, losses[until:], monkeypatch).fit(5)
    assert (rest.use_best().vector == 4).all() and rest.best_loss == 0.5
    with pytest.raises(ValueError, match="average_parameters_from is None, but"):
        trainer(path=path).resume()


def test_mean_of_no_epoch_is_refused():
    with pytest.raises(ValueError, match="average_parameters_from = 3 is after the last epoch"):
        Training(average_parameters_from=3, epochs=2)


# ---- resumed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", [1, 2, 3, 4])
def test_best_epoch_and_patience_are_resumed(until, tmp_path, monkeypatch):
    """Stopped after any epoch and resumed, it ends like an uninterrupted run."""
    losses = [2.0, 1.0, 3.0, 1.5, 1.2, 0.5]
    path = tmp_path / "run.npz"
    validated(trainer(path=path, patience=3), losses, monkeypatch).fit(until)
    rest = trainer(path=path, patience=3)
    assert rest.resume()
    assert rest.best_loss == min(losses[:until])
    assert rest.bad_epochs == max(0, until - 2) and len(rest.fit(until)) == until
    validated(rest, losses[until:], monkeypatch)
    assert len(rest.fit(9)) == 5 and rest.stopped
    again = trainer(path=path, patience=3)                  # stopped already, and remains so
    assert again.resume() and len(again.fit(9)) == 5
    for run in (rest, again):
        assert (run.use_best().vector == 2).all()


def test_killed_epoch_resumes_its_sums(tmp_path):
    class Killed(Exception):
        pass

    whole = trainer().fit(1)
    half = trainer(path=tmp_path / "run.npz", save_steps=3)
    step = half.train_step

    def step_until_7(*rest):
        if half.step == 7:
            raise Killed
        return step(*rest)
    half.train_step = step_until_7
    with pytest.raises(Killed):
        half.fit(1)
    rest = trainer(path=tmp_path / "run.npz")
    assert rest.resume() and rest.position == 6
    line, = rest.fit(1)
    assert line["train_loss"] == whole[0]["train_loss"]
