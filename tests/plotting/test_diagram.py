"""Diagrams: positions of boxes, and arrows between their edges."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
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
    assert ax.get_xlim()[1] > 2.1 and ax.get_xlim()[0] > -1


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


def test_arrows_connect_edges():
    ax = plotting.diagram(BOXES, ARROWS)
    straight, bent, dashed = patches(FancyArrowPatch, ax)
    assert straight.get_linestyle() == "-" and dashed.get_linestyle() == "--"
    assert straight.patchA is not None and straight.patchB is not None
    assert bent.get_connectionstyle().rad == -0.5


@pytest.mark.parametrize("size", [None, (3, 8)])
def test_label_is_at_the_middle_of_its_curve(size):
    ax = plotting.diagram(BOXES, ARROWS, Figure(size).add_subplot() if size else None, "a title")
    ax.figure.draw_without_rendering()
    _, bent, _ = patches(FancyArrowPatch, ax)
    ends = ax.transData.transform([(2, 1), (4.5, 1)])
    curve = bent.get_connectionstyle()(*ends, shrinkA=0, shrinkB=0)
    text, = (one for one in ax.texts if one.get_text() == "α")
    middle = np.array([0.25, 0.5, 0.25]) @ curve.vertices       # of a quadratic Bézier curve
    np.testing.assert_allclose(text.get_transform().transform(text.get_position()), middle)
    assert middle[1] > ends[0, 1]                               # to the left of its direction: up
