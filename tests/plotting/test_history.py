"""Heatmaps of a language model's history: hatched cells, rows and their tokens."""

import math

import numpy as np
from matplotlib.figure import Figure
from pictures import SOURCE, texts, weights_for

from numpy_attention import plotting

T = len(SOURCE)


def history(T, S=None):
    """Return random weights of the last T of S tokens over all tokens before each."""
    S = S or T
    weights = np.zeros((T, S))
    for t in range(T):
        if S - T + t:
            weights[t, :S - T + t] = weights_for("x", "x" * (S - T + t), seed=t)
    return weights


def hidden(ax):
    """Return a boolean array that is True at hatched cells."""
    return np.ma.getmaskarray(ax.images[0].get_array())


def test_weights_before_the_diagonal_and_hatching_elsewhere():
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
    """Look at the pixels near the centre of each cell; 12 points around it meet the hatch."""
    ax = plotting.history_heatmap([[0, 1, math.nan]], "abc", predicted=["d"])
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba())[::-1, :, :3].astype(float)
    cells = []
    for column in range(3):
        x, y = np.round(ax.transData.transform((column, 0))).astype(int)
        cells.append(pixels[y - 12:y + 13, x - 12:x + 13].reshape(-1, 3))
    zero, one, hatched = cells
    assert zero.std(0).max() < 1 and one.std(0).max() < 1                           # plain colours
    assert hatched.std(0).max() > 5 and np.ptp(hatched, 1).max() == 0           # grey hatch
    assert np.abs(hatched[:, None] - np.stack([zero[0], one[0]])).max(-1).min() > 40


def test_predicted_tokens_label_the_rows():
    ax = plotting.history_heatmap(history(T), SOURCE, predicted=[*SOURCE[1:], "<s>"])
    assert texts(ax.get_xticklabels()) == SOURCE
    assert texts(ax.get_yticklabels()) == [*SOURCE[1:], "<s>"]
    assert ax.get_ylabel() == "token predicted"


def test_fewer_rows_than_tokens_label_the_last_tokens():
    ax = plotting.history_heatmap(history(2, 5), "abcde")
    assert texts(ax.get_yticklabels()) == ["d", "e"]
    assert np.array_equal(hidden(ax), [[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]])


def test_nan_or_visible_hide_cells():
    window = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], bool)
    weights = np.where(window, 1.0, 0)
    by_nan = plotting.history_heatmap(np.where(window, weights, np.nan), "abc")
    by_boolean = plotting.history_heatmap(weights, "abc", visible=window)
    assert np.array_equal(hidden(by_nan), ~window) and np.array_equal(hidden(by_boolean), ~window)
    both = plotting.history_heatmap(np.where(window, weights, np.nan), "abc", visible=window)
    assert np.array_equal(hidden(both), ~window)


def test_fully_visible_has_no_legend_and_rows_may_exceed_tokens():
    ax = plotting.history_heatmap(np.full((3, 2), 0.5), "ab", predicted="xyz",
                                  visible=np.ones((3, 2), bool))
    assert ax.get_legend() is None and not hidden(ax).any()


def test_given_axes_and_unchanged_arguments():
    left, right = Figure(layout="constrained").subplots(1, 2)
    weights = np.array([[np.nan, 0], [0.2, 0]])
    visible = np.array([[False, False], [True, False]])
    before = weights.copy(), visible.copy()
    assert plotting.history_heatmap(weights, "ab", visible=visible, ax=right, vmax=0.2) is right
    assert right.images[0].get_clim() == (0, 0.2) and not left.images
    assert np.array_equal(weights, before[0], equal_nan=True) and np.array_equal(visible, before[1])
