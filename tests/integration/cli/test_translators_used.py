"""What is done with a translator's run: translate, evaluate, heatmap."""

import io
import json
import re
import sys

import numpy as np
import pytest
from cli_runs import COPY, SMALL, told

from numpy_attention import plotting
from numpy_attention.cli.main import main, parse
from numpy_attention.cli.shared import part_of
from numpy_attention.cli.translators import corpus_to_measure_on
from numpy_attention.data.user_text import UserPairs
from numpy_attention.data.pairs import Pair
from numpy_attention.data.selection import selected
from numpy_attention.experiments.runs.translator import Translation, Translator


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "copy"
    assert main([*COPY, "--run", str(folder)]) == 0
    return str(folder)


# ---- translate ----------------------------------------------------------------------------------


def test_translate(run, capsys, tmp_path):
    picture = tmp_path / "weights.png"
    assert main(["translate", run, "3 1 4", "5 5", "--beam", "1"]) == 0
    greedy = capsys.readouterr().out.splitlines()
    assert len(greedy) == 2
    assert main(["translate", run, "3 1 77", "--heatmap", str(picture)]) == 0
    out, error = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert "read as <unk>: 77\n" in error
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_translate_all(run, capsys):
    assert main(["translate", run, "3 1 4", "--beam", "3", "--all", "--length-penalty", "0"]) == 0
    form = re.compile(r" *(\S+)  log p +(\S+) +(\d+) words  (.*)")
    lines = [form.fullmatch(line) for line in capsys.readouterr().out.splitlines()]
    scores = [float(line[1]) for line in lines]
    assert len(lines) == 3 and scores == sorted(scores, reverse=True)
    assert all(line[1] == line[2] for line in lines)                        # penalty 0: log p
    assert all(len(line[4].split()) == int(line[3]) for line in lines)
    assert main(["translate", run, "3 1 4", "--beam", "3", "--length-penalty", "0"]) == 0
    assert capsys.readouterr().out.strip() == lines[0][4]


def test_options_reach_the_search(run, monkeypatch, tmp_path):
    seen = []
    translate = Translator.translate
    draw = plotting.attention_heatmap

    def seen_translating(self, *rest):
        seen.append(rest)
        return translate(self, *rest)

    def seen_drawing(weights, *rest):
        seen.append(rest)
        return draw(weights, *rest)

    monkeypatch.setattr(Translator, "translate", seen_translating)
    monkeypatch.setattr(plotting, "attention_heatmap", seen_drawing)
    words = ["--beam", "4", "--length-penalty", "0.5", "--heatmap", str(tmp_path / "a.png")]
    assert main(["translate", run, "3 1", *words]) == 0
    (sentences, beam, penalty), (source, target) = seen
    assert (sentences, beam, penalty, source) == ([["3", "1"]], 4, 0.5, ["3", "1", "</s>"])
    assert target[-1] == "</s>" and "</s>" not in target[:-1]


@pytest.mark.parametrize("backwards", [False, True])
def test_the_first_hypothesis_is_the_translation(run, backwards):
    translator, sentence = Translator.load(run), ["3", "1", "4"]
    translator.training.reverse_source = backwards
    hypotheses = translator.hypotheses(sentence, 3, 0.5)
    found = translator.translate([sentence], 3, 0.5)[0]
    assert hypotheses[0].target == found.target
    scores = [one.score for one in hypotheses]
    assert scores == sorted(scores, reverse=True)
    assert hypotheses[0].log_probability == pytest.approx(found.log_probability, abs=1e-5)
    assert hypotheses[0].score == pytest.approx(found.score, abs=1e-5)


def test_translate_reads_the_input(run, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("3 1 4\n2\n"))
    assert main(["translate", run]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    for text in ("", "\n \n"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert "no sentence to translate" in told(capsys, "translate", run)


def test_only_line_ends_end_a_line_of_the_input(run, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\u20281\n2\x0b4"))
    assert main(["translate", run]) == 0
    assert len(capsys.readouterr().out.split("\n")) == 3
    broken = io.TextIOWrapper(io.BytesIO(b"3 1\n\xff"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", broken)
    assert "the standard input is not UTF-8 text (byte 5)" in told(capsys, "translate", run)


def test_a_thousand_lines_of_unknown_words(run, capsys, monkeypatch):
    lines = "".join(f"word{n} 3\n" for n in range(1000))
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    assert main(["translate", run, "--beam", "1"]) == 0
    out, error = capsys.readouterr()
    assert len(out.splitlines()) == 1000
    assert error == ("numpy-attention: not in the run's vocabulary, read as <unk>: "
                     + ", ".join(f"word{n}" for n in range(10)) + " and 990 more\n")


def test_lines_stay_together(run, capsys, monkeypatch):
    """An empty line out for an empty line in; with --all an empty line between the sentences."""
    def made(sentence):
        return Translation(sentence, sentence[::-1], -1.0, np.ones((2, 3)) / 3, -0.5)

    monkeypatch.setattr(Translator, "translate",
                        lambda self, sentences, *rest: [made(one) for one in sentences])
    monkeypatch.setattr(Translator, "hypotheses",
                        lambda self, sentence, *rest: [made(sentence)] * 2)
    found = []
    for words in ((), ("--all",)):
        monkeypatch.setattr(sys, "stdin", io.StringIO("3 1 4\n\n2\n"))
        assert main(["translate", run, *words]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == "4 1 3\n\n2\n"
    lines = [line.rpartition("words  ")[2] for line in found[1].split("\n")]
    assert lines == ["4 1 3"] * 2 + [""] * 3 + ["2"] * 2 + [""]


def test_a_hypothesis_that_was_cut_off_says_so(run, capsys, monkeypatch):
    weights = np.ones((2, 3)) / 3
    both = [Translation(["3", "1"], ["1", "3"], -1.0, weights, -0.5, finished)
            for finished in (True, False)]
    monkeypatch.setattr(Translator, "hypotheses", lambda self, *rest: both)
    assert main(["translate", run, "3 1", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [" words, cut off  " in line for line in lines] == [False, True]
    translator = Translator.load(run)
    monkeypatch.undo()
    translator.model.output.b[:] = 0
    translator.model.output.b[2] = -1e9                                         # </s> never comes
    cut = translator.translate([["3", "1"]], beam=2)[0]
    assert not cut.finished and len(cut.target) == 2 * 3 + 10
    translator.model.output.b[2] = 1e9
    assert translator.translate([["3", "1"]], beam=2)[0].finished


def test_translate_refuses(run, capsys, tmp_path):
    assert "sentence 1 is empty" in told(capsys, "translate", run, "")
    assert "sentence 1 is empty" in told(capsys, "translate", run, "  ")
    assert "--length-penalty is given, but --beam 1 compares no lengths" in told(
        capsys, "translate", run, "1", "--beam", "1", "--length-penalty", "2")
    assert "--sample never draws <unk>" in told(
        capsys, "translate", run, "1", "--sample", "--replace-unknown")
    assert "draws one sentence" in told(
        capsys, "translate", run, "1", "2", "--heatmap", str(tmp_path / "a.png"))
    assert ".svg" in told(capsys, "translate", run, "1", "--heatmap", str(tmp_path / "a.txt"))
    assert not list(tmp_path.iterdir())


def test_a_sample_follows_its_seed(run, capsys):
    drawn = []
    for seed in ("1", "1", "2"):
        assert main(["translate", run, "4 5 6", "--sample", "--seed", seed]) == 0
        drawn.append(capsys.readouterr().out)
    assert drawn[0] == drawn[1] != drawn[2]
    assert "--seed is given, but it belongs to --sample" in told(
        capsys, "translate", run, "4", "--seed", "0")
    for option in ("--beam", "--length-penalty"):
        assert "--sample does not search" in told(
            capsys, "translate", run, "4", "--sample", option, "2")
    assert "--all is given, but --sample does not search" in told(
        capsys, "translate", run, "4", "--sample", "--all")


def test_replace_unknown(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source").write_text("a b\nb c\nc a\n" * 9)
    command = "train --source source --target source --epochs 1 --hidden 4 --embedding 4".split()
    for model, run in (("rnnsearch", "r"), ("encoder-decoder", "e")):
        assert main([*command, "--model", model, "--run", run]) == 0
    assert "this run's model has no attention" in told(
        capsys, "translate", "e", "a", "--replace-unknown")
    weights = np.array([[0.2, 0.7, 0.1], [0.1, 0.4, 0.5], [0, 0, 1.0]])

    def made(sentence, *target):
        return Translation(sentence, list(target), -1.0, weights, -0.5)

    monkeypatch.setattr(Translator, "translate", lambda self, sentences, *how: [
        made(sentence, "<unk>", "c") for sentence in sentences])
    for words, line in ((["--replace-unknown"], "zebra c\n"), ([], "<unk> c\n")):
        assert main(["translate", "r", "a zebra", *words]) == 0
        assert capsys.readouterr().out == line
    monkeypatch.setattr(Translator, "hypotheses", lambda self, sentence, *how: [
        made(sentence, "<unk>", "c"), made(sentence, "x<unk>", "c")])
    assert main(["translate", "r", "a zebra", "--all", "--replace-unknown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("words  ")[1] for line in lines] == ["zebra c", "zebra c"]


@pytest.mark.parametrize("damage, message", [
    (lambda data: data[:len(data) // 2], "truncated or corrupted"),
    (lambda data: b"", "checkpoint.npz"),
    (lambda data: b"no archive at all", "checkpoint.npz"),
])
@pytest.mark.parametrize("command", ["translate {} 1", "evaluate {}", "heatmap {} --output a.png",
                                     " ".join(COPY) + " --run {}"])
def test_damaged_checkpoint(run, command, damage, message, capsys, tmp_path):
    data = open(f"{run}/checkpoint.npz", "rb").read()
    (tmp_path / "checkpoint.npz").write_bytes(damage(data))
    assert message in told(capsys, *command.format(tmp_path).split())
    assert (tmp_path / "checkpoint.npz").read_bytes() == damage(data)


# ---- evaluate, heatmap --------------------------------------------------------------------------


def test_evaluate(run, capsys):
    assert main(["evaluate", run, "--json", "--beam", "2"]) == 0
    figures = json.loads(capsys.readouterr().out)
    wanted = {"pairs": 120, "split": "test", "beam": 2, "diagonal": 1}
    assert figures == figures | wanted
    assert "tok:none" in figures["bleu_signature"] and "nc:6" in figures["chrf_signature"]
    assert main(["evaluate", run, "--beam", "2", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    depends = figures["depends_on"]
    assert (f"depends on  parameters {depends['parameters']}, text {depends['text']}, seed 0, "
            "1 thread;\n") in out
    assert (f"NumPy {depends['numpy']}, numba {depends['numba']}, {depends['blas']}, "
            f"{depends['processor']}\n") in out
    low, high = figures["perplexity_low"], figures["perplexity_high"]
    assert low < figures["perplexity"] < high
    assert (f"{figures['perplexity']:.2f} [{low:.2f}, {high:.2f}]   over {figures['tokens']:,} "
            "tokens") in out
    assert figures["bleu_signature"] in out
    assert (f"{figures['pointing']:.3f} [{figures['pointing_low']:.3f}, "
            f"{figures['pointing_high']:.3f}]   of the sure links") in out
    assert (f"{figures['bleu']:.2f} [{figures['bleu_low']:.2f}, {figures['bleu_high']:.2f}]   "
            "beam 2") in out


def test_several_runs_as_one(run, capsys, tmp_path):
    other = str(tmp_path / "other")
    assert main([*COPY, "--seed", "5", "--run", other]) == 0
    capsys.readouterr()
    figures = []
    for words in ([], ["--together-with", other]):
        assert main(["evaluate", run, "--pairs", "30", "--beam", "2", "--json", *words]) == 0
        figures.append(json.loads(capsys.readouterr().out))
    assert figures[0]["perplexity"] != figures[1]["perplexity"]
    assert main(["evaluate", run, "--pairs", "30", "--beam", "1", "--together-with", other]) == 0
    assert f"{run}: ensemble of 2, the first: rnnsearch, " in capsys.readouterr().out
    assert main(["translate", run, "3 1 4", "--together-with", other]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    for wrong, message in ((f"{other},{other}", "each once"), (",", "expected folders such as"),
                           (str(tmp_path / "nix"), "no checkpoint")):
        assert message in told(capsys, "evaluate", run, "--together-with", wrong)


def test_evaluate_without_unknown_words(run, capsys, tmp_path):
    (tmp_path / "a.txt").write_text("3 1 4\n5 77\n2 2\n")
    (tmp_path / "b.txt").write_text("3 1 4\n5 6\n2 2\n")
    own = ["--source", str(tmp_path / "a.txt"), "--target", str(tmp_path / "b.txt"), "--beam", "2"]
    assert main(["evaluate", run, *own, "--known", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["pairs"], figures["known"]["pairs"]) == (3, 2)
    translator = Translator.load(run)
    pairs = [Pair(("3", "1", "4"), ("3", "1", "4")), Pair(("2", "2"), ("2", "2"))]
    known = translator.evaluate_without_unk(pairs, 2, 1)
    assert figures["known"]["perplexity"] == pytest.approx(known["perplexity"])
    assert main(["evaluate", run, *own, "--known"]) == 0
    out = capsys.readouterr().out
    assert "without unknown words: 2 pairs that hold none, <unk> not written\n" in out
    assert out.count("  perplexity  ") == 2
    (tmp_path / "a.txt").write_text("77\n78\n79\n")
    assert "each of these 3 pairs holds a word that is unknown" in told(
        capsys, "evaluate", run, *own, "--known")


def test_evaluate_elsewhere(run, capsys, tmp_path):
    for arguments, label, pairs in ((["--split", "valid", "--pairs", "7"], "copy", 7),
                                    (["--corpus", "reverse", "--pairs", "9"], "reverse", 9)):
        assert main(["evaluate", run, "--json", *arguments]) == 0
        figures = json.loads(capsys.readouterr().out)
        assert (figures["corpus"], figures["pairs"]) == (label, pairs)
    (tmp_path / "a").write_text("1 2\n3 4 5 6\n")
    files = ["--source", str(tmp_path / "a"), "--target", str(tmp_path / "a")]
    assert main(["evaluate", run, "--json", *files]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["pairs"], figures["tokens"], figures["split"]) == (2, 8, None)
    assert "pointing" not in figures
    assert main(["evaluate", run, "--json", *files, "--max-length", "3"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 1
    assert main(["evaluate", run, "--json", *files, "--pairs", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 3
    assert "at most 1 tokens" in told(capsys, "evaluate", run, *files, "--max-length", "1")
    assert "both" in told(capsys, "evaluate", run, "--source", "a")
    assert "both" in told(capsys, "evaluate", run, *files, "--split", "test")
    assert "verses" in told(capsys, "evaluate", run, "--part", "verses")
    assert "is text, not parallel" in told(capsys, "evaluate", run, "--corpus", "ptb")


def test_what_is_measured():
    own = {"name": "bible-en-es", "part": "clauses", "max_length": 7}

    def measured(words="", own=own):
        return corpus_to_measure_on(parse(["evaluate", "run", *words.split()])[1], own)

    assert measured() == own and measured("--pairs 3") == own | {"count": 3}
    # other lengths than the clauses'
    assert measured("--part verses") == {"name": "bible-en-es", "part": "verses"}
    assert measured("--corpus bible-en-es --max-length 9") == own | {"max_length": 9}
    raw = {"name": "multi30k-en-fr", "part": "raw"}
    assert measured("--corpus multi30k-en-fr --part raw") == raw
    with pytest.raises(ValueError, match="learnt from files"):
        measured("--part verses", {"source": "a"})


@pytest.mark.parametrize("words", ["--max-length 4", "--pairs 60"])
def test_own_text_is_measured_on_what_was_held_out(words, tmp_path):
    (tmp_path / "a").write_text("".join(f"{'x ' * (i % 7)}{i}\n" for i in range(300)))
    own = UserPairs(tmp_path / "a", tmp_path / "a")
    corpus = own.saved()
    learnt, held_out = own.load("train", "valid")
    _, options = parse(["evaluate", "run", *words.split()])
    measured, split = part_of(selected(corpus_to_measure_on(options, corpus)))
    assert split == "valid" and measured and set(measured) <= set(held_out)
    assert {pair.source for pair in learnt}.isdisjoint(pair.source for pair in measured)


def test_heatmap(run, capsys, tmp_path):
    first = tmp_path / "first.svg"
    second = tmp_path / "second.svg"
    assert main(["heatmap", run, "--index", "2", "--output", str(first)]) == 0
    source, target, _ = capsys.readouterr().out.splitlines()
    assert source == target and "sure link" in first.read_text()
    assert main(["heatmap", run, source, target, "--output", str(second)]) == 0
    assert "sure link" not in second.read_text()
    third = ["--output", str(tmp_path / "third.png")]
    for arguments, message in (("--index 120", "numbered from 0"), ("3", "source and a target"),
                               ("3 1 --index 0", "without"), ("3 1 --split test", "without"),
                               ("3 4 5", "3 sentence(s)")):
        assert message in told(capsys, "heatmap", run, *arguments.split(), *third)
    assert "empty sentence" in told(capsys, "heatmap", run, "", "3", *third)
    nowhere = ["--output", str(tmp_path / "no" / "third.png")]
    assert "no folder" in told(capsys, "heatmap", run, "3", "3", *nowhere)
    assert not (tmp_path / "third.png").exists()


def test_characters(tmp_path, capsys):
    """The dates' words are characters: they are cut and joined so, spaces among them."""
    folder = str(tmp_path / "dates")
    assert main(["train", "--corpus", "dates", "--pairs", "40", *SMALL, "--run", folder]) == 0
    capsys.readouterr()
    assert main(["translate", folder, "20 10 2011"]) == 0
    out, error = capsys.readouterr()
    assert error == "" and " " not in out.strip()
    (tmp_path / "a").write_text("3 May\n")
    (tmp_path / "b").write_text("05-03\n")
    files = ["--source", str(tmp_path / "a"), "--target", str(tmp_path / "b")]
    assert main(["evaluate", folder, "--json", *files]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 6
