"""numpy-attention compare on several ranks: same figures, one output, and a clean end."""

import re
import signal
import time
from pathlib import Path

from tiny_recipes import KNOWN

from numpy_attention.cli import compare
from numpy_attention.cli.main import main
from numpy_attention.experiments import compare as comparison
from numpy_attention.experiments.runs.translator import Translator

RECIPES = Path(__file__).with_name("tiny_recipes.py")


def trained(folder):
    """Return {run: the bytes of its parameters}."""
    runs = [path.parent for path in folder.glob("runs/*/checkpoint.npz")]
    return {run.name: Translator.load(run).model.vector.tobytes() for run in runs}


def without_minutes(lines):
    return [re.sub(r"\d+\.\d \|", "", line) for line in lines if line.startswith("|")]


def test_three_ranks_match_one(run, tmp_path, monkeypatch, capsys):
    words = "compare tiny-additive tiny-dot --seeds 0-1 --output figures --threads 1".split()
    code, lines, err = run(3, RECIPES, *words[:-2])
    assert code == 0, err
    done = [re.fullmatch(r"(\d) done: (tiny-\w+, seed \d): .*perplexity [\d.]+, BLEU .*", line)
            for line in lines]
    assert [one[1] for one in done if one] == ["1", "2", "3", "4"]
    assert {one[2] for one in done if one} == {
        f"{name}, seed {seed}" for name in ("tiny-additive", "tiny-dot") for seed in (0, 1)}
    assert "4 training runs, 2 at a time; the same command resumes them" in lines
    assert "epoch" not in err
    pictures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert pictures == {"heatmaps.png", "bleu_by_length.png"}

    single = tmp_path / "alone"
    single.mkdir()
    monkeypatch.chdir(single)
    monkeypatch.setattr(compare, "RECIPES", KNOWN)
    monkeypatch.setattr(comparison, "RECIPES", KNOWN)
    assert main(words) == 0
    assert without_minutes(capsys.readouterr().out.splitlines()) == without_minutes(lines)
    assert len(trained(single)) == 4 and trained(single) == trained(tmp_path)


def test_failures_are_named_and_settings_are_checked_first(run, tmp_path):
    """With two ranks, one trains the runs in order."""
    words = "compare tiny-dot diverging tiny-fixed --seeds 3".split()
    code, lines, err = run(2, RECIPES, *words)
    assert code == 2
    error, = re.findall("^numpy-attention: error: (.*)$", err, re.M)
    assert error.startswith("diverging, seed 3: step 2 of epoch 1 has loss nan")
    assert sum("done: tiny-dot, seed 3: " in line for line in lines) == 1
    assert "Traceback" not in err
    before = trained(tmp_path)
    assert list(before) == ["tiny-dot-seed3"]
    code, lines, err = run(2, RECIPES, *words[:2], "tiny-fixed", "--seeds", "2-3", "--threads", "2")
    assert code == 2
    assert err.count("seed3 holds a run with different settings: threads was 1 and is now 2") == 1
    assert trained(tmp_path) == before


def test_termination_saves_every_training(start, tmp_path):
    process = start(3, RECIPES, *"compare endless endless-too --output figures".split())
    paths = [tmp_path / f"runs/{name}-seed0/checkpoint.npz" for name in ("endless", "endless-too")]
    end = time.monotonic() + 120
    while not all(path.exists() for path in paths):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGUSR1
    assert err.count("numpy-attention: ended by SIGUSR1") == 1 and "Traceback" not in err
    assert all(len(Translator.load(path.parent).history) for path in paths)
    assert not list(tmp_path.glob("runs/*/*.lock"))
