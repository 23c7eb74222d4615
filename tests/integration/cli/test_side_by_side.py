"""numpy-attention recover and distances: tables, plots, JSON, and errors."""

import json

import numpy as np
import pytest
from cli_runs import failure
from pictures import texts

from numpy_attention import plotting
from numpy_attention.cli import evaluate
from numpy_attention.cli.main import main
from numpy_attention.data.selection import selected
from numpy_attention.experiments.analysis import disturbed, loss_by_distance, recover
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun

FEW = ["--words", "2", "--next", "4", "--past", "6", "--number", "30"]


@pytest.fixture(autouse=True)
def among_the_runs(runs, monkeypatch):
    monkeypatch.chdir(runs)


def figures_of(capsys, *words):
    capsys.readouterr()
    assert main([*words, "--split", "valid", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def writers_of(*names):
    writers = [LanguageModelRun.load(name) for name in names]
    return writers, writers[0].batches(selected(writers[0].corpus).load("valid")[0])


def signed(one):
    return f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})"


def recoveries(*names, seed=0):
    writers, batches = writers_of(*names)
    passages = disturbed(batches, np.random.default_rng([seed, 0]), words=2, following=4,
                         number=30, past=6)
    return passages, [recover(one.model, passages, np.random.default_rng([seed, 1]))
                      for one in writers]


def test_recovery_table(capsys, tmp_path):
    names = ["plain", "single", "ngram"]
    picture = tmp_path / "recovery.png"
    assert main(["recover", *names, "--split", "valid", *FEW, "--output", str(picture)]) == 0
    lines = capsys.readouterr().out.splitlines()
    passages, found = recoveries(*names)
    assert lines[0].startswith("plain: lstm of 1 × 6, ")
    assert lines[3] == (f"own, valid: {len(passages)} passages with the last 2 words replaced; "
                        "increase of the loss in nats per token")
    assert lines[4].split() == ("undisturbed mean of the next 4 at 1 at 2 "
                                "mean more than the first's").split()
    for name, one, line in zip(names, found, lines[5:]):
        assert line.split()[:2] == [name, f"{one.loss:.3f}"]
        assert signed(one.mean) in line and f"{one.excess[2].mean:+.3f}" in line
        more = one.more_than(found[0], np.random.default_rng([0, 2]))[1]
        assert line.endswith(signed(more)) is (one is not found[0])
    assert len(lines) == 8 and picture.stat().st_size > 5000


def test_recovery_as_json(capsys):
    figures = figures_of(capsys, "recover", "plain", "single", *FEW, "--seed", "3")
    passages, found = recoveries("plain", "single", seed=3)
    assert (figures["corpus"], figures["split"], figures["words"]) == ("own", "valid", 2)
    assert figures["passages"] == len(passages)
    for name, one in zip(["plain", "single"], found):
        run = figures["runs"][name]
        assert (run["loss"], run["tokens"]) == (one.loss, one.tokens)
        assert run["mean"]["low"] == one.mean.low
        assert {int(d): more["mean"] for d, more in run["excess"].items()} == {
            d: more.mean for d, more in one.excess.items()}
    excess, mean = found[1].more_than(found[0], np.random.default_rng([3, 2]))
    assert figures["runs"]["single"]["more"]["mean"] == mean._asdict()
    assert figures["runs"]["single"]["more"]["excess"]["4"] == excess[4]._asdict()
    assert "more" not in figures["runs"]["plain"]


def test_sentences_and_characters(capsys):
    assert main(["recover", "sentences", "--text", "own.txt", "--words", "2"]) == 0
    out = capsys.readouterr().out
    assert "100 passages with the last 2 words replaced" in out and "mean of the next 5 " in out
    assert main(["recover", "letters", "--text", "own.txt", *FEW]) == 0
    assert "30 passages" in capsys.readouterr().out


def test_distances_table(capsys):
    assert main(["distances", "plain", "single", "--split", "valid"]) == 0
    lines = capsys.readouterr().out.splitlines()
    writers, batches = writers_of("plain", "single")
    found = [loss_by_distance(one.model, batches, np.random.default_rng([0, 1])) for one in writers]
    more = found[1].more_than(found[0], np.random.default_rng([0, 2]))
    assert lines[2] == "own, valid: state carried through the text, 4 streams, 5 words at a time"
    assert lines[3].endswith("nats per token, and more than the first's")
    wanted = []
    for words, tokens in found[0].tokens.items():
        wanted += [f"  {words}: {tokens:,} tokens", f"    plain    {found[0].loss[words]}",
                   f"    single   {found[1].loss[words]}   {signed(more[words])}"]
    assert lines[4:] == wanted
    assert main(["distances", "sentences", "--split", "valid"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "own, valid: state reset at every sentence"
    assert lines[2] == "  words, by how long ago they last occurred: nats per token"


def test_distances_as_json_and_plot(capsys, tmp_path, monkeypatch):
    """A plot of several runs shows differences from the first; of one run, its losses."""
    plots = []
    monkeypatch.setattr(plotting, "save", lambda ax, file: plots.append((ax, file)))
    file = str(tmp_path / "far.png")
    two, one = (figures_of(capsys, "distances", *names, "--seed", "2", "--output", file)
                for names in (["plain", "single"], ["plain"]))
    writers, batches = writers_of("plain", "single")
    found = [loss_by_distance(one.model, batches, np.random.default_rng([2, 1])) for one in writers]
    assert (two["corpus"], two["tokens"]) == ("own", found[0].tokens)
    for name, its in zip(["plain", "single"], found):
        assert two["runs"][name]["loss"] == {
            words: loss._asdict() for words, loss in its.loss.items()}
    more = found[1].more_than(found[0], np.random.default_rng([2, 2]))
    assert two["runs"]["single"]["more"] == {words: d._asdict() for words, d in more.items()}
    for (ax, saved), name, wanted, label in (
            (plots[0], "single", two["runs"]["single"]["more"], "nats per token more than plain"),
            (plots[1], "plain", one["runs"]["plain"]["loss"], "nats per token")):
        assert (saved, ax.get_xlabel()) == (file, f"{label} (95 % interval)")
        assert texts(ax.get_yticklabels()) == ["all words", *list(wanted)[1:]]
        assert list(ax.containers[0].lines[0].get_xdata()) == [
            part["mean"] for part in wanted.values()]
        assert ax.get_title() == f"{name}\nown, words by how long ago they last occurred"


@pytest.mark.parametrize("command", ["recover", "distances"])
@pytest.mark.parametrize("words, message", [
    ("plain other", "other and plain differ in their vocab"),
    ("plain longer", "only runs that read text in the same way can be compared"),
    ("plain single plain", "plain was given 2 times; pass it once"),
    ("plain copy", "is the checkpoint of a translator"),
    ("nowhere", "no checkpoint at "),
])
def test_errors(command, words, message, capsys):
    assert message in failure(capsys, command, *words.split())


def test_invalid_numbers(capsys):
    cmd = ["recover", "plain", "--words", "6", "--past", "6"]
    assert "--words 6; expected an integer from 1 to 5" in failure(capsys, *cmd)
    assert "expected at least 920. Use a longer text" in failure(capsys, *cmd[:2], "--past", "900")


def test_runs_with_different_units(capsys, monkeypatch):
    part_of = evaluate.part_of

    def letters(selection, split=None):
        text, name = part_of(selection, split)
        return text.as_characters(), name

    monkeypatch.setattr(evaluate, "part_of", letters)
    assert "the text 'own' is split into characters, but this run's model" in failure(
        capsys, "ablate", "single")
