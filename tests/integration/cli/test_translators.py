"""numpy-attention train: which model and text its options mean, what it says, what is refused."""

import re
import shlex

import numpy as np
import pytest
from cli_runs import COPY, SMALL, given, told

from numpy_attention.cli.main import main
from numpy_attention.cli.translators import settings_of, text_to_train_on, with_longest
from numpy_attention.data.pairs import Pair
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models.registry import build
from numpy_attention.registry import TRANSLATORS
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining, vocabularies_of

RUN = ("train --corpus copy --max-length 4 --pairs 60 --epochs 1 --batch-size 16 "
       "--threads 1").split()
SIZES = {
    "rnnsearch": "--hidden 8 --embedding 6",
    "encoder": "--hidden 8 --embedding 6",
    "luong": "--hidden 8 --embedding 6",
    "transformer": "--hidden 8 --inner 12 --layers 2 --heads 2",
}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Two files of 40 lines, and a folder of the test's own to stand in."""
    monkeypatch.chdir(tmp_path)
    words = ["Red", "green", "blue", "it's"]
    rng = np.random.default_rng(1)
    lines = [" ".join(words[k] for k in rng.integers(4, size=3)) + f" {i}." for i in range(40)]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "b.txt").write_text("\n".join(line.upper() for line in lines) + "\n")
    return tmp_path


# ---- what options mean --------------------------------------------------------------------------


def meant(words):
    pairs = [Pair(("a",) * 7, ("b",)), Pair(("a",), ("b",))]
    return with_longest(settings_of(given(f"train {words}")), Vocabulary.build([["a"]]), [pairs])


@pytest.mark.parametrize("model", TRANSLATORS)
def test_every_translator_can_be_built(model, rng):
    build(model, rng, range(9), range(9), **meant(f"--model {model} --hidden 16"))


LUONG = {
    "attention": "dot", "window": "global", "width": 10, "layers": 1, "cell": "lstm",
    "bidirectional": False, "input_feeding": True, "bias": False, "query": "current",
    "hidden": 256, "embedding": 256, "dropout": 0.2, "init": "modern",
}


@pytest.mark.parametrize("words, wanted", [
    ("--model luong", LUONG),
    ("--model luong --init paper", dict(init="paper")),
    ("--model luong --query previous --bias", dict(query="previous", bias=True)),
    ("--model luong --attention location --no-input-feeding",
     dict(attention="location", longest=8, input_feeding=False)),
    ("--model luong --window local-m --width 3 --reverse-source",
     {"window": "local-m", "width": 3, "backwards": True}),
    ("--model luong --attention multi-head --heads 2 --bidirectional",
     dict(attention="multi-head", heads=2, bidirectional=True)),
    ("--model transformer --hidden 32 --layers 1 --smoothing 0",
     {"size": 32, "layers": 1, "smoothing": 0.0, "pre_norm": True}),
    ("--model rnnsearch --readout previous --dropout 0",
     dict(readout="previous", dropout=0.0, reset="after")),
])
def test_options_reach_the_model(words, wanted):
    settings = meant(words)
    assert {name: settings.get(name) for name in wanted} == wanted
    for name in ("longest", "backwards"):
        assert (name in settings) == (name in wanted)


def test_options_reach_the_training(tmp_path, monkeypatch):
    """Every option of train is where the library reads it."""
    monkeypatch.chdir(tmp_path)
    seen = {}

    def create(pairs, *arguments):
        seen["pairs"], seen["create"] = pairs, arguments
        raise ValueError("seen")

    monkeypatch.setattr(Translator, "create", create)
    words = ("--pairs 9 --model encoder-decoder --hidden 5 --embedding 7 --dropout 0.1 "
             "--readout previous --reset before --update new --init paper --epochs 3 --minutes 1.5 "
             "--batch-size 11 --optimizer sgd --clip 2 --patience 4 --min-count 3 "
             "--reverse-source --seed 6 --save-steps 8")
    assert main(["train", "--corpus", "copy", *words.split()]) == 2
    model, settings, training, corpus, vocabularies = seen["create"]
    assert (model, corpus) == ("encoder-decoder", {"name": "copy", "count": 9})
    wanted = dict(hidden=5, embedding=7, dropout=0.1, readout="previous", reset="before",
                  update="new", init="paper")
    assert settings == settings | wanted
    assert training == TranslatorTraining(
        epochs=3, minutes=1.5, batch_size=11, optimizer="sgd", learning_rate=1.0, clip=2.0,
        patience=4, save_steps=8, min_count=3, reverse_source=True, seed=6)
    built = vocabularies_of(seen["pairs"], training)
    assert [one.saved() for one in vocabularies] == [one.saved() for one in built]
    assert main("train --corpus copy --pairs 9 --schedule decay".split()) == 2
    assert seen["create"][2] == TranslatorTraining(
        schedule="decay", full_epochs=4, divisor=2.0, clip=1.0, patience=2, min_count=2)
    (tmp_path / "a").write_text("a a\nb b\n")
    words = "--lowercase --seed 6 --learning-rate 0.5 --schedule linear"
    assert main(["train", "--source", "a", "--target", "a", *words.split()]) == 2
    training, corpus = seen["create"][2:4]
    assert (training.learning_rate, training.schedule) == (0.5, "linear")
    assert corpus["held_out_seed"] == 6
    assert (corpus["lowercase"], corpus["tokenize"]) == (True, False)


def test_the_text_that_options_mean(own):
    words = "--corpus bible-en-es --part verses --max-length 9 --pairs 3"
    saved = {"name": "bible-en-es", "part": "verses", "max_length": 9, "count": 3}
    assert text_to_train_on(given(f"train {words}")).saved() == saved
    words = "--source a.txt --target b.txt --valid-source b.txt --valid-target a.txt --tokenize"
    saved = text_to_train_on(given(f"train {words} --pairs 7 --seed 3")).saved()
    assert saved["valid_target"] == saved["source"] == str(own / "a.txt")
    assert saved["valid_source"] == saved["target"] == str(own / "b.txt")
    assert (saved["tokenize"], saved["count"], saved["held_out_seed"]) == (True, 7, 3)
    assert "max_length" not in saved


@pytest.mark.parametrize("words, message", [
    ("--model encoder-decoder --attention dot",
     "--attention is given, but --model encoder-decoder has none: leave it out, or choose --model "
     "rnnsearch or luong"),
    ("--attention dot", "choose general or scaled-dot, which put a matrix between, or one "
     "direction"),
    ("--query previous", "--query is given, but --model rnnsearch has none: leave it out, or "
                         "choose --model luong"),
    ("--model encoder-decoder --bias", "--bias is given, but --model encoder-decoder has none"),
    ("--model transformer --embedding 3",
     "--embedding is given, but --model transformer has none"),
    ("--model transformer --no-input-feeding", "--input-feeding is given"),
    ("--model luong --smoothing 0", "--smoothing is given, but --model luong has none: leave it "
                                    "out, or choose --model transformer"),
    ("--model luong --width 3", "--width is given, but window global sees all positions: leave it "
                                "out, or choose --window local-m or local-p"),
    ("--model luong --heads 2", "--heads is given, but --attention dot has one: leave it out, or "
                                "choose --attention multi-head"),
    ("--model luong --attention location --window local-p",
     "nothing for a window to choose from"),
    ("--model luong --attention multi-head --window local-p", "the weights of one sum"),
    ("--model transformer --heads 3", "--hidden 256 and --heads 3: expected an even --hidden"),
    ("--model luong --attention multi-head --heads 3",
     "--hidden 256 and --heads 3: expected a --hidden"),
    ("--warmup 3", "--warmup is given, but it belongs to --schedule warmup"),
    ("--subwords 40 --min-count 2", "--min-count is given, but subwords spell every word"),
])
def test_refused(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in told(capsys, *RUN, *words.split())
    assert not (tmp_path / "runs").exists()


# ---- what is said and saved ---------------------------------------------------------------------


def test_train_says_what_it_does(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(COPY) == 0
    out = capsys.readouterr().out
    assert re.search(r"^rnnsearch, [\d,]+ parameters; 120 pairs of copy", out)
    assert "saves to runs/copy-rnnsearch" in out
    assert "120 pairs (test)" in out and "pointing" in out
    files = {path.name for path in (tmp_path / "runs/copy-rnnsearch").iterdir()}
    assert files == {"checkpoint.npz", "learning_curves.png"}
    following = re.search("^next: numpy-attention (translate runs/copy-rnnsearch .*)$", out, re.M)
    assert main(shlex.split(following[1])) == 0


@pytest.mark.parametrize("words, name", [
    ("--layers 2", "rnnsearch"),
    ("--attention general --window local-m --width 1", "rnnsearch-general-local-m"),
    ("--attention scaled-dot --no-bidirectional", "rnnsearch-scaled-dot"),
    ("--attention scaled-dot --window local-p --width 2", "rnnsearch-scaled-dot-local-p"),
    ("--model luong --query previous --bias", "luong-dot"),
    ("--layers 2 --model encoder-decoder", "encoder-decoder"),
    ("--model luong --attention concat --window local-p --width 2", "luong-concat-local-p"),
    ("--model luong --attention multi-head --heads 2 --cell gru", "luong-multi-head"),
    ("--model transformer --schedule warmup --warmup 5", "transformer"),
    # places are counted in pieces
    ("--model luong --attention location --subwords 16", "luong-location"),
    ("--model luong --window local-m --width 1 --reverse-source", "luong-dot-local-m"),
])
def test_runs(words, name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*RUN, *words.split(), *SIZES[name.split("-")[0]].split()]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"^{name}, [\d,]+ parameters; 60 pairs of copy", out)
    run = f"runs/copy-{name}"
    assert f"saves to {run}\n" in out
    translator = Translator.load(run)
    assert translator.training.warmup == (5 if "warmup" in words else 400)
    sizes = SIZES[name.split("-")[0]]
    assert translator.settings["layers"] == (2 if "--layers 2" in words + sizes else 1)
    assert main(["translate", run, "4 5 6", "--heatmap", "a.png"]) == 0
    assert (tmp_path / "a.png").exists()


def test_own_text(own, capsys):
    files = ["--source", "a.txt", "--target", "b.txt"]
    command = ["train", *files, "--tokenize", "--lowercase", *SMALL]
    valid = ["--valid-source", "a.txt", "--valid-target", "b.txt"]
    assert main([*command, *valid, "--run", "with"]) == 0
    out = capsys.readouterr().out
    assert "40 pairs of a" in out and "40 pairs (valid)" in out
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "38 pairs of a" in out and "2 pairs (valid)" in out              # 5 % are held out
    run = "runs/a-rnnsearch"
    assert main(["translate", run, "RED it's."]) == 0
    assert capsys.readouterr().err == ""                                    # lowercased and cut
    assert main(["translate", run, "RED", "--no-lowercase"]) == 0
    assert "read as <unk>: RED" in capsys.readouterr().err
    assert main(["evaluate", run]) == 0
    out = capsys.readouterr().out
    assert "a, valid: 2 pairs" in out and "pointing" not in out
    assert "no 'test' split" in told(capsys, "evaluate", run, "--split", "test")
    (own / "a.txt").write_text((own / "a.txt").read_text().replace("green", "white"))
    error = told(capsys, "evaluate", run)
    assert "has changed since" in error and "with --run" in error
    assert "digest" in told(capsys, *command)


@pytest.mark.parametrize("source, target, message", [
    ("x\ny z\n", "x\n", "line 2 has no partner"),
    ("x\n\n", "x\ny\n", "a.txt, line 2: empty"),
    ("", "", "are empty"),
    (b"\xff\xfe\n", "x\n", "line 1"),
    ("x\n", "y\n", "at least 2"),
    ("x\nx\n", "y\nz\n", "at least 2, one of them to be held out; bring more text, or give "
                         "--valid-source and --valid-target"),
])
def test_malformed_files(own, source, target, message, capsys):
    for name, text in (("a.txt", source), ("b.txt", target)):
        (own / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    files = ["--source", "a.txt", "--target", "b.txt"]
    assert message in told(capsys, "train", *files, "--min-count", "1", *SMALL)
    assert not (own / "runs").exists()


def test_one_side_of_validation(own, capsys):
    words = "--source a.txt --target b.txt --valid-source a.txt"
    error = told(capsys, "train", *words.split())
    assert "one side only: give --valid-source and --valid-target" in error


def test_characters_are_not_cut(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = "train --corpus dates --pairs 50 --subwords 60"
    assert "dates consists of characters" in told(capsys, *words.split())
