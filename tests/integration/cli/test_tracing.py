"""What is told line by line: trace, heatmap --gradients, step."""

import subprocess
import sys

import pytest
from cli_runs import COPY, told
from small_lessons import HEAD, PLAIN, USE, written

from numpy_attention import plotting
from numpy_attention.cli.main import main

TINY = "--embedding 6 --batch-size 4 --steps 5 --epochs 2 --learning-rate 0.01 --threads 1"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{"translator", "writer", "ngram": the folder of a run}."""
    folder = tmp_path_factory.mktemp("runs")
    text = folder / "text.txt"
    text.write_text("the cat sees a dog\nthe dog sees a cat\n" * 20)
    found = {name: str(folder / name) for name in ("translator", "writer", "ngram")}
    assert main([*COPY, "--run", found["translator"]]) == 0
    lm = ["train", "lm", "--text", str(text), *TINY.split()]
    assert main([*lm, "--attention", "combined", "--run", found["writer"]]) == 0
    assert main([*lm, "--attention", "ngram", "--order", "2", "--run", found["ngram"]]) == 0
    return found


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# ---- trace --------------------------------------------------------------------------------------


def test_trace_of_a_translator(runs, capsys):
    assert main(["trace", runs["translator"], "3 1", "1 3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("RNNSearch, 3 1 → 1 3: L = ")
    assert "dalpha = dot_scores(dcontext, memory)" in out and "steps 0 … 2" in out
    assert main(["trace", runs["translator"], "3 1", "1 3", "--names", "dalpha,w*", "--step", "2",
                 "--layer", "attention"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = {line.split()[1] for line in lines if line[:5].strip().isdigit()}
    assert names == {"dalpha", "weights"}
    assert main(["trace", runs["translator"], "3 1", "1", "--depth", "0"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_trace_of_a_language_model_warns_of_unknown_words(runs, capsys):
    assert main(["trace", runs["writer"], "the cat flies", "--names", "grads.*"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("AttentiveLanguageModel, the cat flies: L = ")
    assert "grads.W_q" in told.out and "read as <unk>: flies" in told.err


@pytest.mark.parametrize("name, arguments, message", [
    ("translator", [], "required: SENTENCE"), ("translator", ["1", "2", "3"], "3 sentences given"),
    ("writer", ["the", "cat"], "2 sentences given: expected one sentence"),
    ("writer", [" "], "an empty sentence"),
    ("translator", ["1", "2", "--step", "7"], "step 7: nothing has it; there are 0, 1"),
    ("translator", ["1", "2", "--layer", "decodr"], "there are decoder"),
    ("translator", ["1", "2", "--names", "dnothing"], "name 'dnothing': nothing has it"),
    ("translator", ["1", "2", "--names", "a,,b"], "expected names such as weights,dx"),
    ("translator", ["1", "2", "--depth", "-1"], "--depth"),
])
def test_a_trace_that_cannot_be_is_refused(runs, name, arguments, message, capsys):
    assert message in told(capsys, "trace", runs[name], *arguments)


def test_a_trace_of_no_run_is_refused(capsys):
    assert "no checkpoint" in told(capsys, "trace", "nowhere", "a")


# ---- heatmap --gradients ------------------------------------------------------------------------


@pytest.mark.parametrize("name, sentences", [
    ("translator", ["3 1", "1 3"]), ("translator", []), ("writer", ["the cat sees"])])
def test_a_heatmap_with_gradients(runs, name, sentences, capsys, monkeypatch, tmp_path):
    drawn = []
    draw = plotting.gradient_heatmap

    def seen(*given):
        drawn.append(given)
        return draw(*given)

    monkeypatch.setattr(plotting, "gradient_heatmap", seen)
    assert main(["heatmap", runs[name], *sentences, "--gradients", "--output", "a.png"]) == 0
    assert "saved a.png" in capsys.readouterr().out and (tmp_path / "a.png").stat().st_size > 5000
    (weights, gradients, sources, targets, visible), = drawn
    assert weights.shape == gradients.shape == visible.shape == (len(targets), len(sources))
    assert "</s>" in targets and abs(gradients[visible]).max() > 0


def test_a_heatmap_without_weights_is_refused(runs, capsys):
    words = ["heatmap", runs["ngram"], "the cat", "--gradients", "--output", "a.png"]
    assert "no attention weights" in told(capsys, *words)


# ---- step ---------------------------------------------------------------------------------------


def test_step_goes_through_a_lesson(capsys, tmp_path, monkeypatch):
    written(tmp_path / "lessons", "01_small", HEAD, PLAIN, USE)
    assert main(["step", "1", "--steps", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("01_small.py: runs its cells up to the "
                          "reference implementation\n── Plain, forward: ")
    assert out.count("── Plain") == 2 and "loud" not in out
    assert main(["step", "small", "--lessons", "lessons", "--steps", "99"]) == 0
    assert capsys.readouterr().out.count("── Plain") == 6


def test_step_without_a_terminal_prints_all(tmp_path):
    written(tmp_path / "lessons", "01_small", HEAD, PLAIN, USE)
    done = subprocess.run([sys.executable, "-m", "numpy_attention", "step", "1"], check=True,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.stdout.count("── Plain") == 6 and done.stderr == ""


def test_a_step_that_cannot_be_is_refused(capsys, tmp_path):
    written(tmp_path / "lessons", "01_small", HEAD)
    for arguments, message in (("2", "none has this name or number: choose one of 01_small"),
                               ("1", "01_small.py has no reference implementation to step"),
                               ("1 --lessons nowhere", "there are no lessons in nowhere"),
                               ("1 --steps 0", "--steps"), ("", "required: LESSON")):
        assert message in told(capsys, "step", *arguments.split())
