"""Ranks as threads of one process; tests/integration/cli/test_mpirun.py starts real ones."""

import os
import signal
import socket
import time

import at_ranks
import numpy as np
import pytest
from ranks_in_threads import Comm, on_ranks, same

from numpy_attention.experiments.runs.provenance import check_rank_consistency, digest
from numpy_attention.experiments.runs.trained import how_shared
from numpy_attention.training import threads as pools
from numpy_attention.training.distributed import ranks
from numpy_attention.training.distributed.ranks import (
    SINGLE_PROCESS,
    Ranks,
    adds_as_one,
    tree,
    world,
)
from numpy_attention.training.shares import join_states, shares_here, split_state

# ---- sums ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8])
def test_tree_adds_each_vector_once(count):
    things = [{k} for k in range(count)]
    order = []

    def add(to, one):
        assert not things[to] & things[one]
        things[to] |= things[one]
        order.append((to, one))

    tree(add, count)
    assert things[0] == set(range(count)) and len(order) == count - 1
    if count == 4:
        assert order == [(0, 1), (2, 3), (0, 2)]


def test_adds_as_one_is_true_only_for_equal_associations():
    def association(count, threads):
        """Return the order of additions as a formula, threads within a rank first."""
        formula = [str(share) for share in range(count * threads)]

        def add(to, one):
            formula[to] = f"({formula[to]} {formula[one]})"

        for begin in range(0, count * threads, threads):
            tree(lambda to, one: add(begin + to, begin + one), threads)
        tree(lambda to, one: add(threads * to, threads * one), count)
        return formula[0]

    for many in range(1, 7):
        for threads in range(1, 7):
            alike = association(many, threads) == association(1, many * threads)
            if adds_as_one(many, threads):
                assert alike, (many, threads)
    assert not adds_as_one(2, 3) and association(2, 3) != association(1, 6)


# ---- collective operations -----------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [0, 1, 3, 1000])
def test_sum_is_bit_identical_on_every_rank(count, size):
    vectors = [np.random.default_rng([size, rank]).standard_normal(size).astype(np.float32)
               for rank in range(count)]

    def add(ranks):
        vector = vectors[ranks.rank].copy()
        ranks.add(vector)
        return vector

    total = [vector.copy() for vector in vectors]
    tree(lambda to, one: np.add(total[to], total[one], out=total[to]), count)
    assert same(on_ranks(count, add)).tobytes() == total[0].tobytes()


def test_allgather_broadcast_and_first():
    def tell(ranks):
        return ranks.allgather(ranks.rank ** 2), ranks.broadcast(ranks.rank + 5), ranks.count

    assert same(on_ranks(3, tell)) == ([0, 1, 4], 5, 3)
    assert on_ranks(3, lambda ranks: ranks.is_first) == [True, False, False]
    calls = []
    assert on_ranks(2, lambda ranks: ranks.first(lambda: calls.append(ranks.rank) or 3)) == [3, 3]
    assert calls == [0]

    def fail(ranks):
        with pytest.raises(KeyError, match="of 0"):
            ranks.first(lambda: {}[f"of {ranks.rank}"])
        with pytest.raises(KeyboardInterrupt):
            ranks.first(stopped)
        return True

    def stopped():
        raise KeyboardInterrupt

    assert same(on_ranks(2, fail))


class Arrives:
    """A barrier that completes after n tests."""

    def __init__(self, tests):
        self.tests = tests

    def Test(self):
        self.tests -= 1
        return self.tests < 0


@pytest.mark.parametrize("tests, alike", [(0, True), (3, True), (10**9, False)])
def test_ended_alike(monkeypatch, tests, alike):
    monkeypatch.setattr(ranks, "ENDED", 0.1)
    monkeypatch.setattr(Comm, "Ibarrier", lambda self: Arrives(tests), raising=False)
    aborted = []
    monkeypatch.setattr(Comm, "Abort", lambda self, code: aborted.append(code), raising=False)
    one = Ranks(Comm(0, [None], None), None)
    begin = time.monotonic()
    assert one.ended_alike() is alike
    assert alike or time.monotonic() - begin > 0.1
    one.abort(3)
    assert aborted == [3]


MAKE = {
    "dropout": lambda: (at_ranks.translator(), at_ranks.pairs(93), at_ranks.pairs(25, 2)),
    "carried": lambda: (at_ranks.writer("carried"), at_ranks.text(), at_ranks.text()),
    "memory": lambda: (at_ranks.writer("carried", attention="key-value", window=3),
                       at_ranks.text(), at_ranks.text()),
    "articles": lambda: (at_ranks.writer("article"), at_ranks.text(), at_ranks.text()),
}


def trained(name, count, each, folder=None, **training):
    """Return the parameters and losses of a training on `count` ranks with `each` threads."""
    def train(ranks):
        made, learn, valid = MAKE[name]()
        for setting, value in training.items():
            setattr(made.training, setting, value)
        made.fit(learn, valid, folder, each, False, ranks)
        lines = [(line["train_loss"], line["valid_loss"], line["threads"]) for line in made.history]
        return digest(made.model.vector.tobytes()), lines

    return same(on_ranks(count, train))


@pytest.mark.parametrize("name", MAKE)
def test_ranks_match_threads_bit_for_bit(name):
    assert trained(name, 2, 1) == trained(name, 1, 2)
    assert trained(name, 2, 2) == trained(name, 4, 1) == trained(name, 1, 4)
    assert trained(name, 3, 1) == trained(name, 1, 3) != trained(name, 1, 4)


@pytest.mark.parametrize("name", ["carried", "memory"])
def test_resume_within_an_epoch_on_another_number_of_ranks(name, tmp_path):
    """The run stops in the middle of an epoch while it carries a state."""
    whole_run = trained(name, 1, 2)

    def stop(ranks):
        made, learn, valid = MAKE[name]()
        trainer = made.trainer(learn, valid, tmp_path, 2, False, ranks)
        step = trainer.train_step

        def step_until_3(*rest):
            given = step(*rest)
            if trainer.step == 3:
                os.kill(os.getpid(), signal.SIGTERM)
            return given

        trainer.train_step = step_until_3
        trainer.fit(1)

    with pytest.raises(KeyboardInterrupt, match="after 3 steps, saved"):
        stop(SINGLE_PROCESS)
    messages = on_ranks(2, lambda ranks: message_on_resume(name, tmp_path, ranks))
    assert messages == [", on 2 ranks × 1 thread instead of 1 × 2; sums are bit-identical"] * 2
    assert trained(name, 2, 1, tmp_path) == whole_run
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.npz"]


def message_on_resume(name, folder, ranks):
    made, learn, valid = MAKE[name]()
    trainer = made.trainer(learn, valid, folder, 2, False, ranks)
    assert trainer.resume() and trainer.step == 3
    return how_shared(trainer)


def test_incompatible_threads_and_ranks_raise(tmp_path):
    with pytest.raises(ValueError, match="threads .3. must be divisible by the number of ranks"):
        on_ranks(2, lambda ranks: at_ranks.translator().trainer(
            at_ranks.pairs(9), None, None, 3, False, ranks))
    trained("dropout", 1, 4, tmp_path, epochs=1)
    with pytest.raises(ValueError, match="threads was 4 and is now 3"):
        trained("dropout", 3, 1, tmp_path, epochs=2)
    with pytest.raises(ValueError, match="was trained with 4 threads in total, which is not "
                                         "divisible by 3 ranks; use 1 or 2 or 4"):
        on_ranks(3, lambda ranks: at_ranks.translator().trainer(
            at_ranks.pairs(93), None, tmp_path, None, False, ranks).resume())


def test_more_ranks_than_rows():
    def train(ranks):
        made = at_ranks.translator()
        made.training.batch_size = 2
        made.trainer(at_ranks.pairs(9), None, None, 3, False, ranks)

    assert on_ranks(2, lambda ranks: at_ranks.translator().training.batch_size) == [10, 10]
    with pytest.raises(ValueError, match="3 ranks cannot share batches of 2 rows"):
        on_ranks(3, train)


@pytest.mark.parametrize("what, change", [
    ("settings", lambda made: setattr(made.training, "seed", 5)),
    ("initial values", lambda made: made.model.vector.fill(1)),
])
def test_ranks_that_differ_raise(what, change):
    def agree(ranks, mine=lambda made: None, train=at_ranks.pairs(9), count=1):
        made = at_ranks.translator()
        mine(made)
        check_rank_consistency(ranks, made, train, at_ranks.pairs(3), count)

    on_ranks(3, agree)
    with pytest.raises(ValueError, match=r"rank 2 on host \S+ differs from rank 0 on host "
                                         rf"\S+ in .*{what} \(\S+ instead of \S+\)\. Use the same"):
        on_ranks(3, lambda ranks: agree(ranks, change if ranks.rank == 2 else lambda made: None))
    with pytest.raises(ValueError, match="training text .* instead of"):
        on_ranks(2, lambda ranks: agree(ranks, train=at_ranks.pairs(9, 1 + ranks.rank)))
    with pytest.raises(ValueError, match="rank 1 .* threads .2 instead of 1."):
        on_ranks(2, lambda ranks: agree(ranks, count=1 + ranks.rank))


def test_host_name():
    assert ranks.host() == socket.gethostname()


# ---- processors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cores, hosts, shares, crowd", [
    ([{0, 1}, {0, 1}], "aa", [1, 1], None),
    ([{0, 1, 2, 3}, {0, 1, 2, 3}], "aa", [2, 2], None),
    ([{0}, {1}], "aa", [1, 1], "each rank is bound to 1 of 2 processors"),
    ([{0}, {0}], "aa", [1, 1], "on host a, 2 ranks × 1 threads share 1 processors"),
    ([{0, 1}, {0, 1, 2}], "ab", [2, 3], None),
])
def test_processors_are_shared_on_each_host(monkeypatch, cores, hosts, shares, crowd):
    class Placed(ranks.SingleProcess):
        def __init__(self, rank):
            self.rank = rank
            self.count = 2

        def allgather(self, value):
            return list(zip(hosts, cores))

    found = []
    for rank in (0, 1):
        monkeypatch.setattr(pools, "host", lambda: hosts[rank])
        monkeypatch.setattr(pools, "processors", lambda: cores[rank])
        found.append(pools.available(Placed(rank)))
    assert found == shares
    each = 1 if crowd is None or "share" in crowd else 2
    if crowd and "bound" in crowd:
        assert pools.crowded(Placed(0), 1) == ""
        cores[:] = [{0}, {1, 2, 3}]
        crowd = "each rank is bound to 1 of 4 processors"
    messages = pools.crowded(Placed(0), each)
    assert (crowd in messages) if crowd else messages == ""


def test_single_process(monkeypatch):
    for count, _ in ranks.STARTERS:
        monkeypatch.delenv(count, raising=False)
    world.cache_clear()
    assert world() is SINGLE_PROCESS and SINGLE_PROCESS.is_first and SINGLE_PROCESS.allgather(
        "x") == ["x"]
    assert SINGLE_PROCESS.broadcast(3) == 3 and SINGLE_PROCESS.first(
        lambda: 4) == 4 and SINGLE_PROCESS.ended_alike()
    vector = np.arange(3.0)
    SINGLE_PROCESS.add(vector)
    assert vector.tolist() == [0, 1, 2]


class Middle(ranks.SingleProcess):
    """Rank 1 of 3, without the other ranks."""

    rank = 1
    count = 3


def test_shares_of_a_rank():
    assert list(shares_here(Middle(), 2, 10)) == [2, 3]
    assert list(shares_here(Middle(), 2, 3)) == [2]
    assert list(shares_here(Middle(), 2, 1)) == []


def test_state_is_split_with_its_rows_and_joined():
    state = np.arange(7), (np.arange(14.0).reshape(7, 2), None)
    here = split_state(Middle(), 2, state)
    assert [names.tolist() for names, _ in here] == [[2], [3]]      # of 1, 1, 1, 1, 1, 2 rows
    again = join_states(SINGLE_PROCESS, split_state(SINGLE_PROCESS, 3, state))
    assert again[0].tolist() == list(range(7)) and again[1][0].tolist() == state[1][0].tolist()
    assert join_states(SINGLE_PROCESS, None) is None
    assert split_state(SINGLE_PROCESS, 2, None) is None
