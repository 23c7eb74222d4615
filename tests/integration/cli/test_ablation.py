"""numpy-attention ablate: what it prints, draws and gives as JSON, of both kinds of run."""

import json

import numpy as np
import pytest
from cli_runs import COPY, told

from numpy_attention.experiments.analysis import CHANGES, ablate
from numpy_attention.cli.main import main
from numpy_attention.data.selection import selected
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.experiments.runs.writer import LanguageModelRun


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders of a translator, of a language model with attention and of one without."""
    folder = tmp_path_factory.mktemp("runs")
    words = ["red", "green", "blue", "it's"]
    rng = np.random.default_rng(1)
    lines = [" ".join(words[k] for k in rng.integers(4, size=5)) + " .\n" for _ in range(60)]
    (folder / "own.txt").write_text("".join(lines))
    assert main([*COPY, "--run", str(folder / "translator")]) == 0
    learn = ["train", "lm", "--text", str(folder / "own.txt"), "--embedding", "6", "--batch-size",
             "4", "--epochs", "2", "--threads", "1", "--steps", "5"]
    for name, more in (("attentive", ["--attention", "single"]), ("plain", [])):
        assert main([*learn, *more, "--run", str(folder / name)]) == 0
    return folder


def test_a_translator(runs, capsys, tmp_path):
    run = str(runs / "translator")
    capsys.readouterr()
    assert main(["ablate", run, "--pairs", "40", "--output", str(tmp_path / "a.png")]) == 0
    out = capsys.readouterr().out
    translator = Translator.load(run)
    pairs = selected(translator.corpus | {"count": 40}).load("test")[0]
    found = ablate(translator.model, translator.batches(pairs), np.random.default_rng(0))
    assert f"copy, test: 40 pairs; {found.tokens} tokens, {found.loss:.3f} nats each\n" in out
    for change, what in CHANGES.items():
        more = found.cost(change).more
        assert f"  {change}: {what}\n" in out
        assert f"{more.mean:+.3f} ({more.low:+.3f} to {more.high:+.3f})\n" in out
    assert out.endswith(found.verdict() + "\n")
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_a_language_model_as_json(runs, capsys):
    run = str(runs / "attentive")
    capsys.readouterr()
    assert main(["ablate", run, "--split", "valid", "--json", "--seed", "3"]) == 0
    told = json.loads(capsys.readouterr().out)
    writer = LanguageModelRun.load(run)
    text = selected(writer.corpus).load("valid")[0]
    found = ablate(writer.model, writer.batches(text), np.random.default_rng(3))
    assert (told["run"], told["split"], told["tokens"]) == (run, "valid", found.tokens)
    assert told["loss"] == found.loss and told["alive"] is found.alive
    assert [one["more"]["low"] for one in told["costs"]] == [one.more.low for one in found.costs]
    assert {one["words"] for one in told["costs"]} >= {"all", "1 to 5 ago"}


def test_words_are_told_apart_in_a_language_model(runs, capsys):
    assert main(["ablate", str(runs / "attentive"), "--text", str(runs / "own.txt")]) == 0
    out = capsys.readouterr().out
    assert "own.txt: state carried through the text, 4 streams, 5 words at a time" in out
    assert out.count("    1 to 5 ago ") == len(CHANGES)


@pytest.mark.parametrize("name, words, message", [
    ("plain", "", "LanguageModel has no attention to change"),
    ("nowhere", "", "no checkpoint at "),
    ("translator", "--text own.txt", "--text"),
    ("attentive", "--pairs 3", "--pairs"),
    ("translator", "--output a.txt", "a.txt"),
])
def test_refused(name, words, message, runs, capsys):
    assert message in told(capsys, "ablate", str(runs / name), *words.split())
