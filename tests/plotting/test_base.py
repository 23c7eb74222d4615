"""Saving figures: complete files or none, no display needed, distinguishable colours."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import colors
from matplotlib.figure import Figure
from pictures import HISTORY, SOURCE, TARGET, weights_for

from numpy_attention import plotting


@pytest.mark.parametrize("suffix, start", [
    ("png", b"\x89PNG"),
    ("PDF", b"%PDF"),
    ("svg", b"<?xml"),
])
def test_saved_files_are_reproducible(tmp_path, suffix, start):
    weights = weights_for(TARGET, SOURCE)
    first, second = (plotting.attention_heatmap(weights, source_tokens=SOURCE,
                                                target_tokens=TARGET, gold={(0, 0)})
                     for _ in range(2))
    first = plotting.save(first, tmp_path / f"a.{suffix}")
    second = plotting.save(second.figure, str(tmp_path / f"b.{suffix}"))
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == second.read_bytes()
    assert b"CreationDate" not in first.read_bytes() and b"dc:date" not in first.read_bytes()
    assert sorted(os.listdir(tmp_path)) == [f"a.{suffix}", f"b.{suffix}"]


@pytest.mark.parametrize("name, error, message", [
    ("a.gif", ValueError, "must end with .png, .pdf or .svg"),
    ("missing/a.png", FileNotFoundError, "missing' is not an existing folder"),
])
def test_save_raises_before_writing(tmp_path, name, error, message):
    with pytest.raises(error, match=message):
        plotting.save(plotting.learning_curves(HISTORY), tmp_path / name)
    assert not os.listdir(tmp_path)


def test_save_raises_for_a_folder_or_an_invalid_figure(tmp_path):
    (tmp_path / "a.png").mkdir()
    with pytest.raises(IsADirectoryError, match="a.png cannot be written"):
        plotting.save(plotting.learning_curves(HISTORY), tmp_path / "a.png")
    with pytest.raises(ValueError, match="expected Axes or a Figure"):
        plotting.save([], tmp_path / "b.png")
    assert os.listdir(tmp_path) == ["a.png"]


def test_failed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    figure = Figure()

    def fail_halfway(file, **_):
        file.write(b"half")
        raise OSError("disk full")
    figure.savefig = fail_halfway
    with pytest.raises(OSError, match="disk full"):
        plotting.save(figure, path)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.png"]


HEADLESS = """
import sys
from numpy_attention import plotting
assert "matplotlib.pyplot" not in sys.modules, "importing the module must not choose a backend"
if sys.argv[2] == "pyplot":
    from matplotlib import pyplot
ax = plotting.attention_heatmap([[1.0]], source_tokens=["a"], target_tokens=["b"], gold={(0, 0)})
plotting.save(ax, sys.argv[1])
if sys.argv[2] == "pyplot":
    managed = getattr(ax.figure, "number", None) in pyplot.get_fignums()
    assert managed == (sys.argv[3] == "managed")
"""


@pytest.mark.skipif(sys.platform != "linux",
                    reason="other systems need no DISPLAY variable to have a display")
@pytest.mark.parametrize("backend, use, figure", [
    (None, "pyplot", "managed"),
    ("module://not_installed", "pyplot", "unmanaged"),
])
def test_without_a_display(tmp_path, backend, use, figure):
    root = Path(plotting.__file__).parents[2]
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["PYTHONPATH"] = str(root)
    if backend:
        environment["MPLBACKEND"] = backend
    command = [sys.executable, "-c", HEADLESS, str(tmp_path / "a.png"), use, figure]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_neighbouring_colours_differ_in_brightness():
    """Grey is 0.299 R + 0.587 G + 0.114 B."""
    grey = [np.dot(colors.to_rgb(colour), (0.299, 0.587, 0.114)) for colour in plotting.COLOURS]
    assert all(abs(a - b) > 0.03 for a, b in zip(grey, grey[1:]))
    assert len(set(plotting.MARKERS)) == len(plotting.COLOURS)
