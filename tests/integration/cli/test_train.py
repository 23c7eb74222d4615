"""numpy-attention train and train lm: effects of options, output, files, and resuming."""

import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import fields
from inspect import signature

import numpy as np
import pytest
from cli_runs import COPY, LM, SMALL, failure, given, write_text

from numpy_attention import registry
from numpy_attention.attention.config import AttentionConfig
from numpy_attention.attention.readout_config import ReadoutConfig
from numpy_attention.cli.commands import COMMANDS
from numpy_attention.cli.main import main
from numpy_attention.cli.train import (
    model_of,
    pairs_to_train_on,
    settings_of,
    text_to_train_on,
    training_for,
    training_of,
)
from numpy_attention.cli.training_options import LANGUAGE_MODEL, TRANSLATOR, setting_of
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.experiments.choices import with_longest
from numpy_attention.experiments.reports import save_curves
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.models.registry import build
from numpy_attention.registry import LANGUAGE_MODELS, SMALL_MODEL_DEFAULTS, TRANSLATORS, resolve
from numpy_attention.training import checkpoint
from numpy_attention.training.settings import LanguageModelTraining, TranslatorTraining
from numpy_attention.training.trainer import Trainer

TEXT = Text([[["a", "b"], ["a", "c", "a"], ["b"]]])
OWN = ["train", "lm", *LM, "own.txt", "--steps", "5"]


@pytest.fixture
def own(here):
    write_text(here / "own.txt", ["Red", "green", "blue,", "it's"], 60, end="")
    return here


def vector(folder):
    arrays, _ = checkpoint.load(f"{folder}/checkpoint.npz")
    names = sorted(name for name in arrays if name.startswith("parameters/"))
    return np.concatenate([arrays[name].ravel() for name in names])


# ---- options of the library ---------------------------------------------------------------------


def parameters_of(model, table, config):
    """Return {name: default} of the arguments that build a model and its attention."""
    taken = {}
    for kind in reversed(resolve("model", model, table).mro()):
        if "create" in vars(kind):
            taken |= {name: one.default for name, one in signature(kind.create).parameters.items()}
    if "attention" in taken:
        taken |= {one.name: one.default for one in fields(config)}
    return taken


@pytest.mark.parametrize("model", TRANSLATORS)
def test_every_setting_of_a_translator_is_an_option(model, rng):
    offered = {setting_of(model, option.name) for option in TRANSLATOR[1:]} - {""}
    fixed = {"transformer": {"pre_norm"}}.get(model, set())
    assert offered | fixed == SMALL_MODEL_DEFAULTS[model].keys()
    assert SMALL_MODEL_DEFAULTS[model].keys() <= parameters_of(
        model, TRANSLATORS, AttentionConfig).keys()
    pairs = [Pair(("a",) * 7, ("b",)), Pair(("a",), ("b",))]
    settings = settings_of(given(f"train --model {model} --hidden 16"))
    build(model, rng, range(9), range(9),
          **with_longest(settings, Vocabulary.build([["a"]]), [pairs]))


def test_every_option_of_a_language_model_is_a_setting():
    taken = {name for model in LANGUAGE_MODELS
             for name in parameters_of(model, LANGUAGE_MODELS, ReadoutConfig)}
    assert {option.name for option in LANGUAGE_MODEL} - taken == {"parameters"}


@pytest.mark.parametrize("command, training", [
    ("train", TranslatorTraining), ("train lm", LanguageModelTraining)])
@pytest.mark.parametrize("words", ["", "--schedule decay", "--optimizer sgd"])
def test_help_prints_the_default_training(command, training, words):
    options = {option.name: option for option in COMMANDS[command].options}
    found = given(f"{command} --corpus x {words}")
    made = training_for(found, TEXT) if command == "train lm" else training_of(training, found)
    for one in fields(training):
        assert (one.name in options) is one.metadata["offered"]
        if one.name not in options or one.name in words:
            continue
        option = options[one.name]
        assert option.help.startswith(one.metadata["help"])
        assert tuple(option.choices) == one.metadata["values"].choices
        default = option.default[found.optimizer] if option.by else option.default
        if option.conflict(vars(found)) in option.needs and option.needs:
            default = one.default
        if option.note:
            default = int(option.note.split(",")[0])
        assert getattr(made, one.name) == default
    optimizer = resolve("optimizer", found.optimizer, registry.OPTIMIZERS)
    assert made.learning_rate == optimizer().learning_rate


ADDED = """
from numpy_attention import registry
registry.SCORES["my-score"] = registry.SCORES["dot"]
registry.CELLS["my-cell"] = registry.CELLS["rnn"]
registry.HISTORY_READOUTS += ("my-reader",)
class Mine:
    learning_rate = 0.125
registry.OPTIMIZERS["my-optimizer"] = Mine
registry.TRANSLATORS["my-model"] = registry.TRANSLATORS["luong"]
registry.SMALL_MODEL_DEFAULTS["my-model"] = {"hidden": 24, "attention": "general"}

from numpy_attention.cli.main import parse
words = "train --model luong --attention my-score --cell my-cell --optimizer my-optimizer"
options = parse(words.split())[1]
from numpy_attention.cli.train import settings_of, training_of
from numpy_attention.training.settings import TranslatorTraining
settings = settings_of(options)
assert (settings["attention"], settings["cell"]) == ("my-score", "my-cell")
training = training_of(TranslatorTraining, options)
assert (training.optimizer, training.learning_rate) == ("my-optimizer", 0.125)
options = parse("train lm --attention my-reader --cell my-cell --window 3".split())[1]
assert (options.attention, options.cell, options.window) == ("my-reader", "my-cell", 3)
options = parse(["train", "--model", "my-model"])[1]
assert (options.hidden, options.dropout) == (24, None)
"""


def test_registry_additions_are_offered():
    """Scores, cells, readouts, optimizers and models need no change in cli/."""
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- effects of options -------------------------------------------------------------------------


@pytest.mark.parametrize("words, wanted", [
    ("--model luong", SMALL_MODEL_DEFAULTS["luong"]),
    ("--model luong --window local-m --width 3 --reverse-source",
     {"window": "local-m", "width": 3, "backwards": True}),
    ("--model luong --attention multi-head --heads 2 --bidirectional --no-input-feeding --bias",
     dict(attention="multi-head", heads=2, bidirectional=True, input_feeding=False, bias=True)),
    ("--model transformer --hidden 32 --layers 1 --smoothing 0",
     {"size": 32, "layers": 1, "smoothing": 0.0, "pre_norm": True}),
    ("--readout previous --reset before --update new --init paper --dropout 0 --embedding 7",
     dict(readout="previous", reset="before", update="new", init="paper", dropout=0.0,
          embedding=7, hidden=256)),
])
def test_settings_of_a_translator(words, wanted):
    settings = settings_of(given(f"train {words}"))
    assert settings == settings | wanted
    assert ("backwards" in settings) == ("backwards" in wanted)


def test_text_from_options(own):
    words = "--corpus bible-en-es --part verses --max-length 9 --pairs 3"
    saved = {"name": "bible-en-es", "part": "verses", "max_length": 9, "count": 3}
    assert pairs_to_train_on(given(f"train {words}")).saved() == saved
    words = "--source own.txt --target own.txt --tokenize --pairs 7 --seed 3"
    saved = pairs_to_train_on(given(f"train {words}")).saved()
    assert saved["source"] == saved["target"] == str(own / "own.txt")
    assert (saved["tokenize"], saved["count"], saved["held_out_seed"]) == (True, 7, 3)
    assert "max_length" not in saved
    saved = text_to_train_on(given("train lm --corpus bible-en --characters")).saved()
    assert saved == {"name": "bible-en", "characters": True}


def parsed_settings(words, text=TEXT):
    options = given(f"train lm {words}")
    training = training_for(options, text)
    return training, model_of(options, text, training)


def test_rare_words():
    assert parsed_settings("--corpus ptb")[0] == LanguageModelTraining(
        clip=5.0, patience=2, min_count=2, frequencies=True)
    # the text already has <unk> for its rare words, or consists of characters
    assert parsed_settings("--corpus x", Text([[["<unk>", "a"]]]))[0].min_count == 1
    assert parsed_settings("--corpus x", Text([[list("ab")]], "characters"))[0].min_count == 1


PLAIN = dict(hidden=200, embedding=200, cell="lstm", layers=1, tied=True, dropout=0.2, init=0.1,
             forget_bias=1.0)


@pytest.mark.parametrize("words, name, settings", [
    ("", "language-model", PLAIN),
    ("--cell gru --layers 2 --hidden 8 --no-tied --init 0.05", "language-model",
     dict(hidden=8, embedding=8, cell="gru", layers=2, tied=False, dropout=0.2, init=0.05)),
    ("--attention key-value-predict --window 5 --carried 4 --embedding 10",
     "attentive-language-model",
     dict(attention="key-value-predict", window=5, carried=4, hidden=30, embedding=10)),
    ("--attention key-value --hidden 30", "attentive-language-model",
     dict(attention="key-value", hidden=30, embedding=15)),
    ("--attention ngram --order 5 --carried 9", "attentive-language-model",
     dict(attention="ngram", order=5, hidden=800, embedding=200, carried=3)),
    ("--attention projection --activation linear", "attentive-language-model",
     dict(attention="projection", activation="linear", hidden=200, embedding=200)),
])
def test_settings_of_a_language_model(words, name, settings):
    _, (found, its) = parsed_settings("--corpus ptb " + words)
    assert found == name and its == its | settings
    if name == "language-model":
        assert its == settings
    LanguageModelRun.create(TEXT, found, its)                     # and it can be built


@pytest.mark.parametrize("attention", ["none", "key-value", "ngram --order 5"])
def test_budget_sets_the_sizes(attention):
    words = f"--corpus ptb --layers 2 --no-tied --parameters 3000 --attention {attention}"
    training, (name, settings) = parsed_settings(words)
    assert 2000 < LanguageModelRun.create(TEXT, name, settings, training).model.size <= 3000


# ---- train --------------------------------------------------------------------------------------


def test_output_of_train(here, capsys):
    assert main(COPY) == 0
    out = capsys.readouterr().out
    assert re.search(r"^rnnsearch, [\d,]+ parameters; 120 pairs of copy", out)
    assert "saves to runs/copy-rnnsearch" in out
    assert "120 pairs (test)" in out and "pointing" in out
    files = {path.name for path in (here / "runs/copy-rnnsearch").iterdir()}
    assert files == {"checkpoint.npz", "learning_curves.png"}
    following = re.search("^next: numpy-attention (translate runs/copy-rnnsearch .*)$", out, re.M)
    assert main(shlex.split(following[1])) == 0


@pytest.mark.parametrize("words, name", [
    ("--layers 2 --attention general --window local-m --width 1", "rnnsearch-general-local-m"),
    ("--model encoder-decoder", "encoder-decoder"),
    ("--model luong --attention concat --window local-p --width 2", "luong-additive-local-p"),
    ("--model transformer --hidden 8 --inner 12 --layers 2 --heads 2 --schedule warmup",
     "transformer"),
    # the position window counts pieces
    ("--model luong --attention location --subwords 16", "luong-location"),
])
def test_every_model_trains_and_translates(words, name, capsys, here):
    run = "train --corpus copy --max-length 4 --pairs 60 --epochs 1 --batch-size 16 --threads 1"
    sizes = "" if name == "transformer" else "--hidden 8 --embedding 6"
    assert main([*run.split(), *sizes.split(), *words.split()]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"^{name}, [\d,]+ parameters; 60 pairs of copy", out)
    assert f"saves to runs/copy-{name}\n" in out
    translator = Translator.load(f"runs/copy-{name}")
    assert translator.settings["layers"] == (2 if "--layers 2" in words else 1)
    assert main(["translate", f"runs/copy-{name}", "4 5 6", "--heatmap", "a.png"]) == 0
    assert (here / "a.png").exists()


def test_user_pairs(own, capsys):
    (own / "b.txt").write_text((own / "own.txt").read_text().upper())
    command = ["train", "--source", "own.txt", "--target", "b.txt", "--tokenize", "--lowercase",
               *SMALL]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "57 pairs of own" in out and "3 pairs (valid)" in out            # 5% are held out
    run = "runs/own-rnnsearch"
    assert main(["translate", run, "RED it's,"]) == 0
    assert capsys.readouterr().err == ""                            # lowercased and tokenized
    assert main(["translate", run, "RED", "--no-lowercase"]) == 0
    assert "read as <unk>: RED" in capsys.readouterr().err
    assert main(["evaluate", run]) == 0
    assert "own, valid: 3 pairs" in capsys.readouterr().out
    assert "no 'test' split" in failure(capsys, "evaluate", run, "--split", "test")
    (own / "b.txt").write_text((own / "b.txt").read_text().replace("GREEN", "white"))
    error = failure(capsys, "evaluate", run)
    assert "has changed since" in error and "with --run" in error
    assert "digest" in failure(capsys, *command)


@pytest.mark.parametrize("columns", [(), ("--columns", "1,2")])
def test_run_moved_with_its_text_is_used_and_resumed(own, capsys, columns):
    source = (own / "own.txt").read_text()
    (own / "b.txt").write_text(source.upper())
    if columns:
        tabbed = re.sub("(.+)", lambda line: f"{line[0]}\t{line[0].upper()}", source)
        (own / "own.txt").write_text(tabbed)
        (own / "b.txt").write_text(tabbed)
    files = "--source own.txt --target b.txt".split()
    command = ["train", *files, *columns, *SMALL, "--run", "run"]
    assert main(command) == 0
    (own / "new").mkdir()
    for name in ("own.txt", "b.txt", "run"):
        (own / name).rename(own / "new" / name)
    capsys.readouterr()
    for words in ("evaluate new/run", "ablate new/run", "page new/run -o page.html",
                  "heatmap new/run --index 1 --output a.png"):
        assert main(words.split()) == 0
        assert capsys.readouterr().err == ""
    command[2], command[4], command[-1] = "new/own.txt", "new/b.txt", "new/run"
    assert main(command) == 0
    assert "resumes the run in new/run" in capsys.readouterr().out
    assert Translator.load("new/run").corpus["source"] == str(own / "new" / "own.txt")


# ---- train lm -----------------------------------------------------------------------------------


def test_output_of_train_lm(own, capsys):
    attentive = [*OWN, "--attention", "combined"]
    assert main([*attentive, "--carried", "7"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^lstm of 1 × 6 with combined, [\d,]+ parameters; 285 words of own, 8 in the "
                     r"vocabulary$", out, re.M)
    carried = "5 words at a time; memory of 7 states carried on\n"
    assert f"state carried through the text, 4 streams, {carried}" in out
    assert f"minutes; state carried through the text, 1 stream, {carried}" in out
    assert re.search(r"^  valid perplexity +[\d.]+ \[[\d.]+, [\d.]+\]   over 18 tokens, ends of "
                     r"sentences included$", out, re.M)
    assert "saves to runs/own-combined" in out and " test " not in out
    following = re.search(r"^next: numpy-attention (generate .*)$", out, re.M)
    assert main([*shlex.split(following[1]), "--length", "3"]) == 0
    assert len(capsys.readouterr().out.split()) <= 6
    assert main([*attentive, "--carried", "7"]) == 0
    assert "resumes the run in runs/own-combined" in capsys.readouterr().out
    assert "carried was 7 and is now 8" in failure(capsys, *attentive, "--carried", "8")
    assert "and is now translator" in failure(capsys, *COPY, "--run", "runs/own-combined")


def test_characters(own, capsys):
    assert main([*OWN, "--characters", "--run", "letters"]) == 0
    out = capsys.readouterr().out
    size = len((own / "own.txt").read_text())
    held_out = round(0.05 * size)
    assert f"{size - held_out:,} characters of own" in out and "5 characters at a time" in out
    assert re.search(rf"valid +[\d.]+ bits per character   perplexity [\d.]+ \[[\d.]+, [\d.]+\] "
                     rf"over {held_out} characters$", out, re.M)
    assert LanguageModelRun.load("letters").training.unit == "characters"


# ---- resuming -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lines, batch", [(1, 1), (2, 1), (3, 20), (10, 20)])
def test_tiny_text(lines, batch, here, capsys):
    (here / "own.txt").write_text("red green blue red green blue\n" * (lines + 1))
    assert main(["train", "lm", "--text", "own.txt", "--hidden", "6", "--epochs", "1", "--threads",
                 "1", "--run", "tiny"]) == 0
    assert ("using --batch-size 1, " in capsys.readouterr().out) == (batch == 1)
    assert LanguageModelRun.load("tiny").training.batch_size == batch


def test_pretrained_vectors_set_the_embedding_size(here, capsys):
    for name in ("s.txt", "t.txt"):
        (here / name).write_text("red green blue\nblue red\ngreen blue\n")
    (here / "vectors.vec").write_text("2 6\nred 1 2 3 4 5 6 \nGreen 1 1 1 1 1 1 \n")
    command = ["train", "--source", "s.txt", "--target", "t.txt", "--source-vectors", "vectors.vec",
               "--freeze-vectors", "--epochs", "1", "--threads", "1", "--min-count", "1"]
    for model, about in (("rnnsearch", ["--hidden", "8"]), ("transformer", ["--heads", "2"])):
        assert main([*command, "--model", model, *about, "--run", model]) == 0
        assert ("source vocabulary: 2 of 3 words (66.7 %) have pretrained vectors, 1 in another "
                "case, not trained\n") in capsys.readouterr().out
        run = Translator.load(model)
        table = run.model.source_embedding.E
        assert table[run.source_vocabulary.encode(["red"])].tolist() == [[1, 2, 3, 4, 5, 6]]
    message = failure(capsys, *command, "--embedding", "5", "--hidden", "8", "--run", "other")
    assert "5, but the vectors of vectors.vec have 6 dimensions; set --embedding 6" in message
    assert not (here / "other").exists()


def test_more_epochs_resume_bit_for_bit(here, capsys):
    assert main([*COPY, "--run", "a"]) == main([*COPY, "--run", "a", "--epochs", "3"]) == 0
    assert "resumes the run in a" in capsys.readouterr().out
    assert main([*COPY, "--run", "b", "--epochs", "3"]) == 0
    assert "trained for 3 epochs" in capsys.readouterr().out
    assert np.array_equal(vector("a"), vector("b"))


def test_language_model_resumes_bit_for_bit(own, capsys):
    for run, parts in (("whole", ["3"]), ("parts", ["1", "3"])):
        for epochs in parts:
            assert main([*OWN, "--epochs", epochs, "--attention", "single", "--run", run]) == 0
    whole, parts = (checkpoint.load(own / run / "checkpoint.npz")[0] for run in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)


def test_ctrl_c_saves_and_resumes(runs, here, capsys, monkeypatch):
    step = Trainer.train_step

    def interrupted(self, *arguments):
        if self.step == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "train_step", interrupted)
        assert main([*COPY, "--run", "cut"]) == 130
    error = capsys.readouterr().err
    assert "after 6 steps" in error and "the same command resumes it" in error
    assert main([*COPY, "--run", "cut"]) == 0
    assert "resumed after 6 steps" in capsys.readouterr().out
    assert np.array_equal(vector("cut"), vector(runs / "copy"))


@pytest.mark.parametrize("change, message", [
    ("--clip 5", "clip was 1.0 and is now 5.0"),
    ("--max-length 3", "corpus --max-length was 4 and is now 3"),
    ("--reverse-source", "--reverse-source was False"),
])
def test_resuming_with_other_settings_is_an_error(runs, change, message, capsys):
    before = (runs / "copy/checkpoint.npz").read_bytes()
    assert message in failure(capsys, *COPY, "--run", runs / "copy", *change.split())
    assert (runs / "copy/checkpoint.npz").read_bytes() == before


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_training_that_diverges(capsys, here):
    away = "--optimizer sgd --learning-rate 1e6 --clip inf --run away".split()
    error = failure(capsys, *COPY, *away)
    assert "training has diverged" in error or "Try a smaller learning rate" in error
    history = [{"train_perplexity": float("inf"), "valid_perplexity": float("nan")}]
    with pytest.raises(ArithmeticError, match="with a smaller learning_rate, in a folder other"):
        save_curves(history, here / "nowhere")
