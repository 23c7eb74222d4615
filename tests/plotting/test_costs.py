"""Costs of changed attention: where marks and intervals lie, what is refused."""

import math

import pytest
from pictures import texts

from numpy_attention import plotting

COSTS = {
    "_RNN$search$": {"no context": (0.5, 0.4, 0.7), "equal": (0.1, 0.1, 0.1)},
    "LSTM": {"equal": (-0.02, -0.03, 0.0), "sampled": (0.2, 0.15, 0.25)},
}


def test_marks_and_intervals():
    ax = plotting.costs(COSTS, title="$PTB$")
    assert texts(ax.get_yticklabels()) == ["no context", "equal", "sampled"]
    assert texts(ax.get_legend().get_texts()) == list(COSTS)
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())
    first, second = ax.containers
    assert list(first.lines[0].get_xdata()) == [0.5, 0.1]
    assert list(second.lines[0].get_xdata()) == [-0.02, 0.2]
    rows = [list(one.lines[0].get_ydata()) for one in (first, second)]
    assert rows[0] == pytest.approx([-0.175, 0.825]) and rows[1] == pytest.approx([1.175, 2.175])
    spans = [[(segment[0][0], segment[1][0]) for segment in one.lines[2][0].get_segments()]
             for one in (first, second)]
    assert spans[0] == [pytest.approx((0.4, 0.7)), pytest.approx((0.1, 0.1))]
    assert spans[1] == [pytest.approx((-0.03, 0.0)), pytest.approx((0.15, 0.25))]
    assert first.lines[0].get_marker() != second.lines[0].get_marker()
    assert ax.get_title() == "$PTB$" and "nats a token" in ax.get_xlabel()
    low, high = ax.get_ylim()
    assert low > high and ax.lines[-1].get_xdata() == [0, 0]


def test_one_model_needs_no_legend(tmp_path):
    ax = plotting.costs({"a": COSTS["LSTM"]})
    assert ax.get_legend() is None
    assert plotting.costs(COSTS, ax=ax, xlabel="nats $of$ words") is ax
    assert ax.get_xlabel() == "nats $of$ words (95 % interval)"
    assert not ax.xaxis.label.get_parse_math()
    assert plotting.save(ax, tmp_path / "costs.png").stat().st_size > 5000


@pytest.mark.parametrize("given, error, message", [
    ({}, ValueError, "nothing to plot"), ({"a": {}}, ValueError, "nothing to plot"),
    ([1], TypeError, "models"), ({"a": {"b": (1, 2)}}, ValueError, "three finite numbers"),
    ({"a": {"b": (1, math.nan, 2)}}, ValueError, "three finite numbers"),
    ({"a": {"b": (3, 1, 2)}}, ValueError, "3 between 1 and 2: expected low ≤ mean ≤ high"),
    ({"a": 3}, TypeError, "a is 3"),
])
def test_refused(given, error, message):
    with pytest.raises(error, match=message):
        plotting.costs(given)


def test_a_label_is_a_text():
    with pytest.raises(TypeError, match="^xlabel is 3"):
        plotting.costs(COSTS, xlabel=3)
