"""Shares of a batch: each row once, states joined, gradients summed."""

import math

import numpy as np
import pytest
from ranks_in_threads import on_ranks, same
from small import pairs, translator_model

from numpy_attention.data.batching import PairBatches
from numpy_attention.kernels import updates
from numpy_attention.training import shares
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS
from numpy_attention.training.optimizers import SGD
from numpy_attention.training.shares import add_up, join_states, shared, split_state, update
from numpy_attention.training.threads import Threads


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_every_row_has_one_thread_and_states_follow_their_rows(count, rows):
    batch = PairBatches(*pairs(rows), batch_size=rows).batch(np.arange(rows))
    state = np.arange(rows), np.arange(rows)[:, None] * np.ones(2)
    threads = []

    def work(k, part, before):
        threads.append(k)
        assert part.rows.tolist() == before[0].tolist()
        return float(part.tokens), (before[0] + 100, before[1] + 100)

    with Threads(count) as pool:
        losses, after = shared(pool, batch, split_state(SINGLE_PROCESS, count, state), work)
        names, states = join_states(SINGLE_PROCESS, after)
    assert sorted(threads) == list(range(min(count, rows)))         # the other threads have no work
    assert len(losses) == len(threads) and sum(losses) == batch.tokens
    assert names.tolist() == [100 + row for row in range(rows)]
    assert states[:, 1].tolist() == [100 + row for row in range(rows)]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 20])
def test_ranks_split_rows_like_threads(rows):
    batch = PairBatches(*pairs(rows), batch_size=rows).batch(np.arange(rows))

    def share(ranks):
        with Threads(2, ranks) as pool:
            assert (pool.shares, pool.first) == (6, 2 * ranks.rank)
            parts = split_state(ranks, 2, np.arange(rows))
            losses, after = shared(pool, batch, parts, lambda k, part, before: (
                float(part.rows[0]), before + 100))
            assert len(after) == len(parts or [])
            return losses, join_states(ranks, after).tolist()

    losses, state = same(on_ranks(3, share))
    first = [rows * k // min(6, rows) for k in range(min(6, rows))]
    assert losses == first and state == [100 + row for row in range(rows)]


@pytest.mark.parametrize("small", [0, 1 << 30])
def test_sums_over_ranks_match_threads_bit_for_bit(monkeypatch, small):
    # the bits of a norm depend on SQUARED, not on BLOCK, which is a multiple of SQUARED
    assert updates.SQUARED == 2**15 and shares.BLOCK % updates.SQUARED == 0
    monkeypatch.setattr(shares, "BLOCK", updates.SQUARED)
    monkeypatch.setattr(shares, "SMALL", small)
    model = translator_model(hidden=160)
    size = model.vector.size
    assert size > 8 * shares.BLOCK                  # several blocks per thread
    vectors = np.random.default_rng(3).standard_normal((4, size)).astype(np.float32)

    def add(ranks, threads):
        parts = [model.zeros_like() for _ in range(threads)]
        for k, grads in enumerate(parts):
            grads.vector[:] = vectors[threads * ranks.rank + k]
        with Threads(threads, ranks) as pool:
            norm = add_up(pool, parts)
        return parts[0].vector.tobytes(), norm

    one = same(on_ranks(1, lambda ranks: add(ranks, 4)))
    assert same(on_ranks(2, lambda ranks: add(ranks, 2))) == one
    assert same(on_ranks(4, lambda ranks: add(ranks, 1))) == one


@pytest.mark.parametrize("block", [1, 100, 1 << 15])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_gradients_are_summed_and_cleared(rng, count, block, monkeypatch):
    monkeypatch.setattr(shares, "BLOCK", block)
    parts = [translator_model().zeros_like() for _ in range(count)]
    for grads in parts:
        grads.vector[:] = rng.standard_normal(grads.vector.size)
    total = np.sum([grads.vector.copy() for grads in parts], axis=0)
    with Threads(count) as pool:
        norm = add_up(pool, parts)
    np.testing.assert_allclose(parts[0].vector, total, rtol=1e-6)
    assert math.isclose(norm, np.linalg.norm(total.astype(np.float64)), rel_tol=1e-6)
    assert not any(grads.vector.any() for grads in parts[1:])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_update_changes_every_weight_once(rng, count):
    weights, gradient, velocity = rng.standard_normal((3, 10))
    wanted = weights - 0.5 * 0.1 * (0.9 * velocity + 0.25 * gradient)
    with Threads(count) as pool:
        update(pool, SGD(0.5, momentum=0.9), weights, gradient, {"velocity": velocity}, step=1,
               rate=0.1, factor=0.25)
    np.testing.assert_allclose(weights, wanted, rtol=1e-12)
    assert not gradient.any()
