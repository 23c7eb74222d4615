"""Diagrams: positions of boxes, and arrows between their edges."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from pictures import texts

from numpy_attention import plotting
from numpy_attention.plotting import Arrow, Box

BOXES = {"h": ("hⱼ", 0, 0, 0), "e": Box("eⱼ = $v$ · tanh(a_j)", 2, 1), "c": ("c\nΣ", 4.5, 1, 2)}
ARROWS = [("h", "e"), Arrow("e", "c", "α", 0.5), ("h", "c", "", -0.2, True)]


def patches(kind, ax):
    return [patch for patch in ax.patches if isinstance(patch, kind)]


def centre(box):
    return box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2


def test_box_positions():
    ax = plotting.diagram(BOXES, ARROWS, title="one $word$")
    boxes = patches(FancyBboxPatch, ax)
    assert len(boxes) == 3
    centres = {tuple(np.round(centre(box), 9)) for box in boxes}
    assert centres == {(0, 0), (2, 1), (4.5, 1)}
    labels = dict(zip(texts(ax.texts), ax.texts))
    assert set(labels) == {"hⱼ", "eⱼ = $v$ · tanh(a_j)", "c\nΣ", "α"}
    assert labels["eⱼ = $v$ · tanh(a_j)"].get_position() == (2, 1)
    assert not any(text.get_parse_math() for text in ax.texts)
    assert ax.get_title() == "one $word$" and not ax.axison
    low, high = ax.get_xlim()
    assert low < boxes[0].get_x() and high > 4.5
    bottom, top = ax.get_ylim()
    assert bottom <= -0.6 and top >= 1.6


def test_bent_arrows_fit_into_the_axes():
    ax = plotting.diagram({"a": ("a", 0, 0), "b": ("b", 0, 4)}, [("a", "b", "", -1.5)])
    assert ax.get_xlim()[1] > 3 and ax.get_xlim()[0] > -1


def test_box_size_follows_its_text():
    ax = plotting.diagram({"a": ("a", 0, 0), "b": ("a" * 30, 0, 2), "c": ("a\na\na", 0, 4)}, [])
    one, wide, high = patches(FancyBboxPatch, ax)
    assert one.get_width() == pytest.approx(0.56) and wide.get_width() > 2.5
    assert high.get_width() == one.get_width() and high.get_height() == 2 * one.get_height()


def test_colours_of_edges_faces_and_text():
    ax = plotting.diagram(BOXES, [])
    blue, white, green = patches(FancyBboxPatch, ax)
    assert blue.get_edgecolor()[:3] == to_rgb(plotting.COLOURS[0])
    assert white.get_edgecolor()[:3] == (0, 0, 0) and white.get_facecolor()[:3] == (1, 1, 1)
    assert blue.get_facecolor() != green.get_facecolor()
    for box in (blue, green):
        assert min(box.get_facecolor()[:3]) >= 0.8
    assert {text.get_color() for text in ax.texts} == {"black"}


def test_arrows_connect_edges_and_carry_their_text():
    ax = plotting.diagram(BOXES, ARROWS)
    straight, bent, dashed = patches(FancyArrowPatch, ax)
    assert straight.get_linestyle() == "-" and dashed.get_linestyle() == "--"
    assert straight.patchA is not None and straight.patchB is not None
    assert bent.get_connectionstyle().rad == -0.5
    text, = (one for one in ax.texts if one.get_text() == "α")
    x, y = text.get_position()
    assert (x, y) == (3.25, 1 + 0.5 * 2.5 / 2)                  # above the arrow
