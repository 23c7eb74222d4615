"""Sums of touched rows: the same as sums of whole tables, with less communication."""

import at_ranks
import numpy as np
import pytest
from ranks_in_threads import on_ranks, same

from numpy_attention.experiments.runs.provenance import digest
from numpy_attention.training.distributed import row_sums
from numpy_attention.training.distributed.ranks import Ranks


def trained(count, threads):
    def train(ranks):
        made = at_ranks.translator()
        made.fit(at_ranks.pairs(93), at_ranks.pairs(25, 2), None, threads, False, ranks)
        return digest(made.model.vector.tobytes())

    return same(on_ranks(count, train))


@pytest.mark.parametrize("many, most", [(5, 0.9), (5, 0.05), (4096, 0.5)])
def test_touched_rows_and_whole_tables_give_the_same_sum(monkeypatch, many, most):
    monkeypatch.setattr(row_sums, "MANY", many)
    monkeypatch.setattr(row_sums, "MOST", most)
    assert trained(2, 1) == trained(1, 2)


class Counting(Ranks):
    """Counts the numbers that are summed over ranks."""

    def add(self, vector):
        self.added = getattr(self, "added", []) + [len(vector)]
        super().add(vector)


class Gradients:
    """Three tables and a bias, consecutive in one vector."""

    def __init__(self, vector):
        self.vector = vector
        self.parts = vector[:40].reshape(20, 2), vector[40:44], vector[44:104].reshape(30, 2)

    def named_parameters(self):
        return zip("abc", self.parts)


def test_only_touched_rows_are_sent(monkeypatch):
    monkeypatch.setattr(row_sums, "MANY", 20)

    def add(ranks):
        counting = Counting(ranks.comm, ranks._in_place)
        grads = Gradients(np.zeros(104))
        first, bias, last = grads.parts
        first[3 + ranks.rank] = [0, ranks.rank + 1]         # two rows of 20, one on each rank
        bias[...] = ranks.rank
        last[:16 - ranks.rank] = 1                          # more than half of 30
        wanted = sum(ranks.allgather(grads.vector.copy()))
        row_sums.add(counting, grads)
        assert (grads.vector == wanted).all()
        return counting.added

    assert same(on_ranks(2, add)) == [2 * 2, 4 + 60]


def test_table_with_half_its_rows_touched_is_sent_by_rows(monkeypatch):
    monkeypatch.setattr(row_sums, "MANY", 20)

    def add(ranks):
        counting = Counting(ranks.comm, ranks._in_place)
        grads = Gradients(np.zeros(104))
        grads.parts[0][:10] = 1
        row_sums.add(counting, grads)
        return counting.added

    assert same(on_ranks(2, add)) == [10 * 2, 4]


def test_rows_of_three_tables(monkeypatch):
    monkeypatch.setattr(row_sums, "MANY", 10)

    class Three:
        vector = None

        def named_parameters(self):
            return zip("abc", self.vector.reshape(3, 10, 2))

    def add(ranks):
        three = Three()
        three.vector = np.zeros(60)
        three.vector.reshape(3, 10, 2)[:, 2 * ranks.rank] = [[1, 2], [3, 4], [5, 6]]
        wanted = sum(ranks.allgather(three.vector.copy()))
        row_sums.add(ranks, three)
        return (three.vector == wanted).all()

    assert same(on_ranks(2, add))


def test_default_size_of_a_large_table():
    def of(rows):
        vector = np.zeros(2 * rows)

        class One:
            def named_parameters(self):
                yield "E", vector.reshape(rows, 2)

        return len(list(row_sums.tables(One())))

    assert of(4096) == 1 and of(4095) == 0
