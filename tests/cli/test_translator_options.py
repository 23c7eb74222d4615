"""numpy-attention train --model …: which settings the options mean, what each model refuses, and runs of all of them."""

import re

import numpy as np
import pytest
from cli_runs import told

from numpy_attention.cli.main import main, parse
from numpy_attention.cli.translator_options import MODELS, settings_of
from numpy_attention.models.registry import TRANSLATORS
from numpy_attention.runs.translator import Translation, Translator

RUN = "train --corpus copy --max-length 4 --pairs 60 --epochs 1 --batch-size 16 --threads 1".split()
SIZES = {"luong": "--hidden 8 --embedding 6", "transformer": "--hidden 8 --inner 12 --layers 2 --heads 2"}


def meant(words):
    return settings_of(parse(["train", *words.split()]), lambda: 7)


def test_every_translator_has_its_options(rng):
    assert MODELS.keys() == TRANSLATORS.keys()
    for model in MODELS:
        TRANSLATORS[model].create(rng, 9, 9, **meant(f"--model {model}"))


@pytest.mark.parametrize("words, wanted", [
    ("--model luong", dict(attention="dot", window="global", D=10, layers=1, cell="lstm", bidirectional=False,
                           input_feeding=True, hidden=256, embedding=256, dropout=0.2, init="modern")),
    ("--model luong --init paper", dict(init="paper")),
    ("--model luong --attention location --no-input-feeding", dict(attention="location", longest=8, input_feeding=False)),
    ("--model luong --window local-m --width 3 --reverse-source", dict(window="local-m", D=3, backwards=True)),
    ("--model luong --attention multi-head --heads 2 --bidirectional", dict(attention="multi-head", heads=2,
                                                                            bidirectional=True)),
    ("--model transformer --hidden 32 --layers 1 --smoothing 0", dict(size=32, layers=1, smoothing=0.0, pre_norm=True)),
    ("--model rnnsearch --readout previous --dropout 0", dict(readout="previous", dropout=0.0, reset="after")),
])
def test_options_reach_the_model(words, wanted):
    settings = meant(words)
    assert {name: settings.get(name) for name in wanted} == wanted
    assert ("longest" in settings) == ("longest" in wanted) and ("backwards" in settings) == ("backwards" in wanted)


@pytest.mark.parametrize("words, message", [
    ("--attention dot", "--attention is given, but --model rnnsearch has none: leave it out, or choose luong"),
    ("--model transformer --embedding 3", "--embedding is given, but --model transformer has none"),
    ("--model transformer --no-input-feeding", "--input-feeding is given"),
    ("--model luong --smoothing 0", "--smoothing is given, but --model luong has none: leave it out, or choose transformer"),
    ("--model luong --width 3", "--width is given, but window global sees all"),
    ("--model luong --heads 2", "--heads is given, but --attention dot has one"),
    ("--model luong --attention location --window local-p", "nothing for a window to choose from"),
    ("--model luong --attention multi-head --window local-p", "the weights of one sum"),
    ("--model transformer --heads 3", "--hidden 256 and --heads 3: expected an even --hidden"),
    ("--model luong --attention multi-head --heads 3", "--hidden 256 and --heads 3: expected a --hidden"),
    ("--warmup 3", "--warmup is given, but it belongs to --schedule warmup"),
    ("--subwords 40 --min-count 2", "--min-count is given, but subwords spell every word"),
])
def test_refused(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in told(capsys, *RUN, *words.split())
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("words, name", [
    ("--model luong --attention concat --window local-p --width 2", "luong-concat-local-p"),
    ("--model luong --attention multi-head --heads 2 --cell gru", "luong-multi-head"),
    ("--model transformer --schedule warmup --warmup 5", "transformer"),
    ("--model luong --attention location --subwords 16", "luong-location"),      # places are counted in pieces
    ("--model luong --window local-m --width 1 --reverse-source", "luong-dot-local-m"),
])
def test_runs(words, name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*RUN, *words.split(), *SIZES[name.split("-")[0]].split()]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"^{name}, [\d,]+ parameters; 60 pairs of copy", out) and f"saves to runs/copy-{name}\n" in out
    run = f"runs/copy-{name}"
    assert Translator.load(run).training.warmup == (5 if "warmup" in words else 400)
    assert main(["translate", run, "4 5 6", "--heatmap", "a.png"]) == 0 and (tmp_path / "a.png").exists()
    capsys.readouterr()
    one, other = ([main(["translate", run, "4 5 6", "--sample", "--seed", seed]), capsys.readouterr().out][1] for seed in "11")
    assert one == other
    assert "--seed is given, but it belongs to --sample" in told(capsys, "translate", run, "4", "--seed", "0")
    for option in ("--beam", "--length-penalty"):
        assert "--sample does not search" in told(capsys, "translate", run, "4", "--sample", option, "2")


def test_characters_are_not_cut(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "dates consists of characters" in told(capsys, "train", "--corpus", "dates", "--pairs", "50", "--subwords", "60")


def test_replace_unknown(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source").write_text("a b\nb c\nc a\n" * 9)
    command = "train --source source --target source --epochs 1 --hidden 4 --embedding 4".split()
    for model, run in (("rnnsearch", "r"), ("encoder-decoder", "e")):
        assert main([*command, "--model", model, "--run", run]) == 0
    assert "this run's model has no attention" in told(capsys, "translate", "e", "a", "--replace-unknown")
    weights = np.array([[0.2, 0.7, 0.1], [0.1, 0.4, 0.5], [0, 0, 1.0]])
    monkeypatch.setattr(Translator, "translate", lambda self, sentences, *how: [
        Translation(sentence, ["<unk>", "c"], -1.0, weights) for sentence in sentences])
    assert main(["translate", "r", "a zebra", "--replace-unknown"]) == 0 and capsys.readouterr().out == "zebra c\n"
    assert main(["translate", "r", "a zebra"]) == 0 and capsys.readouterr().out == "<unk> c\n"
    monkeypatch.setattr(Translator, "hypotheses", lambda self, sentence, *how: [
        Translation(sentence, target, -1.0, weights, -0.5) for target in (["<unk>", "c"], ["x<unk>", "c"])])
    assert main(["translate", "r", "a zebra", "--all", "--replace-unknown"]) == 0
    assert [line.split("words  ")[1] for line in capsys.readouterr().out.splitlines()] == ["zebra c", "zebra c"]
