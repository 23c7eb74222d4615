"""numpy-attention train lm: what its options mean, what it says and saves, what is refused."""

import re

import numpy as np
import pytest
from cli_runs import COPY, given, told

from numpy_attention.cli.language_models import (
    how_state_goes, model_of, text_to_train_on, training_for, what_it_is)
from numpy_attention.cli.main import main
from numpy_attention.data.running_text import Text
from numpy_attention.models.budget import within_budget
from numpy_attention.experiments.runs.writer import LanguageModelRun, LanguageModelTraining
from numpy_attention.training import checkpoint

TINY = ("--embedding 6 --batch-size 4 --steps 5 --epochs 2 --learning-rate 0.01 "
        "--threads 1").split()
OWN = ["train", "lm", "--text", "own.txt", *TINY]
TEXT = Text([[["a", "b"], ["a", "c", "a"], ["b"]]])


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """A text of 60 lines in a folder of the test's own to stand in."""
    monkeypatch.chdir(tmp_path)
    words = ["Red", "green", "blue,", "it's"]
    rng = np.random.default_rng(1)
    lines = [" ".join(words[k] for k in rng.integers(4, size=5)) + "\n" for _ in range(60)]
    (tmp_path / "own.txt").write_text("".join(lines))
    return tmp_path


# ---- what is said and saved ---------------------------------------------------------------------


def test_train_says_what_it_does(own, capsys):
    attentive = [*OWN, "--attention", "combined"]
    assert main([*attentive, "--carried", "7"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^lstm of 1 × 6 with combined, [\d,]+ parameters; 285 words of own, 8 in the "
                     r"vocabulary$", out, re.M)
    assert ("state carried through the text, 4 streams, 5 words at a time; memory of 7 states "
            "carried on\n") in out
    assert ("minutes; state carried through the text, 1 stream, 5 words at a time; memory of 7 "
            "states carried on\n") in out
    assert re.search(r"^  valid perplexity +[\d.]+ \[[\d.]+, [\d.]+\]   over 18 tokens, ends of "
                     r"sentence included$", out, re.M)
    assert "saves to runs/own-combined" in out and " test " not in out
    files = {path.name for path in (own / "runs/own-combined").iterdir()}
    assert files == {"checkpoint.npz", "learning_curves.png"}
    following = re.search(r"^next: numpy-attention (generate runs/own-combined --prompt) (.*)$",
                          out, re.M)
    assert main([*following[1].split(), following[2].strip("'"), "--length", "3"]) == 0
    assert len(capsys.readouterr().out.split()) <= 6
    assert main([*attentive, "--carried", "7"]) == 0
    assert "resumes the run in runs/own-combined" in capsys.readouterr().out
    assert "carried 7 there, 8 now" in told(capsys, *attentive, "--carried", "8")
    run = ["--run", "runs/own-combined"]
    assert "attention combined there, single now" in told(
        capsys, *OWN, "--attention", "single", *run)
    assert "translator now" in told(capsys, *COPY, *run)


def test_resumed_is_the_same(own):
    for run, parts in (("whole", ["3"]), ("parts", ["1", "3"])):
        for epochs in parts:
            assert main([*OWN, "--epochs", epochs, "--attention", "single", "--run", run]) == 0
    whole, parts = (checkpoint.load(own / run / "checkpoint.npz")[0] for run in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)


def test_epochs_of_a_linear_schedule_cannot_change(own, capsys):
    assert main([*OWN, "--schedule", "linear"]) == 0
    assert "epochs 2 there, 3 now" in told(capsys, *OWN, "--schedule", "linear", "--epochs", "3")


def test_characters(own, capsys):
    assert main([*OWN, "--characters", "--run", "letters"]) == 0
    out = capsys.readouterr().out
    size = len((own / "own.txt").read_text())
    held_out = round(0.05 * size)
    assert f"{size - held_out:,} characters of own" in out
    assert "5 characters at a time" in out
    assert re.search(rf"valid +[\d.]+ bits a character   perplexity [\d.]+ \[[\d.]+, [\d.]+\] over "
                     rf"{held_out} characters$", out, re.M)
    assert LanguageModelRun.load("letters").training.unit == "characters"
    words = ["--prompt", "Red ", "--length", "20", "--temperature", "0"]
    assert main(["generate", "letters", *words]) == 0
    # and a line end, unless it wrote one itself
    assert len(capsys.readouterr().out) in (24, 25)


def test_own_text_is_cut_as_asked(own, capsys):
    (own / "last.txt").write_text("RED it's\n")
    words = "--tokenize --lowercase --valid-text last.txt --batch-size 2 --run cut"
    command = [*OWN, *words.split()]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "over 3 tokens" in out and "300 words" not in out
    writer = LanguageModelRun.load("cut")
    assert set(writer.vocabulary.tokens) == {"red", "green", "blue", ",", "it's"}
    assert main(["evaluate", "cut", "--split", "train"]) == 0
    (own / "last.txt").write_text("changed\n")
    assert "digest" in told(capsys, *command)
    assert "has changed since" in told(capsys, "evaluate", "cut")
    (own / "own.txt").unlink()
    assert "own.txt" in told(capsys, "evaluate", "cut")


def test_a_text_too_short_to_prompt_with(own, capsys):
    (own / "short.txt").write_text("abcabcabcabcabcabc\n")
    words = "--characters --batch-size 1 --embedding 4 --epochs 1 --threads 1"
    assert main(["train", "lm", "--text", "short.txt", *words.split()]) == 0
    out = capsys.readouterr().out
    assert "next: numpy-attention generate runs/short-lstm --prompt ''" in out


def test_the_memory_of_an_ngram_is_what_it_looks_back_to(own, capsys):
    assert main([*OWN, "--attention", "ngram", "--order", "3", "--carried", "9"]) == 0
    assert "memory of 1 states carried on" in capsys.readouterr().out
    assert LanguageModelRun.load("runs/own-ngram").settings["carried"] == 1


# ---- what options mean --------------------------------------------------------------------------


def meant(words, text=TEXT):
    options = given(f"train lm {words}")
    training = training_for(options, text)
    return training, model_of(options, text, training)


def test_options_reach_the_training():
    training, _ = meant("--corpus ptb --epochs 13 --minutes 2.5 --batch-size 7 --optimizer sgd "
                        "--schedule decay --full-epochs 3 --divisor 1.2 --clip 4 --patience 6 "
                        "--save-steps 9 --seed 5 --state article --steps 11 --min-count 2 "
                        "--max-vocabulary 6 --no-frequencies")
    assert training == LanguageModelTraining(
        epochs=13, minutes=2.5, batch_size=7, optimizer="sgd", learning_rate=1.0,
        schedule="decay", full_epochs=3, divisor=1.2, clip=4.0, patience=6, save_steps=9, seed=5,
        state="article", steps=11, min_count=2, max_vocabulary=6)
    plain = LanguageModelTraining(clip=5.0, patience=2, min_count=2, frequencies=True)
    assert meant("--corpus ptb")[0] == plain
    sentences, _ = meant("--corpus ptb --state sentence --cut 35")
    assert (sentences.state, sentences.cut) == ("sentence", 35)
    assert meant("--corpus ptb --schedule decay")[0].full_epochs == 4
    # the text has its rare words out already, or consists of letters
    assert meant("--corpus x", Text([[["<unk>", "a"]]]))[0].min_count == 1
    assert meant("--corpus x", Text([[list("ab")]], "characters"))[0].min_count == 1


PLAIN = dict(hidden=200, embedding=200, cell="lstm", layers=1, tied=True, dropout=0.2, init=0.1,
             forget_bias=1.0)
GRU = dict(hidden=8, embedding=8, cell="gru", layers=2, tied=False, dropout=0.0, init=0.05)


@pytest.mark.parametrize("words, name, settings", [
    ("", "language-model", PLAIN),
    ("--cell gru --layers 2 --hidden 8 --no-tied --dropout 0 --init 0.05", "language-model", GRU),
    ("--no-tied --hidden 8 --embedding 3 --forget-bias 0", "language-model",
     PLAIN | dict(hidden=8, embedding=3, tied=False, forget_bias=0.0)),
    ("--attention key-value-predict --window 5 --carried 4 --embedding 10",
     "attentive-language-model",
     dict(attention="key-value-predict", window=5, carried=4, hidden=30, embedding=10)),
    ("--attention key-value --hidden 30", "attentive-language-model",
     dict(attention="key-value", hidden=30, embedding=15)),
    ("--attention ngram --order 5", "attentive-language-model",
     dict(attention="ngram", order=5, hidden=800, embedding=200)),
    ("--attention ngram --hidden 9 --embedding 9", "attentive-language-model",
     dict(attention="ngram", order=4, hidden=9, embedding=9)),
    ("--attention projection --activation linear", "attentive-language-model",
     dict(attention="projection", activation="linear", hidden=200, embedding=200)),
])
def test_options_reach_the_model(words, name, settings):
    _, (found, its) = meant("--corpus ptb " + words)
    assert found == name and its == its | settings
    if name == "language-model":
        assert its == settings
    LanguageModelRun.create(TEXT, found, its)                     # and it can be built


def test_settings_that_are_not_given_are_told_too():
    writer = LanguageModelRun.create(TEXT, "attentive-language-model", dict(hidden=6, carried=9))
    assert what_it_is(writer).startswith("lstm of 2 × 6 with combined, ")
    assert "memory of 9 states" in how_state_goes(writer, 1)
    writer = LanguageModelRun.create(TEXT, settings=dict(hidden=6, layers=1))
    assert what_it_is(writer).startswith("lstm of 1 × 6, ")


@pytest.mark.parametrize("attention", ["none", "combined", "key-value", "ngram --order 5",
                                       "projection"])
def test_a_budget_chooses_the_sizes(attention):
    words = f"--corpus ptb --layers 2 --no-tied --parameters 3000 --attention {attention}"
    training, (name, settings) = meant(words)
    writer = LanguageModelRun.create(TEXT, name, settings, training)
    assert 2000 < writer.model.size <= 3000
    sized = ("hidden", "embedding")
    rest = {key: value for key, value in settings.items() if key not in sized}
    sizes, size = within_budget(3000, len(writer.vocabulary), **rest)
    assert size == writer.model.size
    assert sizes == {key: settings[key] for key in sizes}


def test_corpora_by_name():
    def saved(words):
        return text_to_train_on(given(f"train lm {words}")).saved()

    assert saved("--corpus bible-en") == {"name": "bible-en"}
    letters = {"name": "bible-en", "characters": True}
    assert saved("--corpus bible-en --characters") == letters


OWN_TEXT = "--text own.txt "
REFUSED = [
    ("", "give --corpus NAME"),
    ("--corpus nix", "'nix' is unknown"),
    ("--corpus copy", "is parallel, not text"),
    ("--corpus copy", "it is for numpy-attention train;"),
    ("--corpus ptb --text own.txt", "choose one"),
    ("--valid-text own.txt", "give --corpus NAME"),
    ("--corpus bible-en --lowercase", "bible-en is prepared already"),
    ("--corpus bible-en --tokenize", "prepared already"),
    ("--text nowhere.txt", "does not exist"),
    ("--text own.txt --valid-text nowhere.txt", "does not exist"),
    (OWN_TEXT + "--characters --tokenize",
     "--tokenize cuts text into words, and --characters into letters: give one of them"),
    ("--text empty.txt", "holds no text"),
    ("--text empty.txt --characters", "holds no text"),
    ("--text latin.txt", "not UTF-8"),
    ("--text one.txt", "a text of 1 sentence(s): expected at least 2"),
    ("--text one.txt", "or give --valid-text"),
    (OWN_TEXT + "--batch-size 400", "343 tokens is too short for 400 streams"),
    (OWN_TEXT + "--batch-size 20",
     "the text to validate on: a text of 19 tokens is too short for 20 streams"),
    (OWN_TEXT + "--state article", "does not come as articles"),
    (OWN_TEXT + "--characters --state sentence", "no sentences of its own"),
    (OWN_TEXT + "--cut 35", "--cut is given, but it belongs to --state sentence"),
    (OWN_TEXT + "--state sentence --steps 5", "--steps is given, but a sentence is read at once"),
    (OWN_TEXT + "--state sentence --attention single --carried 5", "--carried is given"),
    (OWN_TEXT + "--window 3", "--window is given, but a model without attention"),
    (OWN_TEXT + "--carried 3", "--carried is given, but a model without attention"),
    (OWN_TEXT + "--attention ngram --window 3", "--window is given, but an N-gram model"),
    (OWN_TEXT + "--attention projection --window 3", "--window is given, but a projection looks"),
    (OWN_TEXT + "--attention projection --carried 3", "--carried is given, but a projection looks"),
    (OWN_TEXT + "--activation linear", "--activation is given, but a model without attention"),
    (OWN_TEXT + "--attention single --order 3", "it belongs to --attention ngram"),
    (OWN_TEXT + "--cell gru --forget-bias 1", "a gru has no forget gate"),
    (OWN_TEXT + "--hidden 8 --embedding 9", "with tied weights both are the same"),
    (OWN_TEXT + "--attention key-value-predict --hidden 8",
     "into 3 equal parts, give a multiple of 3, such as 9"),
    (OWN_TEXT + "--attention ngram --order 6 --hidden 8", "into 5 equal parts"),
    (OWN_TEXT + "--parameters 3", "3 parameters are too few"),
    (OWN_TEXT + "--parameters 3000 --hidden 9",
     "--hidden is given, but --parameters chooses the sizes"),
    (OWN_TEXT + "--parameters 3000 --embedding 9", "--embedding is given, but --parameters"),
    (OWN_TEXT + "--full-epochs 3", "it belongs to --schedule decay"),
    (OWN_TEXT + "--min-count 999", "leaves no token"),
    (OWN_TEXT + "--max-vocabulary 4", "at least 5"),
    (OWN_TEXT + "--attention multi-head", "multi-head"),
    (OWN_TEXT + "--init 0", "positive"),
    (OWN_TEXT + "--window 0", "at least 1"),
    (OWN_TEXT + "--dropout 1", "below 1"),
    (OWN_TEXT + "--batch-size 4 --run own.txt", "is a file"),
]


@pytest.mark.parametrize("words, message", REFUSED)
def test_refused(words, message, own, capsys):
    (own / "empty.txt").write_text(" \n\n")
    (own / "latin.txt").write_bytes("é\n".encode("latin-1"))
    (own / "one.txt").write_text("a b c\n")
    assert message in told(capsys, "train", "lm", *words.split())
    assert not (own / "runs").exists()
