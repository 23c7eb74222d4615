"""numpy-attention train: what it says, what it saves, how it resumes, and the reader's own text."""

import os
import re
import shlex
import signal

import numpy as np
import pytest
from cli_runs import COPY, SMALL, told

from numpy_attention.cli.main import main
from numpy_attention.training import checkpoint
from numpy_attention.training.trainer import Trainer
from numpy_attention.runs.translator import Translator, TranslatorTraining, vocabularies_of


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


def vector(folder):
    arrays, _ = checkpoint.load(f"{folder}/checkpoint.npz")
    return np.concatenate([arrays[name].ravel() for name in sorted(arrays) if name.startswith("parameters/")])


def test_train_says_what_it_does(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(COPY) == 0
    out = capsys.readouterr().out
    assert re.search(r"^rnnsearch, [\d,]+ parameters; 120 pairs of copy", out)
    assert "saves to runs/copy-rnnsearch" in out and "120 pairs (test)" in out and "pointing" in out
    files = {path.name for path in (tmp_path / "runs/copy-rnnsearch").iterdir()}
    assert files == {"checkpoint.npz", "learning_curves.png"}
    assert main(shlex.split(re.search("^next: numpy-attention (translate runs/copy-rnnsearch .*)$", out, re.M)[1])) == 0


def test_what_comes_next_may_be_pasted(own, capsys):
    """The folder and the sentence are quoted for the shell, whatever stands in them."""
    (own / "a.txt").write_text('say "it" for $5 `now`\n' * 30)
    (own / "b.txt").write_text("x\n" * 30)
    (own / "c.txt").write_text('say "it" for $5 `now`\n')
    (own / "d.txt").write_text("x\n")
    assert main(["train", "--source", "a.txt", "--target", "b.txt", "--valid-source", "c.txt", "--valid-target", "d.txt",
                 *SMALL, "--run", "my $run"]) == 0
    command = shlex.split(capsys.readouterr().out.split("next: numpy-attention ")[1])
    assert command == ["translate", "my $run", 'say "it" for $5 `now`'] and main(command) == 0


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
    ("--threads 2", "threads 1 there, 2 now"), ("--clip 3", "clip 1.0 there, 3.0 now"),
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


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("command", [COPY, ["train", "lm", "--text", "own.txt", "--hidden", "4", "--epochs", "2"]])
def test_training_that_diverges_says_so(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.txt").write_text("a b c d e\n" * 200)
    error = told(capsys, *command, *"--optimizer sgd --learning-rate 1e6 --clip inf --run away".split())
    assert ("training has diverged" in error and "--learning-rate, in another folder than away" in error) or (
        "try a smaller learning rate" in error)             # where a step's own loss was not finite


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


def test_options_reach_the_training(tmp_path, monkeypatch):
    """Every option of train is where the library reads it."""
    monkeypatch.chdir(tmp_path)
    seen = {}

    def create(pairs, *arguments):
        seen["pairs"], seen["create"] = pairs, arguments
        raise ValueError("seen")
    monkeypatch.setattr(Translator, "create", create)
    assert main("train --corpus copy --pairs 9 --model encoder-decoder --hidden 5 --embedding 7 --dropout 0.1 "
                "--readout previous --reset before --update new --init paper --epochs 3 --minutes 1.5 --batch-size 11 "
                "--optimizer sgd --clip 2 --patience 4 --min-count 3 --reverse-source --seed 6 "
                "--save-steps 8".split()) == 2
    *arguments, vocabularies = seen["create"]
    assert tuple(arguments) == (
        "encoder-decoder",
        {"hidden": 5, "embedding": 7, "dropout": 0.1, "readout": "previous", "reset": "before", "update": "new",
         "init": "paper"},
        TranslatorTraining(epochs=3, minutes=1.5, batch_size=11, optimizer="sgd", learning_rate=1.0, clip=2.0,
                           patience=4, save_steps=8, min_count=3, reverse_source=True, seed=6),
        {"name": "copy", "count": 9})
    assert [one.saved() for one in vocabularies] == [one.saved() for one in vocabularies_of(seen["pairs"], arguments[2])]
    assert main("train --corpus copy --schedule decay".split()) == 2
    assert seen["create"][2] == TranslatorTraining(schedule="decay", full_epochs=4, divisor=2.0, clip=1.0, patience=2,
                                                   min_count=2)
    (tmp_path / "a").write_text("a a\nb b\n")
    assert main("train --source a --target a --lowercase --seed 6 --learning-rate 0.5 --schedule linear".split()) == 2
    training, corpus, _ = seen["create"][2:]
    assert training.learning_rate == 0.5 and training.schedule == "linear" and corpus["held_out_seed"] == 6
    assert (corpus["lowercase"], corpus["tokenize"]) == (True, False)
