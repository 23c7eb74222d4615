"""Pictures: what is drawn, in any script, without a display, and files that are whole or not there."""

import math
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib import colors, font_manager
from matplotlib.figure import Figure

from numpy_attention import plotting
from numpy_attention.metrics import LengthBucket

SOURCE = "in the beginning god created </s>".split()
TARGET = "en el principio creó dios </s>".split()
HISTORY = [{"epoch": 1, "train_loss": math.log(40), "valid_perplexity": 30.0, "seconds": 5.0},
           {"epoch": 2, "train_loss": math.log(20), "valid_perplexity": 18.0, "seconds": 10.0},
           {"epoch": 3, "train_loss": math.log(10), "valid_perplexity": 21.0, "seconds": 15.0}]
CURVE = [LengthBucket(1, 10, 30, 28.0), LengthBucket(10, 20, 0, None), LengthBucket(20, math.inf, 9, 20.0)]


def weights_for(target, source, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(len(source)), size=len(target))


def cells(ax, dashed):
    """(source, target) of the outlined cells; solid ones, or dashed ones."""
    frames = [patch for patch in ax.patches if (patch.get_linestyle() not in ("solid", "-")) == dashed]
    return {(round(frame.get_x() + frame.get_width() / 2), round(frame.get_y() + frame.get_height() / 2))
            for frame in frames}


def texts(labels):
    return [label.get_text() for label in labels]


def test_heatmap_shows_tokens_weights_and_gold():
    weights = weights_for(TARGET, SOURCE)
    ax = plotting.attention_heatmap(weights, SOURCE, TARGET, gold={(0, 0), (4, 3)}, possible={(0, 0), (1, 1), (3, 3)},
                                    title="Genesis 1:1")
    assert texts(ax.get_xticklabels()) == SOURCE and texts(ax.get_yticklabels()) == TARGET
    assert ax.get_title() == "Genesis 1:1"
    assert np.array_equal(ax.images[0].get_array(), weights)
    assert ax.images[0].get_clim() == (0, 1)
    assert ax.get_ylim() == (5.5, -0.5)                              # the first target word is at the top
    tick = ax.xaxis.get_major_ticks()[0]
    assert tick.label2.get_visible() and not tick.label1.get_visible()                # source words on top only
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
    scale = {vmax: plotting.attention_heatmap([[0.1, 0.2]], "ab", "A", vmax=vmax).images[0].get_clim()
             for vmax in (None, 0.2)}
    assert scale == {None: (0, 1), 0.2: (0, 0.2)}
    beyond = plotting.attention_heatmap([[-0.5, 1.5]], "ab", "A")
    assert beyond.images[0].get_clim() == (-0.5, 1.5)


@pytest.mark.parametrize("size", [1, 20, 50])
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


ODD_TOKENS = ["$x_1$", "a_b^2", "\\alpha", "$", "%", "", "ñandú", "Ελλάς", "Россия", "中文", "한국어", "عربى", "🎉",
              "👨\u200d👩\u200d👧", " ", "\u00a0", "\n", "\t", "\x00", "\ud800", "_", "<unk>"]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_any_token_is_drawn_as_it_is_without_a_warning(tmp_path, suffix):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plotting.attention_heatmap(weights_for(ODD_TOKENS, ODD_TOKENS), ODD_TOKENS, ODD_TOKENS, title="$no_{math")
        path = plotting.save(ax, tmp_path / f"odd.{suffix}")
    assert path.stat().st_size > 1000
    shown = texts(ax.get_xticklabels())
    assert shown[:14] == ODD_TOKENS[:14] and shown[-2:] == ["_", "<unk>"]
    assert shown[14:-2] == ["␣", "␣", "\\n", "\\t", "\\x00", "\\ud800"]
    assert not any(label.get_parse_math() for label in [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.title])


def test_font_size_falls_with_the_number_of_tokens():
    sizes = [plotting.attention_heatmap(np.eye(n), "x" * n, "y" * n).get_xticklabels()[0].get_fontsize()
             for n in (6, 18, 50)]
    assert sizes[0] >= sizes[1] > sizes[2] >= 6


@pytest.mark.skipif("Last Resort High-Efficiency" not in {font.name for font in font_manager.fontManager.ttflist},
                    reason="matplotlib before 3.11 ships no font of last resort")
def test_showing_a_missing_glyph_is_quiet_too():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plotting.attention_heatmap([[1.0]], ["\U00013000"], ["中"], title="🎉").figure.canvas.draw()


def test_a_long_token_is_shortened():
    ax = plotting.attention_heatmap([[1.0]], ["x" * 25], ["y" * 24])
    assert texts(ax.get_xticklabels()) == ["x" * 23 + "…"] and texts(ax.get_yticklabels()) == ["y" * 24]


@pytest.mark.parametrize("weights, source, target, more, message", [
    (np.ones((2, 3)), "ab", "ABC", {}, r"weights \(2, 3\) do not match \(target, source\) tokens = \(3, 2\).*</s>"),
    (np.ones(3), "abc", "A", {}, "do not match"),
    (np.ones((0, 2)), "ab", "", {}, "2 source and 0 target"),
    ([[math.nan]], "a", "A", {}, "NaN"),
    ([[math.inf]], "a", "A", {}, "infinity"),
    ([[0.5]], "a", "A", {"vmax": 0}, "vmax"),
    ([[0.5, 0.5]], "ab", "A", {"gold": {(0, 1)}}, r"gold link \(0, 1\) is outside of 2 source and 1 target"),
    ([[0.5, 0.5]], "ab", "A", {"possible": {(-1, 0)}}, r"possible link \(-1, 0\)"),
])
def test_heatmap_refuses(weights, source, target, more, message):
    with pytest.raises(ValueError, match=message):
        plotting.attention_heatmap(weights, list(source), list(target), **more)


def test_learning_curves():
    ax = plotting.learning_curves(HISTORY)
    training, validation, best = ax.lines
    assert np.allclose(training.get_ydata(), [40, 20, 10]) and list(training.get_xdata()) == [1, 2, 3]
    assert list(validation.get_ydata()) == [30, 18, 21]
    assert (best.get_xdata(), best.get_ydata()) == ([2], [18])
    assert texts(ax.get_legend().get_texts()) == ["training", "validation", "best: 18 (epoch 2)"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_yscale()) == ("epoch", "perplexity (log scale)", "log")
    assert training.get_marker() != validation.get_marker()


def test_learning_curves_leave_gaps_and_prefer_perplexity():
    history = [{"epoch": 1, "train_loss": 5.0, "train_perplexity": 7.0}, {"epoch": 2, "train_perplexity": None},
               {"epoch": 3, "train_loss": 1e6}, {"epoch": 4, "train_perplexity": math.inf}]
    ax = plotting.learning_curves(history)
    assert np.array_equal(ax.lines[0].get_ydata(), [7, np.nan, np.nan, np.nan], equal_nan=True)
    assert len(ax.lines) == 1


@pytest.mark.parametrize("perplexities, ticks", [([6.0, 7.5], 3), ([7.0, 900.0], 4)])
def test_perplexity_has_plain_tick_labels(perplexities, ticks):
    ax = plotting.learning_curves([{"epoch": n, "valid_perplexity": value} for n, value in enumerate(perplexities)])
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    shown = [float(text) for text in texts(ax.get_yticklabels()) if text]
    assert sum(low <= value <= high for value in shown) >= ticks


@pytest.mark.parametrize("history, message", [
    ([], "empty"), ([{"train_loss": 1.0}], "line 0 .* no 'epoch'"), ([{"epoch": 1, "train_loss": math.nan}], "finite"),
])
def test_learning_curves_refuse(history, message):
    with pytest.raises(ValueError, match=message):
        plotting.learning_curves(history)


def test_bleu_by_length_plot():
    other = [bucket._replace(bleu=bucket.bleu and bucket.bleu / 2) for bucket in CURVE]
    ax = plotting.bleu_by_length_plot({"RNNsearch": CURVE, "_fixed $h$": other})
    assert np.array_equal(ax.lines[0].get_ydata(), [28, np.nan, 20], equal_nan=True)
    assert np.array_equal(ax.lines[1].get_ydata(), [14, np.nan, 10], equal_nan=True)
    assert texts(ax.get_xticklabels()) == ["1–9\nn=30", "10–19\nn=0", "20+\nn=9"]
    assert texts(ax.get_legend().get_texts()) == ["RNNsearch", "_fixed $h$"]
    assert ax.get_ylabel() == "BLEU" and "length" in ax.get_xlabel() and ax.get_ylim()[0] == 0
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in ax.lines}) == 2


@pytest.mark.parametrize("systems, message", [
    ({}, "nothing to plot"), ({"a": []}, "nothing to plot"), ({"a": CURVE, "b": CURVE[:2]}, "'b' has .* same edges"),
])
def test_bleu_by_length_plot_refuses(systems, message):
    with pytest.raises(ValueError, match=message):
        plotting.bleu_by_length_plot(systems)


@pytest.mark.parametrize("suffix, start", [("png", b"\x89PNG"), ("PDF", b"%PDF"), ("svg", b"<?xml")])
def test_a_picture_drawn_anew_makes_the_same_bytes(tmp_path, suffix, start):
    weights = weights_for(TARGET, SOURCE)
    first, second = (plotting.attention_heatmap(weights, SOURCE, TARGET, gold={(0, 0)}) for _ in range(2))
    first = plotting.save(first, tmp_path / f"a.{suffix}")
    second = plotting.save(second.figure, str(tmp_path / f"b.{suffix}"))
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == second.read_bytes()
    assert b"CreationDate" not in first.read_bytes() and b"dc:date" not in first.read_bytes()
    assert sorted(os.listdir(tmp_path)) == [f"a.{suffix}", f"b.{suffix}"]


def test_save_of_axes_in_a_subfigure_writes_the_whole_figure(tmp_path):
    figure = Figure()
    part = figure.subfigures(1, 2)[0]
    assert plotting.save(part.subplots(), tmp_path / "a.png").exists()


@pytest.mark.parametrize("name, error, message", [
    ("a.gif", ValueError, "must end with .png, .pdf or .svg"), ("a", ValueError, "must end"),
    (".png", ValueError, "must end"), ("missing/a.png", FileNotFoundError, "there is no folder .*missing; make it"),
])
def test_save_refuses_before_anything_is_written(tmp_path, name, error, message):
    with pytest.raises(error, match=message):
        plotting.save(plotting.learning_curves(HISTORY), tmp_path / name)
    assert not os.listdir(tmp_path)


def test_save_refuses_a_folder_and_what_is_no_figure(tmp_path):
    (tmp_path / "a.png").mkdir()
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        plotting.save(plotting.learning_curves(HISTORY), tmp_path / "a.png")
    with pytest.raises(ValueError, match="an Axes or a Figure, got list"):
        plotting.save([], tmp_path / "b.png")
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_save_that_fails_half_way_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    figure = Figure()

    def break_off(temporary, **_):
        Path(temporary).write_bytes(b"half")
        raise OSError("disk full")
    figure.savefig = break_off
    with pytest.raises(OSError, match="disk full"):
        plotting.save(figure, path)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.png"]


HEADLESS = """
import sys
from numpy_attention import plotting
assert "matplotlib.pyplot" not in sys.modules, "importing the module must not choose a backend"
if sys.argv[2] == "pyplot":
    from matplotlib import pyplot
ax = plotting.attention_heatmap([[1.0]], ["a"], ["b"], gold={(0, 0)})
plotting.save(ax, sys.argv[1])
if sys.argv[2] == "pyplot":
    assert (getattr(ax.figure, "number", None) in pyplot.get_fignums()) == (sys.argv[3] == "managed")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems need no DISPLAY variable to have a display")
@pytest.mark.parametrize("backend, use, figure", [
    (None, "alone", ""), (None, "pyplot", "managed"), ("module://not_installed", "pyplot", "unmanaged"),
])
def test_headless(tmp_path, backend, use, figure):
    root = Path(plotting.__file__).parents[1]
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["PYTHONPATH"] = str(root)
    if backend:
        environment["MPLBACKEND"] = backend
    command = [sys.executable, "-c", HEADLESS, str(tmp_path / "a.png"), use, figure]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_colours_differ_in_brightness_too():
    """Curves beside each other must differ in grey: 0.299 R + 0.587 G + 0.114 B."""
    grey = [np.dot(colors.to_rgb(colour), (0.299, 0.587, 0.114)) for colour in plotting.COLOURS]
    assert all(abs(a - b) > 0.03 for a, b in zip(grey, grey[1:]))
    assert len(set(plotting.MARKERS)) == len(plotting.COLOURS)
