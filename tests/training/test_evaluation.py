"""Evaluation: perplexity, errors, and independence of batches and threads."""

import math

import numpy as np
import pytest
from small import language_trainer, pairs, translator_model

from numpy_attention.data.batching import PairBatches, TextBatches
from numpy_attention.training import evaluation
from numpy_attention.training.evaluation import Evaluation, evaluate
from numpy_attention.training.processes import workers


def test_perplexity_is_exp_of_the_mean_loss():
    assert Evaluation(10 * math.log(7), 10).perplexity == pytest.approx(7)
    assert Evaluation(0.0, 3).perplexity == 1
    assert Evaluation(3 * 709.0, 3).perplexity == math.exp(709)
    assert Evaluation(710.0, 1).perplexity == Evaluation(1e6, 1).perplexity == math.inf


def test_subtracting_a_part():
    whole = Evaluation(10.0, 5, (np.array([6.0, 4.0]), np.array([3, 2])))
    part = Evaluation(3.0, 2, (np.array([1.0, 2.0]), np.array([1, 1])))
    left = whole.without(part)
    assert (left.loss, left.tokens) == (7.0, 5)
    assert left.rows[0].tolist() == [5, 2] and left.rows[1].tolist() == [3, 2]
    assert whole.without(Evaluation(3.0, 2)).rows is None
    assert Evaluation(10.0, 5).without(part).rows is None


def test_invalid_evaluations():
    for model, batches, name in ((3, PairBatches(*pairs(2)), "model"), (Counts(), [3], "batches")):
        with pytest.raises(TypeError, match=f"^{name} is "):
            evaluate(model, batches)


@pytest.mark.parametrize("loss, tokens, error, message", [
    (1.0, 0, ValueError, "at least 1"),
    (1.0, -2, ValueError, "at least 1"),
    (math.nan, 3, ArithmeticError, "finite loss"),
    (math.inf, 3, ArithmeticError, "finite loss"),
])
def test_perplexity_raises(loss, tokens, error, message):
    for what in ("perplexity", "mean"):
        with pytest.raises(error, match=message):
            getattr(Evaluation(loss, tokens), what)


def test_evaluation_does_not_depend_on_threads_or_batches():
    model = translator_model(dtype=np.float64)
    whole, *others = [evaluate(model, PairBatches(*pairs(30, 2), batch_size=size), threads)
                      for size, threads in ((1, 1), (7, 1), (30, 2))]
    for other in others:
        assert other.tokens == whole.tokens
        assert math.isclose(other.loss, whole.loss, rel_tol=1e-12)


def test_state_is_carried_across_windows():
    """Windows of 7 steps give the same loss as one window."""
    run = language_trainer()
    text = np.random.default_rng(8).integers(4, 12, 100)
    whole, parts = (evaluate(run.model, TextBatches(text, batch_size=3, steps=steps))
                    for steps in (100, 7))
    assert whole.tokens == parts.tokens == 99
    assert math.isclose(whole.loss, parts.loss, rel_tol=1e-5)


class Counts:
    """A model that adds one to its state, and records the rows and states it is given."""

    def __init__(self):
        self.seen = []

    def loss(self, batch, state):
        before = np.zeros(batch.size) if state is None else state
        self.seen.append((batch.size, before.tolist()))
        return 1.0, before + 1


@pytest.mark.parametrize("carried, before", [(True, [0, 1, 2]), (False, [0, 0, 0])])
def test_state_is_reset_where_it_is_not_carried(carried, before):
    model = Counts()
    batches = PairBatches(*pairs(3), batch_size=1)
    batches.carried = lambda place: carried
    assert evaluate(model, batches) == Evaluation(3.0, sum(len(s) + 1 for s in pairs(3)[1]))
    assert [state for _, state in model.seen] == [[number] for number in before]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 7, 30])
def test_row_losses_are_in_row_order(size, threads):
    model = translator_model(dtype=np.float64)
    batches = PairBatches(*pairs(30, 2), batch_size=size)
    found = evaluate(model, batches, threads, by_row=True)
    losses, tokens = found.rows
    assert (found.loss, found.tokens) == (pytest.approx(losses.sum()), tokens.sum())
    assert found.loss == pytest.approx(evaluate(model, batches, threads).loss, rel=1e-12)
    order = [i for place in batches.order() for i in place]
    rows = PairBatches([batches.sources[i] for i in order], [batches.targets[i] for i in order], 1)
    for row, (loss, count) in enumerate(zip(losses, tokens)):
        batch = rows.batch([row])
        assert count == batch.tokens
        assert loss == pytest.approx(model.loss(batch)[0], rel=1e-10)


def test_invalid_batches_raise():
    expected = "^batches is None, which has no attribute `order`; expected batches such as PairB"
    with pytest.raises(TypeError, match=expected):
        evaluate(translator_model(), None, 1)


def test_default_is_one_thread(monkeypatch):
    counts = []

    def recorded(count, ranks):
        counts.append(count)
        return workers(count, ranks)
    monkeypatch.setattr(evaluation, "workers", recorded)
    run = language_trainer()
    evaluate(run.model, run.train)
    evaluate(run.model, run.train, 2)
    assert counts == [1, 2]


def test_str_shows_perplexity_and_tokens():
    assert str(Evaluation(1200 * math.log(2), 1200)) == "perplexity 2.00 over 1,200 tokens"
