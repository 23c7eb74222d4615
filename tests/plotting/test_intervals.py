"""Means with intervals: positions of marks, lines and bands, and their colours."""


import pytest
from pictures import texts

from numpy_attention import plotting

RUNS = {
    "_LSTM $h$": {1: (2.0, 1.5, 2.5), 3: (0.05, -0.01, 0.1), 2: (0.5, 0.4, 0.7)},
    "combined": {1: (1.0, 1.0, 1.0), 2: (-0.2, -0.3, 0.0)},
}

COSTS = {
    "_RNN$search$": {"no context": (0.5, 0.4, 0.7), "equal": (0.1, 0.1, 0.1)},
    "LSTM": {"equal": (-0.02, -0.03, 0.0), "sampled": (0.2, 0.15, 0.25)},
}


def test_lines_and_bands():
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


def test_empty_curve_keeps_its_colour():
    whole = plotting.bands(RUNS, "", "")
    part = plotting.bands(RUNS | {"_LSTM $h$": {}}, "", "")
    assert len(part.lines) == 1 and part.lines[0].get_color() == whole.lines[1].get_color()
    assert texts(part.get_legend().get_texts()) == ["combined"]


def test_long_curves_have_few_markers():
    def marker_step(length):
        points = {step: (1, 0, 2) for step in range(length)}
        return plotting.bands({"a": points}, "", "").lines[0].get_markevery()
    assert (marker_step(40), marker_step(41), marker_step(1)) == (1, 2, 1)


@pytest.mark.parametrize("count, outside", [(4, False), (5, True)])
def test_legend_of_many_curves_is_outside_the_axes(count, outside):
    ax = plotting.bands({str(n): {1: (n, n, n)} for n in range(count)}, "", "")
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert (legend.x0 >= ax.get_window_extent().x1) == outside


def test_excess_loss(tmp_path):
    ax = plotting.excess_loss(RUNS, title="here")
    assert list(ax.lines[0].get_xdata()) == [1, 2, 3]
    assert list(ax.lines[-1].get_ydata()) == [0, 0]
    assert ax.get_yscale() == "symlog" and ax.get_title() == "here"
    assert "distance" in ax.get_xlabel() and "extra nats per token" in ax.get_ylabel()
    ax.figure.canvas.draw()
    assert {"-0.1", "0", "0.1", "1"} <= {text.replace("−", "-")
                                         for text in texts(ax.get_yticklabels())}
    assert plotting.save(ax, tmp_path / "excess.png").stat().st_size > 5000


def test_costs():
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
    assert ax.get_title() == "$PTB$" and "nats per token" in ax.get_xlabel()
    low, high = ax.get_ylim()
    assert low > high and ax.lines[-1].get_xdata() == [0, 0]


def test_one_model_needs_no_legend(tmp_path):
    ax = plotting.costs({"a": COSTS["LSTM"]})
    assert ax.get_legend() is None
    assert plotting.costs(COSTS, ax=ax, xlabel="nats $of$ words") is ax
    assert ax.get_xlabel() == "nats $of$ words (95 % interval)"
    assert not ax.xaxis.label.get_parse_math()
    assert plotting.save(ax, tmp_path / "costs.png").stat().st_size > 5000
