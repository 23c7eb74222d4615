"""Learning curves and BLEU by sentence length: values, gaps, labels, intervals."""

import math

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from pictures import HISTORY, texts

from numpy_attention import plotting
from numpy_attention.metrics import LengthBucket

CURVE = [
    LengthBucket(1, 10, 30, 28.0),
    LengthBucket(10, 20, 0, None),
    LengthBucket(20, math.inf, 9, 20.0),
]


def styles(ax):
    return {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in ax.lines}


def test_learning_curves():
    ax = plotting.learning_curves(HISTORY)
    training, validation, best = ax.lines
    assert np.allclose(training.get_ydata(), [40, 20, 10])
    assert list(training.get_xdata()) == [1, 2, 3]
    assert list(validation.get_ydata()) == [30, 18, 21]
    assert (best.get_xdata(), best.get_ydata()) == ([2], [18])
    assert texts(ax.get_legend().get_texts()) == ["training", "validation", "best: 18 (epoch 2)"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("epoch", "perplexity (log scale)")
    assert ax.get_yscale() == "log"
    assert training.get_marker() != validation.get_marker()
    smoothed = plotting.learning_curves([line | {"smoothing": 0.1} for line in HISTORY])
    names = texts(smoothed.get_legend().get_texts())
    assert names[:2] == ["training, labels smoothed", "validation"]


def test_learning_curves_leave_gaps_and_prefer_perplexity():
    history = [
        {"epoch": 1, "train_loss": 5.0, "train_perplexity": 7.0},
        {"epoch": 2, "train_perplexity": None},
        {"epoch": 3, "train_loss": 1e6},
        {"epoch": 4, "train_perplexity": math.inf},
    ]
    ax = plotting.learning_curves(history)
    assert np.array_equal(ax.lines[0].get_ydata(), [7, np.nan, np.nan, np.nan], equal_nan=True)
    assert len(ax.lines) == 1


@pytest.mark.parametrize("perplexities, ticks", [([6.0, 7.5], 3), ([7.0, 900.0], 4)])
def test_perplexity_has_plain_tick_labels(perplexities, ticks):
    ax = plotting.learning_curves([{"epoch": n, "valid_perplexity": value}
                                   for n, value in enumerate(perplexities)])
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    labels = [float(text) for text in texts(ax.get_yticklabels()) if text]
    assert sum(low <= value <= high for value in labels) >= ticks


def test_bleu_by_length_plot():
    other = [bucket._replace(bleu=bucket.bleu and bucket.bleu / 2) for bucket in CURVE]
    ax = plotting.bleu_by_length_plot({"RNNsearch": CURVE, "_fixed $h$": other})
    assert np.array_equal(ax.lines[0].get_ydata(), [28, np.nan, 20], equal_nan=True)
    assert np.array_equal(ax.lines[1].get_ydata(), [14, np.nan, 10], equal_nan=True)
    assert texts(ax.get_xticklabels()) == ["1–9\nn=30", "10–19\nn=0", "20+\nn=9"]
    assert texts(ax.get_legend().get_texts()) == ["RNNsearch", "_fixed $h$"]
    assert ax.get_ylabel() == "BLEU" and "length" in ax.get_xlabel() and ax.get_ylim()[0] == 0
    assert len(styles(ax)) == 2


def test_intervals_are_bars_next_to_each_other():
    buckets = [bucket._replace(bleu_low=bucket.bleu and bucket.bleu - 3,
                               bleu_high=bucket.bleu and bucket.bleu + 2) for bucket in CURVE]
    ax = plotting.bleu_by_length_plot({"a": buckets, "b": buckets})
    for line, bars, shift in zip(ax.lines, ax.collections, (-0.05, 0.05)):
        np.testing.assert_allclose(line.get_xdata(), np.arange(3) + shift)
        ends = [segment.tolist() for segment in bars.get_segments() if len(segment)]
        positions = [0 + shift, 2 + shift]
        for found, x, (low, high) in zip(ends, positions, ((25, 30), (17, 22)), strict=True):
            np.testing.assert_allclose(found, [[x, low], [x, high]])
        assert np.allclose(bars.get_color()[0][:3], to_rgb(line.get_color()))
    assert ax.get_ylabel() == "BLEU, with its 95 % interval"
    # with many systems, every point stays closer to its own bucket than to the next
    ax = plotting.bleu_by_length_plot({f"system {n}": buckets for n in range(13)})
    assert max(line.get_xdata()[0] for line in ax.lines) < 0.3
    # one system with an interval is enough to shift both; without any, they share one position
    ax = plotting.bleu_by_length_plot({"a": CURVE, "b": buckets})
    assert ax.lines[0].get_xdata()[0] == -ax.lines[1].get_xdata()[0] == -0.05
    ax = plotting.bleu_by_length_plot({"a": CURVE, "b": CURVE})
    assert not ax.collections and ax.lines[0].get_xdata().tolist() == [0, 1, 2]


def test_legend_of_many_systems_is_outside_the_axes():
    ax = plotting.bleu_by_length_plot({f"system {n}": CURVE for n in range(13)})
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
    assert ax.get_legend().get_window_extent().x1 <= ax.figure.bbox.x1
    assert len(styles(ax)) == 13
