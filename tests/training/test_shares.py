"""Shares: every row once, states put together again, gradients added up."""

import math

import numpy as np
import pytest
from small import pairs, translator_model

from numpy_attention.data.batching import PairBatches
from numpy_attention.training.optimizers import SGD
from numpy_attention.training.ranks import ALONE
from numpy_attention.training.shares import add_up, cut, shared, update, whole
from numpy_attention.training.threads import Threads


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_every_row_is_one_threads_and_states_stay_beside_their_rows(count, rows):
    batch = PairBatches(*pairs(rows), batch_size=rows).batch(np.arange(rows))
    state = np.arange(rows), np.arange(rows)[:, None] * np.ones(2)
    threads = []

    def work(k, part, before):
        threads.append(k)
        assert part.rows.tolist() == before[0].tolist()
        return float(part.tokens), (before[0] + 100, before[1] + 100)

    with Threads(count) as pool:
        losses, after = shared(pool, batch, cut(ALONE, count, state), work)
        names, states = whole(ALONE, after)
    assert sorted(threads) == list(range(min(count, rows)))         # the others have no work
    assert len(losses) == len(threads) and sum(losses) == batch.tokens
    assert names.tolist() == [100 + row for row in range(rows)]
    assert states[:, 1].tolist() == [100 + row for row in range(rows)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_twins_are_added_up_and_cleared(rng, count):
    twins = [translator_model().zeros_like() for _ in range(count)]
    for twin in twins:
        twin.vector[:] = rng.standard_normal(twin.vector.size)
    total = np.sum([twin.vector.copy() for twin in twins], axis=0)
    with Threads(count) as pool:
        norm = add_up(pool, twins)
    np.testing.assert_allclose(twins[0].vector, total, rtol=1e-6)
    assert math.isclose(norm, np.linalg.norm(total.astype(np.float64)), rel_tol=1e-6)
    assert not any(twin.vector.any() for twin in twins[1:])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_an_update_reaches_every_weight_once(rng, count):
    weights, gradient, velocity = rng.standard_normal((3, 10))
    wanted = weights - 0.5 * 0.1 * (0.9 * velocity + 0.25 * gradient)
    with Threads(count) as pool:
        update(pool, SGD(0.5, momentum=0.9), weights, gradient, {"velocity": velocity}, step=1,
               rate=0.1, factor=0.25)
    np.testing.assert_allclose(weights, wanted, rtol=1e-12)
    assert not gradient.any()
