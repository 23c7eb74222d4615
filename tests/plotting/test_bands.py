"""Lines with bands: where they lie, whose colour they have, what is refused."""

import math

import numpy as np
import pytest
from pictures import texts

from numpy_attention import plotting

RUNS = {
    "_LSTM $h$": {1: (2.0, 1.5, 2.5), 3: (0.05, -0.01, 0.1), 2: (0.5, 0.4, 0.7)},
    "combined": {1: (1.0, 1.0, 1.0), 2: (-0.2, -0.3, 0.0)},
}


def test_lines_and_bands_by_place():
    ax = plotting.bands(RUNS, "step", "cosine", title="$PTB$")
    first, second = ax.lines
    assert list(first.get_xdata()) == [1, 2, 3] and list(first.get_ydata()) == [2, 0.5, 0.05]
    assert list(second.get_xdata()) == [1, 2] and list(second.get_ydata()) == [1, -0.2]
    corners = ax.collections[0].get_paths()[0].vertices.tolist()
    for x, (_, low, high) in RUNS["_LSTM $h$"].items():
        assert [x, low] in corners and [x, high] in corners
    assert texts(ax.get_legend().get_texts()) == list(RUNS)
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("step", "cosine", "$PTB$")
    assert first.get_color() != second.get_color()
    assert ax.get_yscale() == "linear" and not ax.title.get_parse_math()


def test_a_curve_without_points_keeps_its_colour():
    whole = plotting.bands(RUNS, "", "")
    part = plotting.bands(RUNS | {"_LSTM $h$": {}}, "", "")
    assert len(part.lines) == 1 and part.lines[0].get_color() == whole.lines[1].get_color()
    assert texts(part.get_legend().get_texts()) == ["combined"]


def test_long_curves_have_few_markers():
    def marked(length):
        points = {step: (1, 0, 2) for step in range(length)}
        return plotting.bands({"a": points}, "", "").lines[0].get_markevery()
    assert (marked(40), marked(41), marked(1)) == (1, 2, 1)


@pytest.mark.parametrize("count, beside", [(4, False), (5, True)])
def test_a_legend_of_many_curves_stands_beside_them(count, beside):
    ax = plotting.bands({str(n): {1: (n, n, n)} for n in range(count)}, "", "")
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert (legend.x0 >= ax.get_window_extent().x1) == beside


def test_what_a_disturbance_costs(tmp_path):
    ax = plotting.excess_loss(RUNS, title="here")
    assert list(ax.lines[0].get_xdata()) == [1, 2, 3]
    assert list(ax.lines[-1].get_ydata()) == [0, 0]
    assert ax.get_yscale() == "symlog" and ax.get_title() == "here"
    assert "distance" in ax.get_xlabel() and "nats a token more" in ax.get_ylabel()
    ax.figure.canvas.draw()
    assert {"-0.1", "0", "0.1", "1"} <= {text.replace("−", "-")
                                         for text in texts(ax.get_yticklabels())}
    assert plotting.save(ax, tmp_path / "excess.png").stat().st_size > 5000


@pytest.mark.parametrize("draw", [
    plotting.excess_loss, lambda runs, ax=None: plotting.bands(runs, "x", "y", ax)])
def test_into_the_given_axes(draw):
    ax = plotting.bands(RUNS, "", "")
    assert draw({"a": {np.int64(1): (1, 0, 2)}}, ax=ax) is ax


@pytest.mark.parametrize("curves, error, message", [
    ({}, ValueError, "nothing to plot"), ({"a": {}}, ValueError, "nothing to plot"),
    ([1], TypeError, "curves"), ({"a": [1]}, TypeError, "a is "),
    ({"a": {"x": (1, 1, 1)}}, ValueError, "a place of 'a' = 'x'"),
    ({"a": {math.nan: (1, 1, 1)}}, ValueError, "a place of 'a' = nan"),
    ({"a": {2: (1, 1)}}, ValueError, "'a, 2' is .* three finite numbers"),
    ({"a": {2: (1, math.inf, 1)}}, ValueError, "three finite numbers"),
    ({"a": {2: (3, 1, 2)}}, ValueError, "'a, 2' is 3 between 1 and 2: expected low ≤ mean ≤ high"),
])
def test_refused(curves, error, message):
    with pytest.raises(error, match=message):
        plotting.bands(curves, "x", "y")


@pytest.mark.parametrize("labels, name", [((5, "y"), "xlabel"), (("x", None), "ylabel")])
def test_labels_are_texts(labels, name):
    with pytest.raises(TypeError, match=name):
        plotting.bands(RUNS, *labels)
