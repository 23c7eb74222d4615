"""The commands that make and use a run: train, resume, translate, evaluate, heatmap."""

import io
import json
import os
import re
import signal
import sys

import numpy as np
import pytest

from numpy_attention.cli import main
from numpy_attention.training import checkpoint
from numpy_attention.training.trainer import Trainer

SMALL = "--hidden 8 --embedding 6 --epochs 2 --batch-size 32 --learning-rate 0.01 --threads 1".split()
COPY = ["train", "--corpus", "copy", "--max-length", "4", "--pairs", "120", *SMALL]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "copy"
    assert main([*COPY, "--run", str(folder)]) == 0
    return str(folder)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Two files of 40 lines, and a folder of the test's own to stand in."""
    monkeypatch.chdir(tmp_path)
    words, rng = ["Red", "green", "blue", "it's"], np.random.default_rng(1)
    lines = [" ".join(words[k] for k in rng.integers(4, size=3)) + f" {i}." for i in range(40)]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "b.txt").write_text("\n".join(line.upper() for line in lines) + "\n")
    return tmp_path


def told(capsys, *arguments):
    assert main(list(arguments)) == 2
    error = capsys.readouterr().err
    assert error.count("numpy-attention: error: ") == 1 and error.endswith("\n") and "Traceback" not in error
    return error


def vector(folder):
    arrays, _ = checkpoint.load(f"{folder}/checkpoint.npz")
    return np.concatenate([arrays[name].ravel() for name in sorted(arrays) if name.startswith("parameters/")])


# ---- train ----------------------------------------------------------------------------------------------------------


def test_train_says_what_it_does(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(COPY) == 0
    out = capsys.readouterr().out
    assert re.search(r"^rnnsearch, [\d,]+ parameters; 120 pairs of copy", out)
    assert "saves to runs/copy-rnnsearch" in out and "120 pairs (test)" in out and "pointing" in out
    files = {path.name for path in (tmp_path / "runs/copy-rnnsearch").iterdir()}
    assert files == {"checkpoint.npz", "learning_curves.png"}
    next_command = re.search(r'^next: numpy-attention (translate runs/copy-rnnsearch) "(.*)"$', out, re.MULTILINE)
    assert main([*next_command[1].split(), next_command[2]]) == 0


def test_resumes_and_goes_on(run, capsys, tmp_path):
    before = vector(run)
    assert main([*COPY, "--run", run]) == 0
    assert f"resumes the run in {run}" in capsys.readouterr().out
    assert np.array_equal(vector(run), before)


def test_more_epochs_are_no_other_settings(capsys, tmp_path):
    more = [*COPY, "--run", str(tmp_path / "a"), "--epochs", "3"]
    assert main([*COPY, "--run", str(tmp_path / "a")]) == main(more) == 0
    assert main([*COPY, "--run", str(tmp_path / "b"), "--epochs", "3"]) == 0
    assert "trained for 3 epochs" in capsys.readouterr().out
    assert np.array_equal(vector(tmp_path / "a"), vector(tmp_path / "b"))


@pytest.mark.parametrize("change, message", [
    ("--hidden 9", "hidden 8 there, 9 now"), ("--seed 1", "seed 0 there, 1 now"), ("--dropout 0", "dropout 0.2 there"),
    ("--optimizer sgd", "optimizer adam there, sgd now"), ("--clip 5", "clip 1.0 there, 5.0 now"),
    ("--max-length 3", "corpus max_length 4 there, 3 now"), ("--model encoder-decoder", "model rnnsearch there"),
    ("--min-count 15", "min_count 2 there, 15 now"), ("--reverse-source", "reverse_source False there"),
    ("--threads 2", "threads 1 there, 2 now"), ("--minutes 3", "minutes None there, 3.0 now"),
])
def test_other_settings_are_refused(run, change, message, capsys):
    before = open(f"{run}/checkpoint.npz", "rb").read()
    assert message in told(capsys, *COPY, "--run", run, *change.split())
    assert open(f"{run}/checkpoint.npz", "rb").read() == before


def test_ctrl_c_saves_and_resumes(tmp_path, capsys, monkeypatch):
    assert main([*COPY, "--run", str(tmp_path / "whole")]) == 0
    step = Trainer.train_step

    def interrupted(self, *arguments):
        if self.step == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "train_step", interrupted)
        assert main([*COPY, "--run", str(tmp_path / "cut")]) == 130
    assert "after 6 steps" in (error := capsys.readouterr().err) and "the same command resumes it" in error
    assert main([*COPY, "--run", str(tmp_path / "cut")]) == 0
    assert "resumed after 6 steps" in capsys.readouterr().out
    assert np.array_equal(vector(tmp_path / "cut"), vector(tmp_path / "whole"))


def test_own_text(own, capsys):
    command = ["train", "--source", "a.txt", "--target", "b.txt", "--tokenize", "--lowercase", *SMALL]
    assert main([*command, "--valid-source", "a.txt", "--valid-target", "b.txt", "--run", "with"]) == 0
    assert "40 pairs of a" in (out := capsys.readouterr().out) and "40 pairs (valid)" in out
    assert main(command) == 0
    assert "38 pairs of a" in (out := capsys.readouterr().out) and "2 pairs (valid)" in out      # 5 % are held out
    run = "runs/a-rnnsearch"
    assert main(["translate", run, "RED it's."]) == 0
    assert capsys.readouterr().err == ""                                                         # lowercased and cut
    assert main(["translate", run, "RED", "--no-lowercase"]) == 0
    assert "read as <unk>: RED" in capsys.readouterr().err
    assert main(["evaluate", run]) == 0
    assert "a, valid: 2 pairs" in (out := capsys.readouterr().out) and "pointing" not in out
    assert "no 'test' split" in told(capsys, "evaluate", run, "--split", "test")
    (own / "a.txt").write_text((own / "a.txt").read_text().replace("green", "white"))
    assert "has changed since" in told(capsys, "evaluate", run)
    assert "digest" in told(capsys, *command)


@pytest.mark.parametrize("source, target, message", [
    ("x\ny z\n", "x\n", "line 2 has no partner"), ("x\n\n", "x\ny\n", "a.txt, line 2: empty"),
    ("", "", "are empty"), (b"\xff\xfe\n", "x\n", "line 1"), ("x\n", "y\n", "at least 2"),
    ("x\nx\n", "y\nz\n", "at least 2"),
])
def test_malformed_files(own, source, target, message, capsys):
    for name, text in (("a.txt", source), ("b.txt", target)):
        (own / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert message in told(capsys, "train", "--source", "a.txt", "--target", "b.txt", "--min-count", "1", *SMALL)
    assert not (own / "runs").exists()


def test_one_side_of_validation(own, capsys):
    assert "one side only" in told(capsys, "train", "--source", "a.txt", "--target", "b.txt", "--valid-source", "a.txt")


def test_run_that_is_a_file(own, capsys):
    assert "is a file" in told(capsys, *COPY, "--run", "a.txt")


# ---- translate ------------------------------------------------------------------------------------------------------


def test_translate(run, capsys, tmp_path):
    picture = tmp_path / "weights.png"
    assert main(["translate", run, "3 1 4", "5 5", "--beam", "1"]) == 0
    greedy = capsys.readouterr().out.splitlines()
    assert len(greedy) == 2
    assert main(["translate", run, "3 1 77", "--heatmap", str(picture)]) == 0
    out, error = capsys.readouterr()
    assert len(out.splitlines()) == 1 and "read as <unk>: 77\n" in error and picture.read_bytes()[:4] == b"\x89PNG"


def test_translate_all(run, capsys):
    assert main(["translate", run, "3 1 4", "--beam", "3", "--all", "--length-penalty", "0"]) == 0
    form = re.compile(r" *(\S+)  log p +(\S+) +(\d+) words  (.*)")
    lines = [form.fullmatch(line) for line in capsys.readouterr().out.splitlines()]
    scores = [float(line[1]) for line in lines]
    assert len(lines) == 3 and scores == sorted(scores, reverse=True)
    assert all(line[1] == line[2] and len(line[4].split()) == int(line[3]) for line in lines)     # penalty 0: log p
    assert main(["translate", run, "3 1 4", "--beam", "3", "--length-penalty", "0"]) == 0
    assert capsys.readouterr().out.strip() == lines[0][4]


def test_translate_reads_the_input(run, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("3 1 4\n2\n"))
    assert main(["translate", run]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    for text, message in (("", "no sentence to translate"), ("1 2\n\n3\n", "sentence 2 is empty")):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert message in told(capsys, "translate", run)


def test_translate_refuses(run, capsys, tmp_path):
    assert "sentence 1 is empty" in told(capsys, "translate", run, "")
    assert "sentence 1 is empty" in told(capsys, "translate", run, "  ")
    assert "draws one sentence" in told(capsys, "translate", run, "1", "2", "--heatmap", str(tmp_path / "a.png"))
    assert ".svg" in told(capsys, "translate", run, "1", "--heatmap", str(tmp_path / "a.txt"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage, message", [
    (lambda data: data[:len(data) // 2], "truncated or corrupted"), (lambda data: b"", "checkpoint.npz"),
    (lambda data: b"no archive at all", "checkpoint.npz"),
])
@pytest.mark.parametrize("command", ["translate {} 1", "evaluate {}", "heatmap {} --output a.png",
                                     " ".join(COPY) + " --run {}"])
def test_damaged_checkpoint(run, command, damage, message, capsys, tmp_path):
    data = open(f"{run}/checkpoint.npz", "rb").read()
    (tmp_path / "checkpoint.npz").write_bytes(damage(data))
    assert message in told(capsys, *command.format(tmp_path).split())
    assert (tmp_path / "checkpoint.npz").read_bytes() == damage(data)


# ---- evaluate, heatmap ----------------------------------------------------------------------------------------------


def test_evaluate(run, capsys):
    assert main(["evaluate", run, "--json", "--beam", "2"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["pairs"] == 120 and figures["split"] == "test" and figures["beam"] == 2 and figures["diagonal"] == 1
    assert "tok:none" in figures["bleu_signature"] and "nc:6" in figures["chrf_signature"]
    assert main(["evaluate", run, "--beam", "2"]) == 0
    out = capsys.readouterr().out
    assert f"{figures['perplexity']:.2f}   over {figures['tokens']:,} tokens" in out
    assert figures["bleu_signature"] in out
    assert f"{figures['pointing']:.3f}   of the sure links" in out


def test_evaluate_elsewhere(run, capsys, tmp_path):
    for arguments, label, pairs in ((["--split", "valid", "--pairs", "7"], "copy", 7),
                                    (["--corpus", "reverse", "--pairs", "9"], "reverse", 9)):
        assert main(["evaluate", run, "--json", *arguments]) == 0
        figures = json.loads(capsys.readouterr().out)
        assert (figures["corpus"], figures["pairs"]) == (label, pairs)
    (tmp_path / "a").write_text("1 2\n3 4 5 6\n")
    files = ["--source", str(tmp_path / "a"), "--target", str(tmp_path / "a")]
    assert main(["evaluate", run, "--json", *files]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["pairs"], figures["tokens"], figures["split"]) == (2, 8, None) and "pointing" not in figures
    assert main(["evaluate", run, "--json", *files, "--max-length", "3"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 1
    assert "at most 1 tokens" in told(capsys, "evaluate", run, *files, "--max-length", "1")
    assert "both" in told(capsys, "evaluate", run, "--source", "a")
    assert "both" in told(capsys, "evaluate", run, *files, "--split", "test")
    assert "verses" in told(capsys, "evaluate", run, "--part", "verses")


def test_heatmap(run, capsys, tmp_path):
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    assert main(["heatmap", run, "--index", "2", "--output", str(first)]) == 0
    source, target, _ = capsys.readouterr().out.splitlines()
    assert source == target and "sure link" in first.read_text()
    assert main(["heatmap", run, source, target, "--output", str(second)]) == 0
    assert "sure link" not in second.read_text()
    for arguments, message in (("--index 120", "numbered from 0"), ("3", "source and a target"),
                               ("3 1 --index 0", "without"), ("3 4 5", "3 sentence(s)")):
        assert message in told(capsys, "heatmap", run, *arguments.split(), "--output", str(tmp_path / "third.png"))
    assert "empty sentence" in told(capsys, "heatmap", run, "", "3", "--output", str(tmp_path / "third.png"))
    assert "no folder" in told(capsys, "heatmap", run, "3", "3", "--output", str(tmp_path / "no" / "third.png"))
    assert not (tmp_path / "third.png").exists()


def test_characters(tmp_path, capsys):
    """The dates' words are characters: they are cut and joined so, spaces among them."""
    folder = str(tmp_path / "dates")
    assert main(["train", "--corpus", "dates", "--pairs", "40", *SMALL, "--run", folder]) == 0
    capsys.readouterr()
    assert main(["translate", folder, "20 10 2011"]) == 0
    out, error = capsys.readouterr()
    assert error == "" and " " not in out.strip()
    (tmp_path / "a").write_text("3 May\n")
    (tmp_path / "b").write_text("05-03\n")
    assert main(["evaluate", folder, "--json", "--source", str(tmp_path / "a"), "--target", str(tmp_path / "b")]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 6
