"""Heatmaps: tokens, weights and gold links, in any script and at any size."""

import warnings

import numpy as np
import pytest
from matplotlib import font_manager
from pictures import SOURCE, TARGET, texts, weights_for

from numpy_attention import plotting


def cells(ax, dashed):
    """Return (source, target) of the outlined cells: solid ones, or dashed ones."""
    found = set()
    for frame in ax.patches:
        if (frame.get_linestyle() not in ("solid", "-")) == dashed:
            found.add((round(frame.get_x() + frame.get_width() / 2),
                       round(frame.get_y() + frame.get_height() / 2)))
    return found


def test_heatmap_shows_tokens_weights_and_gold():
    weights = weights_for(TARGET, SOURCE)
    ax = plotting.attention_heatmap(weights, source_tokens=SOURCE, target_tokens=TARGET,
                                    gold={(0, 0), (4, 3)}, possible={(0, 0), (1, 1), (3, 3)},
                                    title="Genesis 1:1")
    assert texts(ax.get_xticklabels()) == SOURCE and texts(ax.get_yticklabels()) == TARGET
    assert ax.get_title() == "Genesis 1:1"
    assert np.array_equal(ax.images[0].get_array(), weights)
    assert ax.images[0].get_clim() == (0, 1)
    assert ax.get_ylim() == (5.5, -0.5)                     # the first target word is on top
    tick = ax.xaxis.get_major_ticks()[0]
    assert tick.label2.get_visible() and not tick.label1.get_visible()  # source words: on top only
    assert cells(ax, dashed=False) == {(0, 0), (4, 3)}
    assert cells(ax, dashed=True) == {(1, 1), (3, 3)}
    assert len(ax.patches) == 4 and all(frame.get_linewidth() >= 0.8 for frame in ax.patches)
    assert texts(ax.get_legend().get_texts()) == ["sure link", "possible link"]
    bar = ax.figure.axes[1]
    assert bar.get_ylabel() == "attention weight"


def test_positional_tokens_keep_the_order_of_1_0_and_warn():
    with pytest.warns(DeprecationWarning, match="source_tokens and target_tokens .* by keyword"):
        ax = plotting.attention_heatmap(np.eye(2), ["a", "b"], ["A", "B"])
    assert texts(ax.get_xticklabels()) == ["a", "b"] and texts(ax.get_yticklabels()) == ["A", "B"]


def test_colour_scale():
    scale = {}
    for vmax in (None, 0.2):
        ax = plotting.attention_heatmap([[0.1, 0.2]], source_tokens="ab", target_tokens="A",
                                        vmax=vmax)
        scale[vmax] = ax.images[0].get_clim()
    assert scale == {None: (0, 1), 0.2: (0, 0.2)}
    beyond = plotting.attention_heatmap([[-0.5, 1.5]], source_tokens="ab", target_tokens="A")
    assert beyond.images[0].get_clim() == (-0.5, 1.5)


@pytest.mark.parametrize("size", [1, 20, 500])
def test_labels_do_not_overlap_and_stay_readable(size):
    tokens = [f"word{n}" for n in range(size)]
    few = tokens[:100]
    ax = plotting.attention_heatmap(weights_for(few, tokens), source_tokens=tokens,
                                    target_tokens=few)
    ax.figure.draw_without_rendering()
    for labels, side in ((ax.get_xticklabels(), "x"), (ax.get_yticklabels(), "y")):
        boxes = [label.get_window_extent() for label in labels]
        spans = sorted((getattr(box, side + "0"), getattr(box, side + "1")) for box in boxes)
        assert all(end <= start + 1 for (_, end), (start, _) in zip(spans, spans[1:]))
        assert min(label.get_fontsize() for label in labels) >= 6
    assert all(box.x0 >= 0 and box.y0 >= 0 for box in boxes)
    assert max(ax.figure.get_size_inches()) < 45    # thousands of words stay affordable


ODD_TOKENS = ["$x_1$", "a_b^2", "\\alpha", "$", "%", "", "ñandú", "Ελλάς", "Россия", "中文",
              "한국어", "عربى", "🎉", "👨\u200d👩\u200d👧", " ", "\u00a0", "\n", "\t",
              "\x00", "\ud800", "_", "<unk>"]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_unusual_tokens_are_drawn_literally_without_a_warning(tmp_path, suffix):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plotting.attention_heatmap(weights_for(ODD_TOKENS, ODD_TOKENS),
                                        source_tokens=ODD_TOKENS, target_tokens=ODD_TOKENS,
                                        title="$no_{math")
        path = plotting.save(ax, tmp_path / f"odd.{suffix}")
    assert path.stat().st_size > 1000
    labels = texts(ax.get_xticklabels())
    assert labels[:14] == ODD_TOKENS[:14] and labels[-2:] == ["_", "<unk>"]
    assert labels[14:-2] == ["␣", "␣", "\\n", "\\t", "\\x00", "\\ud800"]
    labels = [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.title]
    assert not any(label.get_parse_math() for label in labels)


FONTS = {font.name for font in font_manager.fontManager.ttflist}


@pytest.mark.skipif("Last Resort High-Efficiency" not in FONTS,
                    reason="matplotlib before 3.11 ships no font of last resort")
def test_missing_glyph_does_not_warn_on_display():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plotting.attention_heatmap([[1.0]], source_tokens=["\U00013000"],
                                        target_tokens=["中"], title="🎉")
        ax.figure.canvas.draw()


def test_long_tokens_are_shortened():
    ax = plotting.attention_heatmap([[1.0]], source_tokens=["x" * 25], target_tokens=["y" * 24])
    assert texts(ax.get_xticklabels()) == ["x" * 23 + "…"]
    assert texts(ax.get_yticklabels()) == ["y" * 24]
