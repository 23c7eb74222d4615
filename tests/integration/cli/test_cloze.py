"""numpy-attention cloze: the questions it makes, reads and writes, what it prints, what it refuses.
"""

import json

import numpy as np
import pytest
from cli_runs import COPY, told

from numpy_attention.experiments.analysis import cloze_test
from numpy_attention.cli.main import main
from numpy_attention.data.cloze import make_questions, read_questions
from numpy_attention.data.selection import selected
from numpy_attention.models.ensemble import Ensemble
from numpy_attention.experiments.runs.writer import LanguageModelRun

LETTERS = "abcdefghijklmno"
WORDS = [a + b for a in LETTERS for b in LETTERS]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders of a translator, and of language models of words, of sentences and of letters."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(1)
    own = folder / "own.txt"
    own.write_text("".join(" ".join(rng.choice(WORDS, 9)) + " .\n" for _ in range(300)))
    (folder / "valid.txt").write_text("".join(own.read_text().splitlines(True)[:60]))
    assert main([*COPY, "--run", str(folder / "translator")]) == 0
    learn = ["train", "lm", "--text", str(own), "--valid-text", str(folder / "valid.txt"),
             "--embedding", "6", "--batch-size", "4", "--epochs", "1", "--threads", "1"]
    for name, more in (("words", ["--attention", "single", "--steps", "7"]),
                       ("other", ["--attention", "none", "--steps", "7", "--seed", "1"]),
                       ("sentences", ["--state", "sentence", "--lowercase"]),
                       ("letters", ["--characters"])):
        assert main([*learn, *more, "--run", str(folder / name)]) == 0
    return folder


def asked(writer, questions, rng):
    return cloze_test(writer.model, writer.vocabulary, questions, rng, writer.training.state,
                      writer.training.steps)


def test_questions_from_the_run_s_own_text(runs, capsys):
    run = str(runs / "words")
    capsys.readouterr()
    assert main(["cloze", run, "--number", "30", "--seed", "3", "--show", "2"]) == 0
    out = capsys.readouterr().out
    writer = LanguageModelRun.load(run)
    rng = np.random.default_rng(3)
    questions = make_questions(selected(writer.corpus).load("valid")[0], writer.vocabulary, 30, rng)
    found = asked(writer, questions, rng)
    assert f"{run}: lstm of 1 × 6 with single, {writer.model.size:,} parameters, 1 epoch\n" in out
    assert ("own, valid: state carried through the text, 1 stream, 7 words at a time; memory empty "
            "every 7 words\n  30 questions; 0.0 % of the answers are <unk>\n") in out
    assert f"  accuracy                  {found.accuracy}\n" in out
    for name, accuracy in found.others.items():
        assert f"  {name:<25} {accuracy}\n" in out
    assert "  chance                    0.100\n" in out
    gain = found.gain
    assert (f"  the context is worth {gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})\n"
            in out)
    assert "  depends on  parameters " in out
    shown = out.split("\n\n")[1:]
    assert len(shown) == 2
    for text, question, log_p in zip(shown, questions, found.log_p):
        query, answer, ranked = text.splitlines()
        assert query == f"  {' '.join(question.filled('_____'))}"
        assert answer == f"    answer: {question.word}"
        best = log_p.argmax()
        assert ranked.startswith(f"    log p: {question.candidates[best]} {log_p[best]:.2f}, ")
        assert ranked.count(",") == 9
        assert ranked.endswith(f", {question.candidates[log_p.argmin()]} {log_p.min():.2f}")


def test_as_json_and_from_a_file(runs, capsys, tmp_path):
    run, file = str(runs / "words"), tmp_path / "made.txt"
    capsys.readouterr()
    words = ["cloze", run, "--number", "12", "--split", "train", "--json"]
    assert main([*words, "--write", str(file)]) == 0
    out, err = capsys.readouterr()
    assert err == f"saved {file}\n"
    figures = json.loads(out)
    writer = LanguageModelRun.load(run)
    rng = np.random.default_rng(0)
    questions = make_questions(selected(writer.corpus).load("train")[0], writer.vocabulary, 12, rng)
    found = asked(writer, questions, rng)
    assert read_questions(file) == questions
    assert (figures["run"], figures["corpus"], figures["split"]) == (run, "own", "train")
    assert (figures["state"], figures["steps"], figures["seed"]) == ("carried", 7, 0)
    assert (figures["questions"], figures["unknown"]) == (12, 0)
    assert figures["chance"] == pytest.approx(0.1)
    assert figures["accuracy"] == found.accuracy._asdict()
    assert figures["gain"] == found.gain._asdict()
    assert figures["others"] == {name: one._asdict() for name, one in found.others.items()}
    assert figures["depends_on"]["threads"] == 1

    assert main(["cloze", run, "--questions", str(file), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["corpus"], again["split"]) == ("made.txt", None)
    assert again["accuracy"]["mean"] == figures["accuracy"]["mean"]
    assert again["depends_on"] == figures["depends_on"]
    assert main(["cloze", run, "--questions", str(file), "--seed", "5"]) == 0
    assert "\nmade.txt: state carried" in capsys.readouterr().out


def test_other_texts_other_digests(runs, capsys):
    digests = set()
    for seed in "01":
        capsys.readouterr()
        assert main(["cloze", str(runs / "words"), "--text", str(runs / "own.txt"), "--number", "3",
                     "--seed", seed, "--json"]) == 0
        figures = json.loads(capsys.readouterr().out)
        assert (figures["corpus"], figures["split"], figures["questions"]) == ("own.txt", None, 3)
        digests.add(figures["depends_on"]["text"])
    assert len(digests) == 2


def test_a_file_in_the_case_of_the_run_s_text(runs, capsys, tmp_path):
    """AB is unknown to a run of lowercase letters, unless it is lowercased first."""
    file = tmp_path / "upper.txt"
    file.write_text("1 AB ac\n2 XXXXX\tAB\t\tAB|ac|AD\n")
    for name, words, unknown in (("words", [], 1), ("words", ["--lowercase"], 0),
                                 ("sentences", [], 0), ("sentences", ["--no-lowercase"], 1)):
        capsys.readouterr()
        assert main(["cloze", str(runs / name), "--questions", str(file), "--json", *words]) == 0
        assert json.loads(capsys.readouterr().out)["unknown"] == unknown


def test_a_state_of_a_sentence(runs, capsys):
    capsys.readouterr()
    assert main(["cloze", str(runs / "sentences"), "--number", "5", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["steps"] is None and figures["state"] == "sentence"
    assert figures["accuracy"]["mean"] == figures["others"]["without the context"]["mean"]
    assert figures["gain"]["mean"] == 0


def test_runs_together(runs, capsys):
    words, other = (str(runs / name) for name in ("words", "other"))
    capsys.readouterr()
    assert main(["cloze", words, "--together-with", other, "--number", "9"]) == 0
    out = capsys.readouterr().out
    writer = LanguageModelRun.load(words)
    rng = np.random.default_rng(0)
    questions = make_questions(selected(writer.corpus).load("valid")[0], writer.vocabulary, 9, rng)
    writer.model = Ensemble([writer.model, LanguageModelRun.load(other).model])
    assert f"  accuracy                  {asked(writer, questions, rng).accuracy}\n" in out
    assert f"{words}: ensemble of 2, the first: lstm" in out


@pytest.mark.parametrize("name, words, message", [
    ("translator", "", "translator holds a translator: expected the run of a language model"),
    ("letters", "", "letters reads characters: a question leaves out a word"),
    ("nowhere", "", "no checkpoint at "),
    ("words", "--number 9999", "--number 9999: this text has "),
    ("words", "--number 0", "--number"),
    ("words", "--lowercase", "--lowercase is given, but questions that are made are in the case"),
    ("words", "--questions none.txt", "none.txt does not exist"),
    ("words", "--json --show 2", "--show is given, but --json prints one object"),
    ("words", "--number 3 --write /dev/null/a.txt", "/dev/null"),
    *[("words", f"--questions q.txt {more}", f"{more.split()[0]} is given, but the questions of "
       "--questions are made already: leave it out")
      for more in ("--number 3", "--corpus ptb", "--text a.txt", "--split test", "--write b.txt")],
])
def test_refused(name, words, message, runs, capsys):
    assert message in told(capsys, "cloze", str(runs / name), *words.split())
