"""Attention span and gradient flow: points, legends, gaps."""

import math
import warnings

import numpy as np
from pictures import texts

from numpy_attention import plotting

SPAN = {"_combined $h$": [0.3, 0.2, 0.1, 0.1, 0.1, 0.15, 0.05], "L = 2": np.array([0.75, 0.25])}
FLOW = {"Elman": [0.5, 1e-3, 0, 1e-9, 0, 0], "LSTM": [0.5, 0.4, 0.3]}


def test_attention_span():
    ax = plotting.attention_span(SPAN, title="$PTB$")
    combined, short = ax.lines
    assert list(combined.get_xdata()) == [1, 2, 3, 4, 5, 6, 7] and list(short.get_xdata()) == [1, 2]
    assert list(combined.get_ydata()) == SPAN["_combined $h$"]
    assert list(short.get_ydata()) == [0.75, 0.25]
    assert texts(ax.get_legend().get_texts()) == ["_combined $h$ (last five of 7: 0.80)",
                                                  "L = 2 (last five: 1.00)"]
    assert "1 = the previous position" in ax.get_xlabel()
    assert ax.get_ylabel() == "mean attention weight"
    assert ax.get_ylim()[0] == 0 and ax.get_yscale() == "linear"
    assert ax.get_title() == "$PTB$" and not ax.title.get_parse_math()
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())
    assert combined.get_marker() != short.get_marker() and combined.get_color() != short.get_color()


def test_gradient_flow_leaves_gaps_for_zeros():
    ax = plotting.gradient_flow(FLOW)
    elman, lstm = ax.lines
    wanted = [0.5, 1e-3, np.nan, 1e-9, np.nan, np.nan]
    assert np.array_equal(elman.get_ydata(), wanted, equal_nan=True)
    assert list(elman.get_xdata()) == [0, 1, 2, 3, 4, 5] and list(lstm.get_xdata()) == [0, 1, 2]
    assert texts(ax.get_legend().get_texts()) == ["Elman (0 from 4 back)", "LSTM"]
    assert ax.get_yscale() == "log" and "distance back" in ax.get_xlabel()
    assert r"\partial L_T" in ax.get_ylabel()


def test_curve_of_zeros_is_in_the_legend():
    ax = plotting.gradient_flow({"dead": [0, 0], "alive": [1, 1]})
    assert texts(ax.get_legend().get_texts()) == ["dead (0 from 0 back)", "alive"]


def test_gradient_flow_of_extreme_values(tmp_path):
    with warnings.catch_warnings():
        for kind in (RuntimeWarning, UserWarning):
            warnings.simplefilter("error", kind)
        warnings.simplefilter("ignore", DeprecationWarning)     # raised between libraries
        ax = plotting.gradient_flow({"a": [1e200, 1.0, 1e-299, 1e-310, 5e-324]})
        plotting.save(ax, tmp_path / "a.png")
    low, high = ax.get_ylim()
    assert 0 < low <= 1e-299 and 1e200 <= high < math.inf
    assert np.isnan(ax.lines[0].get_ydata()).tolist() == [False] * 3 + [True] * 2


def test_long_curves_have_few_markers_and_mark_isolated_points():
    norms = np.ones(300)
    norms[[100, 102]] = 0
    marked = plotting.gradient_flow({"a": norms}).lines[0].get_markevery()
    assert 101 in marked and 103 not in marked and len(marked) <= 41
    assert plotting.gradient_flow({"a": np.ones(40)}).lines[0].get_markevery() == list(range(40))


def test_ticks_of_distances_are_integers():
    ax = plotting.attention_span({"L = 1": [1.0]})
    assert all(tick == round(tick) for tick in ax.get_xticks())
    assert 0 < ax.get_xlim()[0] < 1 < ax.get_xlim()[1]
