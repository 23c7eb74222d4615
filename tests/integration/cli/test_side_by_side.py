"""numpy-attention recover and distances: what they print, draw, give as JSON, and refuse."""

import json

import numpy as np
import pytest
from cli_runs import COPY, told
from pictures import texts

from numpy_attention import plotting
from numpy_attention.experiments.analysis import disturbed, loss_by_distance, recover
from numpy_attention.cli.main import main
from numpy_attention.data.selection import selected
from numpy_attention.experiments.runs.writer import LanguageModelRun

FEW = ["--words", "2", "--next", "4", "--past", "6", "--number", "30"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders of language models of one text, and of others that are not like them."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(1)
    for name, words in (("own", ["red", "green", "blue", "it's"]), ("other", ["up", "down", "in"])):
        lines = [" ".join(words[k] for k in rng.integers(len(words), size=5)) + " .\n"
                 for _ in range(100)]
        (folder / f"{name}.txt").write_text("".join(lines))
    learn = ["train", "lm", "--embedding", "6", "--batch-size", "4", "--epochs", "1", "--threads",
             "1"]
    for name, text, more in (
            ("plain", "own", "--steps 5"), ("single", "own", "--steps 5 --attention single"),
            ("ngram", "own", "--steps 5 --attention ngram"), ("longer", "own", "--steps 6"),
            ("sentence", "own", "--state sentence"), ("other", "other", "--steps 5"),
            ("letters", "own", "--steps 5 --characters")):
        assert main([*learn, "--text", str(folder / f"{text}.txt"), *more.split(), "--run",
                     str(folder / name)]) == 0
    assert main([*COPY, "--run", str(folder / "translator")]) == 0
    return folder


def writers_of(runs, *names):
    writers = [LanguageModelRun.load(runs / name) for name in names]
    return writers, writers[0].batches(selected(writers[0].corpus).load("valid")[0])


def signed(one):
    return f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})"


# ---- recover ------------------------------------------------------------------------------------


def recoveries(runs, names, seed=0, **numbers):
    writers, batches = writers_of(runs, *names)
    numbers = numbers or dict(words=2, following=4, number=30, past=6)
    passages = disturbed(batches, np.random.default_rng([seed, 0]), **numbers)
    return passages, [recover(one.model, passages, np.random.default_rng([seed, 1]))
                      for one in writers]


def test_recovery_in_a_table(runs, capsys, tmp_path):
    folders = [str(runs / name) for name in ("plain", "single", "ngram")]
    picture = tmp_path / "recovery.png"
    capsys.readouterr()
    assert main(["recover", *folders, "--split", "valid", *FEW, "--output", str(picture)]) == 0
    out = capsys.readouterr().out
    passages, found = recoveries(runs, ("plain", "single", "ngram"))
    lines = out.splitlines()
    assert lines[0].startswith(f"{folders[0]}: lstm of 1 × 6, ")
    assert lines[3] == (f"own, valid: {len(passages)} passages, the last 2 of the words read "
                        "replaced; nats a token more than undisturbed")
    assert lines[4].split() == ("undisturbed mean of the next 4 at 1 at 2 "
                                "mean more than the first's").split()
    for folder, one, line in zip(folders, found, lines[5:]):
        assert line.split()[:2] == [folder, f"{one.loss:.3f}"]
        assert signed(one.mean) in line
        assert f"{one.excess[1].mean:+8.3f}{one.excess[2].mean:+8.3f}" in line
        more = one.more_than(found[0], np.random.default_rng([0, 2]))[1]
        assert line.endswith(signed(more)) is (one is not found[0])
    assert len(lines) == 8 and picture.stat().st_size > 5000


def test_recovery_as_json(runs, capsys):
    folders = [str(runs / name) for name in ("plain", "single")]
    capsys.readouterr()
    assert main(["recover", *folders, "--split", "valid", *FEW, "--seed", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    passages, found = recoveries(runs, ("plain", "single"), 3)
    assert (told["corpus"], told["split"], told["words"]) == ("own", "valid", 2)
    assert told["passages"] == len(passages)
    for folder, one in zip(folders, found):
        here = told["runs"][folder]
        assert (here["loss"], here["tokens"]) == (one.loss, one.tokens)
        assert here["mean"]["low"] == one.mean.low
        assert {int(d): more["mean"] for d, more in here["excess"].items()} == {
            d: more.mean for d, more in one.excess.items()}
    excess, mean = found[1].more_than(found[0], np.random.default_rng([3, 2]))
    assert told["runs"][folders[1]]["more"]["mean"] == mean._asdict()
    assert told["runs"][folders[1]]["more"]["excess"]["4"] == excess[4]._asdict()
    assert "more" not in told["runs"][folders[0]]


def test_what_is_told_of_a_run_does_not_depend_on_the_others(runs, capsys):
    told = []
    for names in (("single",), ("plain", "single"), ("ngram", "plain", "single")):
        capsys.readouterr()
        folders = [str(runs / name) for name in names]
        assert main(["recover", *folders, "--split", "valid", *FEW, "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out)["runs"][str(runs / "single")])
    for one in told:
        one.pop("more", None)
    assert told[0] == told[1] == told[2]


def test_defaults(runs, capsys):
    capsys.readouterr()
    assert main(["recover", str(runs / "plain"), "--text", str(runs / "own.txt"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["words"] == 5 and told["split"] is None
    run = told["runs"][str(runs / "plain")]
    assert len(run["excess"]) == 20 and run["tokens"] == 20 * told["passages"]
    # four streams of 176 tokens, in passages of 55
    assert told["passages"] == 4 * 3


def test_a_sentence_is_a_passage(runs, capsys):
    run = str(runs / "sentence")
    capsys.readouterr()
    assert main(["recover", run, "--text", str(runs / "own.txt"), "--words", "2"]) == 0
    out = capsys.readouterr().out
    assert "100 passages, the last 2 of the words read" in out
    assert " mean of the next 5 " in out and " at 5\n" in out


def test_letters(runs, capsys):
    text = str(runs / "own.txt")
    assert main(["recover", str(runs / "letters"), "--text", text, *FEW]) == 0
    assert "30 passages" in capsys.readouterr().out


# ---- distances ----------------------------------------------------------------------------------


def test_distances_in_a_table(runs, capsys):
    folders = [str(runs / name) for name in ("plain", "single")]
    capsys.readouterr()
    assert main(["distances", *folders, "--split", "valid"]) == 0
    lines = capsys.readouterr().out.splitlines()
    writers, batches = writers_of(runs, "plain", "single")
    found = [loss_by_distance(one.model, batches, np.random.default_rng([0, 1])) for one in writers]
    more = found[1].more_than(found[0], np.random.default_rng([0, 2]))
    assert lines[2] == "own, valid: state carried through the text, 4 streams, 5 words at a time"
    assert lines[3].endswith("nats a token, and more than the first's")
    wanted = []
    for words, tokens in found[0].tokens.items():
        wanted += [f"  {words}: {tokens:,} tokens",
                   f"    {folders[0]:<{len(folders[1])}}  {found[0].loss[words]}",
                   f"    {folders[1]}  {found[1].loss[words]}   {signed(more[words])}"]
    assert lines[4:] == wanted


def test_distances_of_one_run(runs, capsys):
    capsys.readouterr()
    assert main(["distances", str(runs / "sentence"), "--split", "valid"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "own, valid: state reset at every sentence"
    assert lines[2] == "  words, by how long ago they last occurred: nats a token"


def test_distances_as_json(runs, capsys):
    folders = [str(runs / name) for name in ("plain", "single")]
    capsys.readouterr()
    assert main(["distances", *folders, "--split", "valid", "--json", "--seed", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    writers, batches = writers_of(runs, "plain", "single")
    found = [loss_by_distance(one.model, batches, np.random.default_rng([2, 1])) for one in writers]
    assert (told["corpus"], told["tokens"]) == ("own", found[0].tokens)
    for folder, one in zip(folders, found):
        assert told["runs"][folder]["loss"] == {
            words: loss._asdict() for words, loss in one.loss.items()}
    more = found[1].more_than(found[0], np.random.default_rng([2, 2]))
    assert told["runs"][folders[1]]["more"] == {words: d._asdict() for words, d in more.items()}
    assert "more" not in told["runs"][folders[0]]


def test_distances_drawn(runs, capsys, tmp_path, monkeypatch):
    """Of several runs the differences from the first, of one its own losses."""
    drawn = []
    monkeypatch.setattr(plotting, "save", lambda ax, file: drawn.append((ax, file)))
    plain, single = (str(runs / name) for name in ("plain", "single"))
    file = tmp_path / "far.png"
    for folders in ([plain, single], [plain]):
        assert main(["distances", *folders, "--split", "valid", "--json", "--output",
                     str(file)]) == 0
    two, one = (json.loads(line)["runs"] for line in capsys.readouterr().out.splitlines()[-2:])
    for (ax, saved), folder, wanted, label in (
            (drawn[0], single, two[single]["more"],
             f"nats a token more than {plain} (95 % interval)"),
            (drawn[1], plain, one[plain]["loss"], "nats a token (95 % interval)")):
        assert (saved, ax.get_xlabel()) == (str(file), label)
        assert texts(ax.get_yticklabels()) == ["all words", *list(wanted)[1:]]
        assert list(ax.containers[0].lines[0].get_xdata()) == [
            part["mean"] for part in wanted.values()]
        for segment, part in zip(ax.containers[0].lines[2][0].get_segments(), wanted.values()):
            assert [x for x, _ in segment] == pytest.approx([part["low"], part["high"]])
        assert ax.get_title() == f"{folder}\nown, words by how long ago they last occurred"


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["recover", "distances"])
@pytest.mark.parametrize("names, words, message", [
    (("plain", "other"), "", "other has another vocabulary than"),
    (("plain", "longer"), "", "longer has steps 6, and"),
    (("plain", "longer"), "", "runs that read a text alike can be compared"),
    (("plain", "sentence"), "", "state 'sentence'"),
    (("plain", "single", "plain"), "", "plain is given 2 times: expected each run once"),
    (("plain", "translator"), "", "is the checkpoint of a translator"),
    (("nowhere",), "", "no checkpoint at "),
    (("plain",), "--corpus copy", "copy"),
    (("plain",), "--text own.txt --split test", "leave --corpus and --split out"),
    ((), "", "RUN"),
])
def test_refused(command, names, words, message, runs, capsys):
    assert message in told(capsys, command, *(str(runs / name) for name in names), *words.split())


@pytest.mark.parametrize("words, message", [
    ("--words 6 --past 6", "--words 6: expected a whole number of at least 1 and at most 5"),
    ("--past 900", "no passage of 920 tokens in this text"), ("--next 0", "--next"),
    ("--output a.txt", "a.txt"), ("--beam 3", "--beam")])
def test_numbers_that_cannot_be(words, message, runs, capsys):
    assert message in told(capsys, "recover", str(runs / "plain"), *words.split())


@pytest.mark.parametrize("command", ["recover", "distances", "ablate"])
def test_a_text_of_another_unit_is_refused(command, runs, capsys, monkeypatch):
    """As evaluate does."""
    from numpy_attention.cli import language_models
    part_of = language_models.part_of

    def letters(selection, split=None):
        text, name = part_of(selection, split)
        return text.as_characters(), name

    monkeypatch.setattr(language_models, "part_of", letters)
    message = told(capsys, command, str(runs / "single"))
    assert "own is a text of characters, and this run's model reads words: choose" in message
