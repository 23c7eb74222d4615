"""numpy-attention train lm: what it says and saves, which model and training its options mean, and what is refused."""

import re

import numpy as np
import pytest
from cli_runs import COPY, told

from numpy_attention.cli.main import main, parse
from numpy_attention.cli.language_models import corpus_to_train_on, model_of, training_of
from numpy_attention.data.running_text import Text
from numpy_attention.models.budget import within_budget
from numpy_attention.training import checkpoint
from numpy_attention.runs.writer import Writer, WriterTraining

TINY = "--embedding 6 --batch-size 4 --steps 5 --epochs 2 --learning-rate 0.01 --threads 1".split()
OWN = ["train", "lm", "--text", "own.txt", *TINY]
TEXT = Text([[["a", "b"], ["a", "c", "a"], ["b"]]])


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """A text of 60 lines in a folder of the test's own to stand in."""
    monkeypatch.chdir(tmp_path)
    words, rng = ["Red", "green", "blue,", "it's"], np.random.default_rng(1)
    (tmp_path / "own.txt").write_text("".join(" ".join(words[k] for k in rng.integers(4, size=5)) + "\n" for _ in range(60)))
    return tmp_path


def test_train_says_what_it_does(own, capsys):
    assert main([*OWN, "--attention", "combined", "--carried", "7"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^lstm of 1 × 6 with combined, [\d,]+ parameters; 285 words of own, 8 in the vocabulary$", out, re.M)
    assert "state carried through the text, 4 streams, 5 words at a time; memory of 7 states carried on\n" in out
    assert re.search(r"^  valid perplexity +[\d.]+   over 18 tokens, ends of sentence included$", out, re.M)
    assert "saves to runs/own-combined" in out and " test " not in out
    assert {path.name for path in (own / "runs/own-combined").iterdir()} == {"checkpoint.npz", "learning_curves.png"}
    following = re.search(r"^next: numpy-attention (generate runs/own-combined --prompt) (.*)$", out, re.M)
    assert main([*following[1].split(), following[2].strip("'"), "--length", "3"]) == 0
    assert len(capsys.readouterr().out.split()) <= 6
    assert main([*OWN, "--attention", "combined", "--carried", "7"]) == 0
    assert "resumes the run in runs/own-combined" in capsys.readouterr().out
    assert "carried 7 there, 8 now" in told(capsys, *OWN, "--attention", "combined", "--carried", "8")
    assert "attention combined there, single now" in told(capsys, *OWN, "--attention", "single", "--run", "runs/own-combined")
    assert "translator now" in told(capsys, *COPY, "--run", "runs/own-combined")


def test_resumed_is_the_same(own):
    for run, parts in (("whole", ["3"]), ("parts", ["1", "3"])):
        for epochs in parts:
            assert main([*OWN, "--epochs", epochs, "--attention", "single", "--run", run]) == 0
    whole, parts = (checkpoint.load(own / run / "checkpoint.npz")[0] for run in ("whole", "parts"))
    assert whole.keys() == parts.keys() and all(np.array_equal(whole[name], parts[name]) for name in whole)


def test_epochs_of_a_linear_schedule_cannot_change(own, capsys):
    assert main([*OWN, "--schedule", "linear"]) == 0
    assert "epochs 2 there, 3 now" in told(capsys, *OWN, "--schedule", "linear", "--epochs", "3")


def test_characters(own, capsys):
    assert main([*OWN, "--characters", "--run", "letters"]) == 0
    out = capsys.readouterr().out
    size = len((own / "own.txt").read_text())
    assert f"{size - round(0.05 * size):,} characters of own" in out and "5 characters at a time" in out
    assert re.search(rf"valid +[\d.]+ bits a character   perplexity [\d.]+ over {round(0.05 * size)} characters$", out, re.M)
    assert Writer.load("letters").training.unit == "characters"
    assert main(["generate", "letters", "--prompt", "Red ", "--length", "20", "--temperature", "0"]) == 0
    assert len(capsys.readouterr().out) in (24, 25)         # and a line end, unless it wrote one itself


def test_own_text_is_cut_as_asked(own, capsys):
    (own / "last.txt").write_text("RED it's\n")
    command = [*OWN, "--tokenize", "--lowercase", "--valid-text", "last.txt", "--batch-size", "2", "--run", "cut"]
    assert main(command) == 0
    assert "over 3 tokens" in (out := capsys.readouterr().out) and "300 words" not in out
    writer = Writer.load("cut")
    assert set(writer.vocabulary.tokens) == {"red", "green", "blue", ",", "it's"}
    assert main(["evaluate", "cut", "--split", "train"]) == 0
    (own / "last.txt").write_text("changed\n")
    assert "digest" in told(capsys, *command)
    assert "has changed since" in told(capsys, "evaluate", "cut")
    (own / "own.txt").unlink()
    assert "own.txt" in told(capsys, "evaluate", "cut")


def options(words):
    return parse(["train", "lm", *words.split()])


def meant(words, text=TEXT):
    chosen = options(words)
    training = training_of(chosen, text)
    return training, model_of(chosen, text, training)


def test_options_reach_the_training():
    training, _ = meant("--corpus ptb --epochs 13 --minutes 2.5 --batch-size 7 --optimizer sgd --schedule decay "
                        "--full-epochs 3 --divisor 1.2 --clip 4 --patience 6 --save-steps 9 --seed 5 --state article "
                        "--steps 11 --min-count 2 --max-vocabulary 6 --no-frequencies")
    assert training == WriterTraining(
        epochs=13, minutes=2.5, batch_size=7, optimizer="sgd", learning_rate=1.0, schedule="decay", full_epochs=3,
        divisor=1.2, clip=4.0, patience=6, save_steps=9, seed=5, state="article", steps=11, min_count=2, max_vocabulary=6)
    assert meant("--corpus ptb")[0] == WriterTraining(clip=5.0, patience=2, min_count=2, frequencies=True)
    assert meant("--corpus ptb --schedule decay")[0].full_epochs == 4
    assert meant("--corpus x", Text([[["<unk>", "a"]]]))[0].min_count == 1          # the text has its rare words out already
    assert meant("--corpus x", Text([[list("ab")]], "characters"))[0].min_count == 1


@pytest.mark.parametrize("words, name, settings", [
    ("", "language-model", dict(hidden=200, embedding=200, cell="lstm", layers=1, tied=True, dropout=0.2, init=0.1,
                                forget_bias=1.0)),
    ("--cell gru --layers 2 --hidden 8 --no-tied --dropout 0 --init 0.05", "language-model",
     dict(hidden=8, embedding=8, cell="gru", layers=2, tied=False, dropout=0.0, init=0.05)),
    ("--no-tied --hidden 8 --embedding 3 --forget-bias 0", "language-model",
     dict(hidden=8, embedding=3, cell="lstm", layers=1, tied=False, dropout=0.2, init=0.1, forget_bias=0.0)),
    ("--attention key-value-predict --window 5 --carried 4 --embedding 10", "attentive-language-model",
     dict(attention="key-value-predict", window=5, carried=4, hidden=30, embedding=10)),
    ("--attention key-value --hidden 30", "attentive-language-model",
     dict(attention="key-value", hidden=30, embedding=15)),
    ("--attention ngram --order 5", "attentive-language-model",
     dict(attention="ngram", order=5, hidden=800, embedding=200)),
    ("--attention ngram --hidden 9 --embedding 9", "attentive-language-model",
     dict(attention="ngram", order=4, hidden=9, embedding=9)),
])
def test_options_reach_the_model(words, name, settings):
    _, (found, its) = meant("--corpus ptb " + words)
    assert found == name and its == its | settings
    if name == "language-model":
        assert its == settings
    Writer.create(TEXT, found, its)                     # and it can be built


@pytest.mark.parametrize("attention", ["none", "combined", "key-value", "ngram --order 5"])
def test_a_budget_chooses_the_sizes(attention):
    training, (name, settings) = meant(f"--corpus ptb --layers 2 --no-tied --parameters 3000 --attention {attention}")
    writer = Writer.create(TEXT, name, settings, training)
    assert 2000 < writer.model.size <= 3000
    rest = {key: value for key, value in settings.items() if key not in ("hidden", "embedding")}
    sizes, size = within_budget(3000, len(writer.vocabulary), **rest)
    assert size == writer.model.size and sizes == {key: settings[key] for key in sizes}


def test_corpora_by_name():
    assert corpus_to_train_on(options("--corpus bible-en")) == {"name": "bible-en"}
    assert corpus_to_train_on(options("--corpus bible-en --characters")) == {"name": "bible-en", "characters": True}


@pytest.mark.parametrize("words, message", [
    ("", "give --corpus NAME"), ("--corpus nix", "'nix' is unknown"), ("--corpus copy", "is parallel, not text"),
    ("--corpus ptb --text own.txt", "choose one"), ("--valid-text own.txt", "give --corpus NAME"),
    ("--corpus bible-en --lowercase", "bible-en is prepared already"), ("--corpus bible-en --tokenize", "prepared already"),
    ("--text nowhere.txt", "does not exist"), ("--text own.txt --valid-text nowhere.txt", "does not exist"),
    ("--text own.txt --characters --tokenize", "give one of them"), ("--text empty.txt", "holds no text"),
    ("--text empty.txt --characters", "holds no text"), ("--text latin.txt", "not UTF-8"),
    ("--text one.txt", "a text of 1 sentence(s): expected at least 2"),
    ("--text own.txt --batch-size 400", "343 tokens is too short for 400 streams"),
    ("--text own.txt --batch-size 20", "the text to validate on: a text of 19 tokens is too short for 20 streams"),
    ("--text own.txt --state article", "does not come as articles"),
    ("--text own.txt --characters --state sentence", "no sentences of its own"),
    ("--text own.txt --state sentence --steps 5", "--steps is given, but a sentence is read at once"),
    ("--text own.txt --state sentence --attention single --carried 5", "--carried is given"),
    ("--text own.txt --window 3", "--window is given, but a model without attention"),
    ("--text own.txt --carried 3", "--carried is given, but a model without attention"),
    ("--text own.txt --attention ngram --window 3", "--window is given, but an N-gram model"),
    ("--text own.txt --attention single --order 3", "it belongs to --attention ngram"),
    ("--text own.txt --cell gru --forget-bias 1", "a gru has no forget gate"),
    ("--text own.txt --hidden 8 --embedding 9", "with tied weights both are the same"),
    ("--text own.txt --attention key-value-predict --hidden 8", "into 3 equal parts, give a multiple of 3, such as 9"),
    ("--text own.txt --attention ngram --order 6 --hidden 8", "into 5 equal parts"),
    ("--text own.txt --parameters 3", "3 parameters are too few"),
    ("--text own.txt --parameters 3000 --hidden 9", "--hidden is given, but --parameters chooses the sizes"),
    ("--text own.txt --full-epochs 3", "it belongs to --schedule decay"),
    ("--text own.txt --min-count 999", "leaves no token"), ("--text own.txt --max-vocabulary 4", "at least 5"),
    ("--text own.txt --attention multi-head", "multi-head"), ("--text own.txt --init 0", "positive"),
    ("--text own.txt --window 0", "at least 1"), ("--text own.txt --dropout 1", "below 1"),
    ("--text own.txt --batch-size 4 --run own.txt", "is a file"),
])
def test_refused(words, message, own, capsys):
    (own / "empty.txt").write_text(" \n\n")
    (own / "latin.txt").write_bytes("é\n".encode("latin-1"))
    (own / "one.txt").write_text("a b c\n")
    assert message in told(capsys, "train", "lm", *words.split())
    assert not (own / "runs").exists()


def test_a_text_too_short_to_prompt_with(own, capsys):
    (own / "short.txt").write_text("abcabcabcabcabcabc\n")
    command = "train lm --text short.txt --characters --batch-size 1 --embedding 4 --epochs 1 --threads 1".split()
    assert main(command) == 0
    assert "next: numpy-attention generate runs/short-lstm --prompt ''" in capsys.readouterr().out


def test_the_memory_of_an_ngram_is_what_it_looks_back_to(own, capsys):
    assert main([*OWN, "--attention", "ngram", "--order", "3", "--carried", "9"]) == 0
    assert "memory of 1 states carried on" in capsys.readouterr().out
    assert Writer.load("runs/own-ngram").settings["carried"] == 1
