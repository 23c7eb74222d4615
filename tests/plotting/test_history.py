"""A language model's history: cells that are hatched, rows and their tokens, what is refused."""

import math

import numpy as np
from matplotlib.figure import Figure
from pictures import SOURCE, texts, weights_for

from numpy_attention import plotting

T = len(SOURCE)


def history(T, S=None):
    """Weights of the last T of S tokens over all before each, in random shares."""
    S = S or T
    weights = np.zeros((T, S))
    for t in range(T):
        if S - T + t:
            weights[t, :S - T + t] = weights_for("x", "x" * (S - T + t), seed=t)
    return weights


def hidden(ax):
    """Booleans like the weights: where the picture shows the hatched background."""
    return np.ma.getmaskarray(ax.images[0].get_array())


def test_shows_weights_before_the_diagonal_and_hatches_the_rest():
    weights = history(T)
    ax = plotting.history_heatmap(weights, SOURCE, title="Genesis $1:1$")
    assert texts(ax.get_xticklabels()) == SOURCE and texts(ax.get_yticklabels()) == SOURCE
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("token remembered", "token read")
    assert ax.get_title() == "Genesis $1:1$" and not ax.title.get_parse_math()
    assert np.array_equal(hidden(ax), np.triu(np.ones((T, T), bool)))
    assert np.array_equal(ax.images[0].get_array().filled(0), weights)
    assert ax.images[0].get_clim() == (0, 1)
    assert ax.figure.axes[1].get_ylabel() == "attention weight"
    assert ax.patch.get_hatch() and texts(ax.get_legend().get_texts()) == ["not in the memory"]


def test_hidden_cells_look_different_from_a_weight_of_zero():
    """A row [0, 1, hidden]: the middle of each cell as drawn, 12 points about it meet the hatch."""
    ax = plotting.history_heatmap([[0, 1, math.nan]], "abc", predicted=["d"])
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba())[::-1, :, :3].astype(float)
    cells = []
    for column in range(3):
        x, y = np.round(ax.transData.transform((column, 0))).astype(int)
        cells.append(pixels[y - 12:y + 13, x - 12:x + 13].reshape(-1, 3))
    zero, one, other = cells
    assert zero.std(0).max() < 1 and one.std(0).max() < 1                           # plain colours
    assert other.std(0).max() > 5 and np.ptp(other, 1).max() == 0               # a pattern of greys
    assert np.abs(other[:, None] - np.stack([zero[0], one[0]])).max(-1).min() > 40


def test_predicted_tokens_label_the_rows():
    ax = plotting.history_heatmap(history(T), SOURCE, predicted=[*SOURCE[1:], "<s>"])
    assert texts(ax.get_xticklabels()) == SOURCE
    assert texts(ax.get_yticklabels()) == [*SOURCE[1:], "<s>"]
    assert ax.get_ylabel() == "token predicted"


def test_fewer_rows_belong_to_the_last_tokens():
    ax = plotting.history_heatmap(history(2, 5), "abcde")
    assert texts(ax.get_yticklabels()) == ["d", "e"]
    assert np.array_equal(hidden(ax), [[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]])


def test_nan_or_visible_mark_what_cannot_be_looked_at():
    window = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], bool)
    weights = np.where(window, 1.0, 0)
    by_nan = plotting.history_heatmap(np.where(window, weights, np.nan), "abc")
    by_boolean = plotting.history_heatmap(weights, "abc", visible=window)
    assert np.array_equal(hidden(by_nan), ~window) and np.array_equal(hidden(by_boolean), ~window)
    both = plotting.history_heatmap(np.where(window, weights, np.nan), "abc", visible=window)
    assert np.array_equal(hidden(both), ~window)


def test_all_visible_needs_no_legend_and_more_rows_than_tokens_are_allowed():
    ax = plotting.history_heatmap(np.full((3, 2), 0.5), "ab", predicted="xyz",
                                  visible=np.ones((3, 2), bool))
    assert ax.get_legend() is None and not hidden(ax).any()


def test_given_axes_scale_and_arguments_stay():
    left, right = Figure(layout="constrained").subplots(1, 2)
    weights = np.array([[np.nan, 0], [0.2, 0]])
    visible = np.array([[False, False], [True, False]])
    before = weights.copy(), visible.copy()
    assert plotting.history_heatmap(weights, "ab", visible=visible, ax=right, vmax=0.2) is right
    assert right.images[0].get_clim() == (0, 0.2) and not left.images
    assert np.array_equal(weights, before[0], equal_nan=True) and np.array_equal(visible, before[1])
