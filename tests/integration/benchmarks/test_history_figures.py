"""benchmarks/history_figures.py: of any language model's run, on the text that it learnt from."""

import history_figures
import matplotlib
import numpy as np
import pytest

from numpy_attention.cli.main import main
from numpy_attention.data.batching import TextBatches
from numpy_attention.data.vocabulary import UNK

TRAIN = "train lm --text own.txt --epochs 1 --embedding 8 --steps 12 --layers 1 --attention".split()


@pytest.mark.parametrize("unit", [[], ["--characters"]])
def test_own_text(tmp_path, monkeypatch, capsys, unit):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.txt").write_text("the dog sees the cat .\na cat sees it .\n" * 200)
    for attention, run in (("none", "plain"), ("combined", "looks")):
        assert main([*TRAIN, attention, *unit, "--run", run]) == 0
    seen = []

    def batches(ids, *how):
        seen.append(ids)
        return TextBatches(ids, *how)

    monkeypatch.setattr(history_figures, "TextBatches", batches)
    monkeypatch.setattr(history_figures, "STREAMS", 2)
    capsys.readouterr()
    history_figures.main(["plain", "looks", "--output", "figures"])
    out = capsys.readouterr().out
    assert "LSTM: " in out
    assert "combined: " in out
    assert "mean weight on the previous positions" in out
    saved = {path.name for path in (tmp_path / "figures").iterdir()}
    assert saved == {"attention_span.png", "gradient_flow.png"}
    assert len(seen) == 2
    assert not any(np.isin(ids, [UNK]).any() for ids in seen)
