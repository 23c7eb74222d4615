"""Curves of a step's time: the sizes that grow, and what is drawn of lines that were measured."""

import json

import growth
import numpy as np
import pytest
from growth import CURVES, draw, told
from sides import MODELS, batch_of


def test_one_size_grows_and_all_others_stay():
    assert CURVES["hidden"].size(512) == MODELS["a"] | {"hidden": 512}
    size = CURVES["source"].size(100)
    assert size == MODELS["c"] | {"low": 100, "high": 100, "written": 15}
    batch = batch_of(size, np.random.default_rng(0))
    assert batch.source.shape == (101, 64) and batch.target_in.shape == (16, 64)


def test_the_curves_reach_as_far_as_they_say():
    assert {name: (curve.values[0], curve.values[-1]) for name, curve in CURVES.items()} == {
        "batch": (1, 256), "hidden": (64, 1024), "vocabulary": (1000, 100_000),
        "source": (10, 400)}


def lines_of(names):
    """Ours takes half of PyTorch's time at one thread, all of it at two."""
    return [{"curve": name, "value": value, "threads": threads, "ours": [0.01 * threads] * 3,
             "theirs": [0.02] * 3}
            for name in names for value in CURVES[name].values for threads in (1, 2)]


def test_a_point_is_told():
    assert told(lines_of(["vocabulary"])[-2]) == (
        "vocabulary 100,000, 1 threads: ours 10.0 ms, theirs 20.0 ms, "
        "ours / theirs 0.500 (0.500–0.500)")


def test_the_figure():
    figure = draw(lines_of(["batch", "source"]))
    above, beneath = figure.axes[0], figure.axes[2]
    assert [line.get_label() for line in above.lines] == [
        "numpy_attention, 1 thread", "PyTorch, 1 thread", "numpy_attention, 2 threads",
        "PyTorch, 2 threads"]
    assert above.lines[0].get_ydata().tolist() == [10.0] * 5            # ms
    assert [set(line.get_ydata()) for line in beneath.lines[:2]] == [{0.5}, {1.0}]
    assert beneath.lines[0].get_xdata().tolist() == list(CURVES["batch"].values)
    assert above.get_ylabel().endswith("ms (log scale)")
    assert [ax.get_xlabel() for ax in figure.axes[2:]] == [
        "rows of a batch (log scale)", "words of a source (log scale)"]


def test_measured_and_then_only_drawn(monkeypatch, tmp_path, capsys):
    asked = []

    def measure(sides, size, rounds, threads):
        asked.append((size["hidden"], rounds, threads))
        return {}, {side.name: np.full(rounds, 0.01) for side in sides}
    monkeypatch.setattr(growth, "measure", measure)
    lines, picture = tmp_path / "lines.jsonl", tmp_path / "growth.png"
    words = ["--curves", "hidden", "--output", str(picture)]
    growth.main([*words, "--quick", "--json", str(lines)])
    assert asked == [(64, 2, 1), (64, 2, 2), (128, 2, 1), (128, 2, 2)]
    assert len([json.loads(line) for line in lines.read_text().splitlines()]) == 4
    drawn = picture.read_bytes()
    picture.unlink()
    growth.main([*words, "--measured", str(lines)])
    assert picture.read_bytes() == drawn and len(asked) == 4
    assert capsys.readouterr().out.count("ours / theirs 1.000") == 4


def test_an_unknown_curve_is_refused(capsys):
    with pytest.raises(SystemExit):
        growth.main(["--curves", "hidden,depth"])
    assert "unknown curve 'depth': expected batch, hidden" in capsys.readouterr().err
