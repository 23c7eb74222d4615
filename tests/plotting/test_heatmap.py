"""Heatmaps: words, weights and gold links as given, in any script, readable at any size."""

import math
import warnings

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure
from pictures import SOURCE, TARGET, texts, weights_for

from numpy_attention import plotting


def cells(ax, dashed):
    """(source, target) of the outlined cells; solid ones, or dashed ones."""
    found = set()
    for frame in ax.patches:
        if (frame.get_linestyle() not in ("solid", "-")) == dashed:
            found.add((round(frame.get_x() + frame.get_width() / 2),
                       round(frame.get_y() + frame.get_height() / 2)))
    return found


def test_heatmap_shows_tokens_weights_and_gold():
    weights = weights_for(TARGET, SOURCE)
    ax = plotting.attention_heatmap(weights, SOURCE, TARGET, gold={(0, 0), (4, 3)},
                                    possible={(0, 0), (1, 1), (3, 3)}, title="Genesis 1:1")
    assert texts(ax.get_xticklabels()) == SOURCE and texts(ax.get_yticklabels()) == TARGET
    assert ax.get_title() == "Genesis 1:1"
    assert np.array_equal(ax.images[0].get_array(), weights)
    assert ax.images[0].get_clim() == (0, 1)
    assert ax.get_ylim() == (5.5, -0.5)                     # the first target word is at the top
    tick = ax.xaxis.get_major_ticks()[0]
    assert tick.label2.get_visible() and not tick.label1.get_visible()  # source words on top only
    assert cells(ax, dashed=False) == {(0, 0), (4, 3)}
    assert cells(ax, dashed=True) == {(1, 1), (3, 3)}
    assert len(ax.patches) == 4 and all(frame.get_linewidth() >= 0.8 for frame in ax.patches)
    assert texts(ax.get_legend().get_texts()) == ["sure link", "possible link"]
    bar = ax.figure.axes[1]
    assert bar.get_ylabel() == "attention weight"


def test_heatmap_without_gold_has_neither_outlines_nor_legend():
    ax = plotting.attention_heatmap(weights_for(TARGET, SOURCE), SOURCE, TARGET)
    assert not ax.patches and ax.get_legend() is None


def test_heatmap_draws_into_the_given_axes():
    left, right = Figure(layout="constrained").subplots(1, 2)
    assert plotting.attention_heatmap(np.eye(2), "ab", "AB", ax=right) is right
    assert right.images and not left.images


def test_colour_scale():
    scale = {}
    for vmax in (None, 0.2):
        ax = plotting.attention_heatmap([[0.1, 0.2]], "ab", "A", vmax=vmax)
        scale[vmax] = ax.images[0].get_clim()
    assert scale == {None: (0, 1), 0.2: (0, 0.2)}
    beyond = plotting.attention_heatmap([[-0.5, 1.5]], "ab", "A")
    assert beyond.images[0].get_clim() == (-0.5, 1.5)


@pytest.mark.parametrize("size", [1, 20, 50, 700])
def test_labels_do_not_overlap_and_stay_readable(size):
    tokens = [f"word{n}" for n in range(size)]
    ax = plotting.attention_heatmap(weights_for(tokens, tokens), tokens, tokens)
    ax.figure.canvas.draw()
    for labels, side in ((ax.get_xticklabels(), "x"), (ax.get_yticklabels(), "y")):
        boxes = [label.get_window_extent() for label in labels]
        spans = sorted((getattr(box, side + "0"), getattr(box, side + "1")) for box in boxes)
        assert all(end <= start + 1 for (_, end), (start, _) in zip(spans, spans[1:]))
        assert min(label.get_fontsize() for label in labels) >= 6
    assert all(box.x0 >= 0 and box.y0 >= 0 for box in boxes)
    assert max(ax.figure.get_size_inches()) < 45    # a picture of thousands of words is no gigabyte


ODD_TOKENS = ["$x_1$", "a_b^2", "\\alpha", "$", "%", "", "ñandú", "Ελλάς", "Россия", "中文", "한국어",
              "عربى", "🎉", "👨\u200d👩\u200d👧", " ", "\u00a0", "\n", "\t", "\x00", "\ud800",
              "_", "<unk>"]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_any_token_is_drawn_as_it_is_without_a_warning(tmp_path, suffix):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plotting.attention_heatmap(weights_for(ODD_TOKENS, ODD_TOKENS), ODD_TOKENS,
                                        ODD_TOKENS, title="$no_{math")
        path = plotting.save(ax, tmp_path / f"odd.{suffix}")
    assert path.stat().st_size > 1000
    shown = texts(ax.get_xticklabels())
    assert shown[:14] == ODD_TOKENS[:14] and shown[-2:] == ["_", "<unk>"]
    assert shown[14:-2] == ["␣", "␣", "\\n", "\\t", "\\x00", "\\ud800"]
    labels = [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.title]
    assert not any(label.get_parse_math() for label in labels)


def test_font_size_falls_with_the_number_of_tokens():
    sizes = []
    for n in (6, 18, 50):
        ax = plotting.attention_heatmap(np.eye(n), "x" * n, "y" * n)
        sizes.append(ax.get_xticklabels()[0].get_fontsize())
    assert sizes[0] >= sizes[1] > sizes[2] >= 6


FONTS = {font.name for font in font_manager.fontManager.ttflist}


@pytest.mark.skipif("Last Resort High-Efficiency" not in FONTS,
                    reason="matplotlib before 3.11 ships no font of last resort")
def test_showing_a_missing_glyph_is_quiet_too():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plotting.attention_heatmap([[1.0]], ["\U00013000"], ["中"], title="🎉").figure.canvas.draw()


def test_a_long_token_is_shortened():
    ax = plotting.attention_heatmap([[1.0]], ["x" * 25], ["y" * 24])
    assert texts(ax.get_xticklabels()) == ["x" * 23 + "…"]
    assert texts(ax.get_yticklabels()) == ["y" * 24]


@pytest.mark.parametrize("weights, source, target, more, message", [
    (np.ones((2, 3)), "ab", "ABC", {},
     r"weights \(2, 3\) do not match \(target, source\) tokens = \(3, 2\).*</s>"),
    (np.ones(3), "abc", "A", {}, "do not match"),
    (np.ones((0, 2)), "ab", "", {}, "2 source and 0 target"),
    ([[math.nan]], "a", "A", {}, "NaN"),
    ([[math.inf]], "a", "A", {}, "infinity"),
    ([[0.5]], "a", "A", {"vmax": 0}, "vmax"),
    ([[0.5, 0.5]], "ab", "A", {"gold": {(0, 1)}},
     r"gold link \(0, 1\) is outside of 2 source and 1 target"),
    ([[0.5, 0.5]], "ab", "A", {"possible": {(-1, 0)}}, r"possible link \(-1, 0\)"),
])
def test_heatmap_refuses(weights, source, target, more, message):
    with pytest.raises(ValueError, match=message):
        plotting.attention_heatmap(weights, list(source), list(target), **more)
