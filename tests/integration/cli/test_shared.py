"""What the commands share: the run's folder, how it resumes, and what is said at the end."""

import os
import shlex
import signal
from argparse import Namespace

import numpy as np
import pytest
from cli_runs import COPY, SMALL, given, told

from numpy_attention.cli import shared
from numpy_attention.cli.main import main
from numpy_attention.data.selection import selected
from numpy_attention.training import checkpoint
from numpy_attention.training.lock import held
from numpy_attention.training.settings import TranslatorTraining, LanguageModelTraining
from numpy_attention.training.trainer import Trainer


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "copy"
    assert main([*COPY, "--run", str(folder)]) == 0
    return str(folder)


def vector(folder):
    arrays, _ = checkpoint.load(f"{folder}/checkpoint.npz")
    names = sorted(name for name in arrays if name.startswith("parameters/"))
    return np.concatenate([arrays[name].ravel() for name in names])


# ---- options ------------------------------------------------------------------------------------


def test_refuse():
    options = Namespace(given={"top_k"}, top_k=3, beam=5)
    shared.refuse(options, "it means nothing", "beam")
    with pytest.raises(ValueError) as error:
        shared.refuse(options, "it means nothing", "beam", "top_k")
    assert str(error.value) == "--top-k is given, but it means nothing: leave it out"


def test_a_training_is_what_is_given_and_else_its_own_default():
    words = "--optimizer sgd --schedule warmup --warmup 7"
    training = shared.training_of(TranslatorTraining, given(f"train --corpus copy {words}"))
    assert training == TranslatorTraining(
        optimizer="sgd", learning_rate=1.0, schedule="warmup", warmup=7, min_count=2, patience=2)
    training = shared.training_of(LanguageModelTraining, given("train lm --corpus ptb"), min_count=3)
    assert (training.min_count, training.full_epochs, training.clip) == (3, 0, 5.0)


def test_part_of_a_text():
    copy = selected({"name": "copy", "count": 5})
    assert shared.part_of(copy)[1] == "test" and shared.part_of(copy, "train")[1] == "train"
    assert shared.part_of(copy, "valid") == (copy.load("valid")[0], "valid")
    with pytest.raises(ValueError, match="--index 5: test has 5 pairs, numbered from 0"):
        shared.example_of(5, shared.part_of(copy)[0], "test", "pairs")


def test_unknown_words_are_told_once(capsys):
    shared.warn_of_unknown_words({"a"}, [["a", "b"], ["c", "b"]])
    shared.warn_of_unknown_words({"a"}, [["a"]])
    out, error = capsys.readouterr()
    assert out == ""
    assert error == "numpy-attention: not in the run's vocabulary, read as <unk>: b, c\n"


def test_of_many_unknown_words_ten_are_named_and_the_rest_counted(capsys):
    shared.warn_of_unknown_words({"a"}, [[f"w{n}" for n in range(1_210)]])
    error = capsys.readouterr().err
    assert error.endswith("read as <unk>: w0, w1, w2, w3, w4, w5, w6, w7, w8, w9 and 1,200 more\n")
    shared.warn_of_unknown_words({"a"}, [[f"w{n}" for n in range(10)]])
    assert capsys.readouterr().err.endswith("w8, w9\n")


# ---- the run's folder ---------------------------------------------------------------------------


def test_resumes_and_goes_on(run, capsys):
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
    ("--hidden 9", "hidden 8 there, 9 now"),
    ("--seed 1", "seed 0 there, 1 now"),
    ("--dropout 0", "dropout 0.2 there"),
    ("--optimizer sgd", "optimizer adam there, sgd now"),
    ("--clip 5", "clip 1.0 there, 5.0 now"),
    ("--clip 3", "clip 1.0 there, 3.0 now"),
    ("--max-length 3", "corpus --max-length 4 there, 3 now"),
    ("--model encoder-decoder", "model rnnsearch there"),
    ("--min-count 15", "--min-count 2 there, 15 now"),
    ("--reverse-source", "--reverse-source False there"),
    ("--threads 2", "threads 1 there, 2 now"),
])
def test_other_settings_are_refused(run, change, message, capsys):
    before = open(f"{run}/checkpoint.npz", "rb").read()
    assert message in told(capsys, *COPY, "--run", run, *change.split())
    assert open(f"{run}/checkpoint.npz", "rb").read() == before


def test_a_run_of_another_kind_is_refused(run, capsys, tmp_path):
    (tmp_path / "own.txt").write_text("a b c d e\n" * 200)
    words = ["train", "lm", "--text", str(tmp_path / "own.txt"), "--embedding", "4"]
    assert "translator there, writer now" in told(capsys, *words, "--run", run)


def test_a_run_that_is_a_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("")
    assert "a.txt is a file: name a folder with --run" in told(capsys, *COPY, "--run", "a.txt")


def test_a_folder_where_another_training_is_at_work_is_refused(run, capsys):
    before = open(f"{run}/checkpoint.npz", "rb").read()
    with held(f"{run}/checkpoint.npz"):
        error = told(capsys, *COPY, "--run", run, "--epochs", "3")
        assert error.count("\n") == 1 and f"another training is at work on {run}" in error
        assert main(["translate", run, "3 1 4"]) == 0           # reading it is allowed
    assert open(f"{run}/checkpoint.npz", "rb").read() == before


# ---- while it trains ----------------------------------------------------------------------------


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
    error = capsys.readouterr().err
    assert "after 6 steps" in error and "the same command resumes it" in error
    assert main([*COPY, "--run", str(tmp_path / "cut")]) == 0
    assert "resumed after 6 steps" in capsys.readouterr().out
    assert np.array_equal(vector(tmp_path / "cut"), vector(tmp_path / "whole"))


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("command", [
    COPY, ["train", "lm", "--text", "own.txt", "--hidden", "4", "--epochs", "2"]])
def test_training_that_diverges_says_so(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.txt").write_text("a b c d e\n" * 200)
    away = "--optimizer sgd --learning-rate 1e6 --clip inf --run away".split()
    error = told(capsys, *command, *away)
    curves = "training has diverged" in error and "another folder than away" in error
    step = "try a smaller learning rate" in error       # where a step's own loss was not finite
    assert curves or step


def test_curves_that_are_not_finite(tmp_path):
    history = [{"train_perplexity": float("inf"), "valid_perplexity": float("nan")}]
    with pytest.raises(ArithmeticError, match="try a smaller --learning-rate, in another folder"):
        shared.save_curves(history, tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_comes_next_may_be_pasted(tmp_path, monkeypatch, capsys):
    """The folder and the sentence are quoted for the shell, whatever stands in them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text('say "it" for $5 `now`\n' * 30)
    (tmp_path / "b.txt").write_text("x\n" * 30)
    (tmp_path / "c.txt").write_text('say "it" for $5 `now`\n')
    (tmp_path / "d.txt").write_text("x\n")
    files = ("--source a.txt --target b.txt --valid-source c.txt --valid-target d.txt").split()
    assert main(["train", *files, *SMALL, "--run", "my $run"]) == 0
    command = shlex.split(capsys.readouterr().out.split("next: numpy-attention ")[1])
    assert command == ["translate", "my $run", 'say "it" for $5 `now`']
    assert main(command) == 0
