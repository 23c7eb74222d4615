"""benchmarks/history_figures.py: of any language model's run, on the text that the run itself was trained on."""

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from numpy_attention.cli.main import main
from numpy_attention.data.batching import TextBatches
from numpy_attention.data.vocabulary import UNK

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import history_figures  # noqa: E402


@pytest.mark.parametrize("unit", [[], ["--characters"]])
def test_own_text(tmp_path, monkeypatch, capsys, unit):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.txt").write_text("the dog sees the cat .\na cat sees it .\n" * 200)
    train = "train lm --text own.txt --epochs 1 --embedding 8 --steps 12 --layers 1 --attention".split()
    for attention, run in (("none", "plain"), ("combined", "looks")):
        assert main([*train, attention, *unit, "--run", run]) == 0
    seen = []
    monkeypatch.setattr(history_figures, "TextBatches", lambda ids, *how: seen.append(ids) or TextBatches(ids, *how))
    monkeypatch.setattr(history_figures, "STREAMS", 2)
    capsys.readouterr()
    history_figures.main(["plain", "looks", "--output", "figures"])
    out = capsys.readouterr().out
    assert "LSTM: " in out and "combined: " in out and "mean weight on the previous positions" in out
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"attention_span.png", "gradient_flow.png"}
    assert len(seen) == 2 and not any(np.isin(ids, [UNK]).any() for ids in seen)
