"""The arithmetic of the cost model, and its fit to figures that are made up."""

import math

import pytest
from scaling import (
    Cost,
    Embeddings,
    Link,
    breaks,
    embeddings_of,
    fit_link,
    moved,
    not_negative,
    rounds,
    row_operations,
    step,
    strong,
    weak,
)
from sides import MODELS

NONE = Embeddings(0, 1, 1, 0)
COST = Cost(rows=64, parameters=1_000_000, embeddings=NONE, fixed=0.001, each=0.01)
LINK = Link("a link", byte=1e-9, round=1e-5)


def test_a_sum_sends_what_is_not_its_own_twice():
    assert [moved(hosts, 120) for hosts in (1, 2, 3, 4)] == [0, 120, 160, 180]


def test_rounds():
    assert rounds(1, 5, 5) == 0
    assert rounds(4, 1) == 6
    assert rounds(256, 2, 3) == 2 * 255 * 2 + 2 * 8 * 3


def test_a_step_of_one_host_computes():
    assert step(COST, LINK, 1, 64) == pytest.approx(0.001 + 0.64)


def test_a_step_of_two_hosts():
    sent = 4e6 * 1e-9 + (2 * 2 + 2 * 3) * 1e-5
    assert step(COST, LINK, 2, 64) == pytest.approx(0.001 + 0.32 + sent)


def test_the_last_row_is_one_hosts():
    free = Link("free", 0.0, 0.0)
    assert step(COST, free, 256, 64) == step(COST, free, 64, 64)


def test_touched_rows():
    table = Embeddings(count=1, rows=10_000, columns=10, words=20)
    assert table.bytes(20) == pytest.approx(400 * 40, rel=0.03)
    assert table.bytes(1000) == table.size * 4          # most are touched: sent whole
    assert table.bytes(0) == 0


def test_efficiency_falls():
    for efficiency in (strong, weak):
        values = [efficiency(COST, LINK, hosts) for hosts in (1, 2, 16, 256)]
        assert values[0] == pytest.approx(1)
        assert values == sorted(values, reverse=True)


def test_where_it_breaks():
    hosts = breaks(strong, COST, LINK)
    assert strong(COST, LINK, hosts) < 0.5 <= strong(COST, LINK, hosts - 1)
    assert breaks(weak, COST, LINK) is None


def test_the_fit_finds_what_made_the_figures():
    lines = [{"kind": "sum", "ranks": ranks, "bytes": size,
              "seconds": [moved(ranks, size) * 2e-9 + rounds(ranks, 1) * 3e-5]}
             for ranks in (2, 4) for size in (1e5, 1e6, 1e7)]
    link = fit_link("made up", lines + [{"kind": "ping", "ranks": 2, "seconds": [3e-5]}])
    assert link.byte == pytest.approx(2e-9)
    assert link.round == pytest.approx(3e-5)


def test_no_fitted_cost_is_negative():
    fixed, each = not_negative(([1, 1, 1], [1, 2, 3]), [0.5, 2.0, 3.5])
    assert fixed == 0
    assert each > 0


@pytest.mark.parametrize("model, parameters", [("a", 4651600), ("c", 7228992), ("f", 7789888)])
def test_embeddings_are_a_part_of_the_parameters(model, parameters):
    embeddings = embeddings_of(MODELS[model])
    cost = Cost(MODELS[model]["batch"], parameters, embeddings, 0.0, 0.0)
    assert 0 < cost.bytes(cost.rows) < 4 * parameters


def test_operations_of_a_language_model():
    size = {"layers": 1, "hidden": 10, "vocabulary": 100, "steps": 2}
    assert row_operations(size) == 6 * (4 * 10 * 20 + 10 * 100) * 2
    assert math.isclose(row_operations(MODELS["a"]), 6 * (16 * 200**2 + 200 * 10_000) * 20)
