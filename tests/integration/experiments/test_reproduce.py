"""numpy-attention reproduce: figures are recorded once, and only those of the current recipe."""

from dataclasses import replace

import pytest
from tiny_recipe import TINY

from numpy_attention.cli import catalogue
from numpy_attention.cli.main import main
from numpy_attention.experiments.recipes import RECIPES, results
from numpy_attention.training.trainer import Trainer


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(RECIPES, "tiny", TINY)
    return tmp_path


def test_reproduce(tiny, capsys):
    assert main(["reproduce", "tiny", "--seed", "1", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    assert "baseline 2.5 (a textbook)" in out and "4 results appended to results/tiny.jsonl" in out
    lines = results.read_file(tiny / "results/tiny.jsonl")
    assert len(lines) == 4 and {line["seed"] for line in lines} == {1}
    assert [path.name for path in (tiny / "runs").iterdir()] == ["tiny-seed1"]
    # resumed: nothing is added
    assert main(["reproduce", "tiny", "--seed", "1", "--threads", "1"]) == 0
    assert "already contains these results" in capsys.readouterr().out
    assert main(["reproduce", "tiny", "--threads", "1", "--results", "elsewhere"]) == 0
    assert {line["seed"] for line in results.read(tiny / "elsewhere")} == {0}
    assert results.read_file(tiny / "results/tiny.jsonl") == lines


def test_changed_recipe_raises_before_training(tiny, capsys, monkeypatch):
    assert main(["reproduce", "tiny", "--threads", "1"]) == 0
    monkeypatch.setitem(RECIPES, "tiny", replace(TINY, beam=3))
    monkeypatch.setattr(catalogue, "run", lambda *arguments: pytest.fail("trained"))
    assert main(["reproduce", "tiny", "--seed", "1", "--threads", "1"]) == 2
    assert "the settings of recipe 'tiny' have changed" in capsys.readouterr().err


def test_interrupted_recipe_records_nothing(tiny, capsys, monkeypatch):
    def stop(self, *arguments):
        self.save()
        raise KeyboardInterrupt("stopped")
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_end_epoch", stop)
        assert main(["reproduce", "tiny", "--threads", "1"]) == 130
    assert not (tiny / "results").exists()
    assert main(["reproduce", "tiny", "--threads", "1"]) == 0
    assert "resumed after 4 steps" in capsys.readouterr().out
