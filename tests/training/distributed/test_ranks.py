"""Ranks as threads of one process; those that mpirun starts are in tests/cli/test_mpirun.py."""

import os
import signal
import socket
import time

import at_ranks
import numpy as np
import pytest
from ranks_in_threads import Comm, same, together

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
def test_a_tree_adds_each_once_in_pairs(count):
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


def test_which_shares_add_up_as_one_ranks_would():
    def association(count, threads):
        """The sum of all shares as a formula: threads within their rank first."""
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


# ---- together ------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [0, 1, 3, 1000])
def test_a_sum_is_the_same_bits_everywhere(count, size):
    vectors = [np.random.default_rng([size, rank]).standard_normal(size).astype(np.float32)
               for rank in range(count)]

    def add(ranks):
        vector = vectors[ranks.rank].copy()
        ranks.add(vector)
        return vector

    total = [vector.copy() for vector in vectors]
    tree(lambda to, one: np.add(total[to], total[one], out=total[to]), count)
    assert same(together(count, add)).tobytes() == total[0].tobytes()


def test_what_ranks_tell_each_other():
    def tell(ranks):
        return ranks.allgather(ranks.rank ** 2), ranks.broadcast(ranks.rank + 5), ranks.count

    assert same(together(3, tell)) == ([0, 1, 4], 5, 3)
    assert together(3, lambda ranks: ranks.is_first) == [True, False, False]
    calls = []
    assert together(2, lambda ranks: ranks.first(lambda: calls.append(ranks.rank) or 3)) == [3, 3]
    assert calls == [0]

    def fail(ranks):
        with pytest.raises(KeyError, match="of 0"):
            ranks.first(lambda: {}[f"of {ranks.rank}"])
        with pytest.raises(KeyboardInterrupt):
            ranks.first(stopped)
        return True

    def stopped():
        raise KeyboardInterrupt

    assert same(together(2, fail))


class Arrives:
    """A barrier that is complete after n tests."""

    def __init__(self, tests):
        self.tests = tests

    def Test(self):
        self.tests -= 1
        return self.tests < 0


@pytest.mark.parametrize("tests, alike", [(0, True), (3, True), (10**9, False)])
def test_ranks_that_end_alike(monkeypatch, tests, alike):
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
    """Parameters and losses of a training by some ranks with some threads each."""
    def train(ranks):
        made, learn, valid = MAKE[name]()
        for setting, value in training.items():
            setattr(made.training, setting, value)
        made.fit(learn, valid, folder, each, False, ranks)
        lines = [(line["train_loss"], line["valid_loss"], line["threads"]) for line in made.history]
        return digest(made.model.vector.tobytes()), lines

    return same(together(count, train))


@pytest.mark.parametrize("name", MAKE)
def test_ranks_train_to_the_bits_of_as_many_threads(name):
    assert trained(name, 2, 1) == trained(name, 1, 2)
    assert trained(name, 2, 2) == trained(name, 4, 1) == trained(name, 1, 4)
    assert trained(name, 3, 1) == trained(name, 1, 3) != trained(name, 1, 4)


@pytest.mark.parametrize("name", ["carried", "memory"])
def test_a_run_goes_on_within_an_epoch_on_other_ranks(name, tmp_path):
    """Stopped in the middle of an epoch, with a state to carry on."""
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
    messages = together(2, lambda ranks: message_on_resume(name, tmp_path, ranks))
    assert messages == [", on 2 ranks × 1 thread, 1 × 2 before: sums are bit-identical"] * 2
    assert trained(name, 2, 1, tmp_path) == whole_run
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.npz"]


def message_on_resume(name, folder, ranks):
    made, learn, valid = MAKE[name]()
    trainer = made.trainer(learn, valid, folder, 2, False, ranks)
    assert trainer.resume() and trainer.step == 3
    return how_shared(trainer)


def test_threads_and_ranks_that_do_not_fit(tmp_path):
    with pytest.raises(ValueError, match="threads .3. must be divisible by the number of ranks"):
        together(2, lambda ranks: at_ranks.translator().trainer(
            at_ranks.pairs(9), None, None, 3, False, ranks))
    trained("dropout", 1, 4, tmp_path, epochs=1)
    with pytest.raises(ValueError, match="threads was 4 and is now 3"):
        trained("dropout", 3, 1, tmp_path, epochs=2)
    with pytest.raises(ValueError, match="was trained with 4 threads in total, which is not "
                                         "divisible by 3 ranks"):
        together(3, lambda ranks: at_ranks.translator().trainer(
            at_ranks.pairs(93), None, tmp_path, None, False, ranks).resume())


def test_more_ranks_than_rows():
    def train(ranks):
        made = at_ranks.translator()
        made.training.batch_size = 2
        made.trainer(at_ranks.pairs(9), None, None, 3, False, ranks)

    assert together(2, lambda ranks: at_ranks.translator().training.batch_size) == [10, 10]
    with pytest.raises(ValueError, match="3 ranks cannot share batches of 2 rows"):
        together(3, train)


@pytest.mark.parametrize("what, change", [
    ("settings", lambda made: setattr(made.training, "seed", 5)),
    ("initial values", lambda made: made.model.vector.fill(1)),
])
def test_ranks_that_disagree(what, change):
    def agree(ranks, mine=lambda made: None, train=at_ranks.pairs(9), count=1):
        made = at_ranks.translator()
        mine(made)
        check_rank_consistency(ranks, made, train, at_ranks.pairs(3), count)

    together(3, agree)
    with pytest.raises(ValueError, match=r"rank 2 on \S+ differs from rank 0 on \S+: "
                                         rf"{what} is \S+, not \S+. Make these the same on"):
        together(3, lambda ranks: agree(ranks, change if ranks.rank == 2 else lambda made: None))
    with pytest.raises(ValueError, match="training text is .*, not"):
        together(2, lambda ranks: agree(ranks, train=at_ranks.pairs(9, 1 + ranks.rank)))
    with pytest.raises(ValueError, match="threads is 2, not 1"):
        together(2, lambda ranks: agree(ranks, count=1 + ranks.rank))


def test_which_host_this_is():
    assert ranks.host() == socket.gethostname()


# ---- processors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cores, hosts, shares, crowd", [
    ([{0, 1}, {0, 1}], "aa", [1, 1], None),
    ([{0, 1, 2, 3}, {0, 1, 2, 3}], "aa", [2, 2], None),
    ([{0}, {1}], "aa", [1, 1], "each rank is bound to 1 of 2 processors"),
    ([{0}, {0}], "aa", [1, 1], "on a 2 ranks × 1 threads share 1 processors"),
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


def test_alone(monkeypatch):
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
    """Rank 1 of 3, without the others."""

    rank = 1
    count = 3


def test_the_shares_of_a_rank():
    assert list(shares_here(Middle(), 2, 10)) == [2, 3]
    assert list(shares_here(Middle(), 2, 3)) == [2]
    assert list(shares_here(Middle(), 2, 1)) == []


def test_a_state_is_cut_where_its_rows_go_and_put_together_again():
    state = np.arange(7), (np.arange(14.0).reshape(7, 2), None)
    here = split_state(Middle(), 2, state)
    assert [names.tolist() for names, _ in here] == [[2], [3]]          # of 1, 1, 1, 1, 1, 2 rows
    again = join_states(SINGLE_PROCESS, split_state(SINGLE_PROCESS, 3, state))
    assert again[0].tolist() == list(range(7)) and again[1][0].tolist() == state[1][0].tolist()
    assert join_states(SINGLE_PROCESS, None) is None
    assert split_state(SINGLE_PROCESS, 2, None) is None
