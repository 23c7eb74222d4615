"""Errors for input that cannot be plotted."""

import math
from functools import partial

import numpy as np
import pytest

from numpy_attention import plotting
from numpy_attention.metrics import LengthBucket

ONE = LengthBucket(1, 10, 30, 28.0)
BOX = {"h": ("h", 0, 0), "e": ("e", 1, 0)}
ZEROS = np.zeros((2, 2))
heatmap = partial(plotting.attention_heatmap, source_tokens="ab", target_tokens="A")
grid = partial(plotting.heatmap_grid, source_tokens="ab", target_tokens="A")
gradients = partial(plotting.gradient_heatmap, source_tokens="ab", target_tokens="AB")


def bands(curves):
    return plotting.bands(curves, "x", "y")


@pytest.mark.parametrize("draw, given, message", [
    (heatmap, (np.ones((1, 3)),), r"\(1, 3\); expected .*</s>"),
    (heatmap, ([[0.5, math.nan]],), "NaN"),
    (partial(heatmap, target_tokens=""), (np.ones((0, 2)),), "target_tokens is empty"),
    (partial(heatmap, gold={(0, 1)}), ([[1, 0]],), r"gold link \(0, 1\) has target"),
    (grid, ({},), "is empty; pass a dict"),
    (grid, ({"a": np.ones((3, 3))},), "expected .target, source. ="),
    (gradients, (ZEROS, ZEROS[:1]), "gradients have shape"),
    (gradients, (ZEROS, ZEROS * math.nan), "gradients contain NaN"),
    (partial(gradients, visible=[[True]]), (ZEROS, ZEROS), "expected a bool array of shape"),
    (plotting.history_heatmap, (np.zeros((0, 2)), "ab"), "at least one row"),
    (plotting.history_heatmap, (np.zeros((2, 3)), "ab"), r"\(2, 3\); expected \(rows, 2\)"),
    (plotting.history_heatmap, (np.zeros((3, 2)), "ab"), "row labels is 2; .*predicted"),
    (plotting.history_heatmap, (np.zeros((3, 2)), "ab", "abc"), "`visible`, or set .* NaN"),
    (plotting.history_heatmap, ([[0, 0], [-0.1, 0]], "ab"), "is -0.1; expected no negative"),
    (plotting.history_heatmap, ([[0, 0], [math.inf, 0]], "ab"), "weights contain inf"),
    (plotting.history_heatmap, (ZEROS * math.nan, "ab"), "all weights are NaN"),
    (plotting.history_heatmap, ([[0, 0], [0.4, 0.6]], "ab"), r"weights\[1, 1\] is 0.6, but row 1"),
    (plotting.history_heatmap, (ZEROS * math.nan, "ab", None, ZEROS == 0), "NaN in visible cells"),
    (plotting.attention_span, ({"a": [[0.5]]},), r"has shape \(1, 1\); expected a list"),
    (plotting.attention_span, ({"a": [0.5], "b": [0.5, math.nan]},), "'b' contains NaN"),
    (plotting.attention_span, ({"a": [0.5, -0.25]},), "negative"),
    (plotting.attention_span, ({"a": [0.0, 0.0]},), "0 everywhere"),
    (plotting.attention_span, ({"a": [1.5]},), "'a' has a mean weight of 1.5"),
    (plotting.gradient_flow, ({"a": [0.0, 0.0]},), "all norms are 0"),
    (plotting.costs, ({"a": {}},), "nothing to plot"),
    (plotting.costs, ({"a": {2: (1, 1)}},), "'2' has the interval .1, 1.; expected finite"),
    (bands, ({"a": {}},), "nothing to plot"),
    (bands, ({"a": {2: (3, 1, 2)}},), "has mean 3, low 1 and high 2; expected low ≤ mean"),
    (bands, ({"a": {math.nan: (1, 1, 1)}},), "an x value of 'a' = nan"),
    (plotting.learning_curves, ([],), "train for at least one epoch"),
    (plotting.learning_curves, ([{"train_loss": 1.0}],), "epoch = None; expected a number"),
    (plotting.bleu_by_length_plot, ({"a": [(1, 10, 30, 28.0)]},), "the result of bleu_by_length"),
    (plotting.bleu_by_length_plot, ({"a": [ONE, ONE], "b": [ONE]},), "^'b' and 'a' .* same .edges"),
    (plotting.diagram, ({}, []), "is empty; pass a dict"),
    (plotting.diagram, ({"a": ("a", 0, 101)}, []), "the row of box 'a' = 101; .* from -100"),
    (plotting.diagram, ({"a": ("a", 0, 0, 7)}, []), "the colour of box 'a' = 7"),
    (plotting.diagram, (BOX, [("h", "x")]), "the end of an arrow = 'x'; expected one of 'h', 'e'"),
    (plotting.diagram, (BOX, [("h", "e", "", 3)]), "the bend of an arrow"),
    (plotting.course_path, ({}, []), "is empty; pass a dict"),
])
def test_invalid_values(draw, given, message):
    with pytest.raises(ValueError, match=message):
        draw(*given)


@pytest.mark.parametrize("draw, given, message", [
    (plotting.costs, ([1],), "models is .*; expected a dict of names"),
    (bands, ({"a": [1]},), "curve 'a' is .*; expected a dict {x:"),
    (plotting.diagram, ({"a": ("a", 0)}, []), r"box 'a' is \('a', 0\); expected \(text, column"),
    (plotting.diagram, (BOX, [("h",)]), "an arrow is .*; expected .start, end"),
    (partial(heatmap, ax="ax"), ([[1.0, 0.0]],), "ax is 'ax'"),
])
def test_invalid_types(draw, given, message):
    with pytest.raises(TypeError, match=message):
        draw(*given)
