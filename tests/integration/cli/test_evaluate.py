"""numpy-attention evaluate, ablate and cloze."""

import json
import math

import numpy as np
import pytest
from cli_runs import COPY, LM, failure, run_quietly

from numpy_attention.cli.evaluate import corpus_to_measure
from numpy_attention.cli.main import main, parse
from numpy_attention.data.cloze import make_questions, read_questions
from numpy_attention.data.selection import selected
from numpy_attention.experiments.analysis import CHANGES, ablate, cloze_test
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.models.ensemble import Ensemble


@pytest.fixture(autouse=True)
def among_the_runs(runs, monkeypatch):
    monkeypatch.chdir(runs)


def figures_of(capsys, *words):
    """Return the JSON object that a command prints."""
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# ---- evaluate: translators ----------------------------------------------------------------------


def test_evaluate_translator(capsys):
    figures = figures_of(capsys, "evaluate", "copy", "--beam", "2")
    assert figures == figures | {"pairs": 120, "split": "test", "beam": 2, "diagonal": 1}
    assert "tok:none" in figures["bleu_signature"] and "nc:6" in figures["chrf_signature"]
    assert main(["evaluate", "copy", "--beam", "2", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    depends = figures["depends_on"]
    assert (f"depends on  parameters {depends['parameters']}, text {depends['text']}, seed 0, "
            "1 thread;\n") in out
    assert f"{depends['blas']}, {depends['processor']}\n" in out
    low, high = figures["perplexity_low"], figures["perplexity_high"]
    assert low < figures["perplexity"] < high
    assert (f"{figures['perplexity']:.2f} [{low:.2f}, {high:.2f}]   over {figures['tokens']:,} "
            "tokens") in out
    assert (f"{figures['pointing']:.3f} [{figures['pointing_low']:.3f}, "
            f"{figures['pointing_high']:.3f}]   of the sure links") in out
    assert f"[{figures['bleu_low']:.2f}, {figures['bleu_high']:.2f}]   beam 2" in out


def test_ensemble(capsys, tmp_path):
    other = str(tmp_path / "other")
    run_quietly(*COPY, "--seed", "5", "--run", other)
    words = ["evaluate", "copy", "--pairs", "30", "--beam", "2"]
    assert (figures_of(capsys, *words)["perplexity"]
            != figures_of(capsys, *words, "--ensemble", other)["perplexity"])
    assert main([*words, "--ensemble", other]) == 0
    assert "copy: ensemble of 2, the first: rnnsearch, " in capsys.readouterr().out
    assert main(["translate", "copy", "3 1 4", "--ensemble", other]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    for wrong, message in ((f"{other},{other}", "repeats"), (tmp_path / "nix", "no checkpoint")):
        assert message in failure(capsys, "evaluate", "copy", "--ensemble", wrong)
    assert "state = 'sentence'" in failure(capsys, "evaluate", "plain", "--ensemble", "sentences")


def test_evaluate_without_unknown_words(capsys, tmp_path):
    (tmp_path / "a.txt").write_text("3 1 4\n5 77\n2 2\n")
    (tmp_path / "b.txt").write_text("3 1 4\n5 6\n2 2\n")
    words = ["evaluate", "copy", "--source", str(tmp_path / "a.txt"), "--target",
             str(tmp_path / "b.txt"), "--beam", "2", "--known"]
    figures = figures_of(capsys, *words)
    assert (figures["pairs"], figures["known"]["pairs"]) == (3, 2)
    assert figures["known"]["perplexity"] != figures["perplexity"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "without unknown words: 2 pairs contain none, and <unk> is not written\n" in out
    assert out.count("  perplexity  ") == 2
    (tmp_path / "a.txt").write_text("77\n78\n79\n")
    assert "every pair contains a word that is not in" in failure(capsys, *words)


def test_evaluate_translator_on_another_corpus(capsys, tmp_path):
    for words, label, pairs in ((["--split", "valid", "--pairs", "7"], "copy", 7),
                                (["--corpus", "reverse", "--pairs", "9"], "reverse", 9)):
        figures = figures_of(capsys, "evaluate", "copy", *words)
        assert (figures["corpus"], figures["pairs"]) == (label, pairs)
    (tmp_path / "a").write_text("1 2\n3 4 5 6\n")
    files = ["--source", tmp_path / "a", "--target", tmp_path / "a"]
    figures = figures_of(capsys, "evaluate", "copy", *files)
    assert (figures["pairs"], figures["tokens"], figures["split"]) == (2, 8, None)
    assert "pointing" not in figures
    assert figures_of(capsys, "evaluate", "copy", *files, "--max-length", "3")["pairs"] == 1
    assert "at most 1 token " in failure(capsys, "evaluate", "copy", *files, "--max-length", "1")
    assert "verses" in failure(capsys, "evaluate", "copy", "--part", "verses")
    assert "is a text corpus" in failure(capsys, "evaluate", "copy", "--corpus", "ptb")


class Run:
    KIND = "translator"

    def __init__(self, corpus):
        self.corpus = corpus


def measured(words, corpus):
    return corpus_to_measure(parse(["evaluate", "run", *words.split()])[1], Run(corpus))


def test_corpus_to_measure():
    own = {"name": "bible-en-es", "part": "clauses", "max_length": 7}
    assert measured("", own) == own and measured("--pairs 3", own) == own | {"count": 3}
    # length limits of clauses do not apply to verses
    assert measured("--part verses", own) == {"name": "bible-en-es", "part": "verses"}
    assert measured("--corpus bible-en-es --max-length 9", own) == own | {"max_length": 9}
    raw = {"name": "multi30k-en-fr", "part": "raw"}
    assert measured("--corpus multi30k-en-fr --part raw", own) == raw
    with pytest.raises(ValueError, match="was trained on files"):
        measured("--part verses", {"source": "a"})


# ---- evaluate: language models ------------------------------------------------------------------

CARRIED = "state carried through the text, 1 stream, 5 words at a time"


@pytest.mark.parametrize("name, how", [
    ("plain", f"{CARRIED}\n"),
    ("sentences", "state reset at every sentence\n"),
    ("letters", "memory empty every 5 characters\n"),
    ("attentive", f"{CARRIED}; memory empty every 5 words\n"),
    ("ngram", f"{CARRIED}; memory empty every 5 words\n"),
])
def test_evaluate_language_model(name, how, capsys):
    figures = figures_of(capsys, "evaluate", name)
    assert figures["split"] == "valid" and figures["corpus"] == "own"
    assert figures["state"] == ("sentence" if name == "sentences" else "carried")
    assert figures["steps"] == (None if name == "sentences" else 5) and figures["unknown"] == 0
    assert figures["perplexity"] == pytest.approx(math.exp(figures["loss"]))
    assert main(["evaluate", name]) == 0
    out = capsys.readouterr().out
    assert how in out and ("with ngram, order 4, " in out) is (name == "ngram")
    if name == "letters":
        assert f"{figures['tokens']:,} characters" in out
        assert f"{figures['bits_per_character']:.3f}" in out
    else:
        between = f"[{figures['perplexity_low']:.2f}, {figures['perplexity_high']:.2f}]"
        assert (f"{figures['perplexity']:.2f} {between}   over {figures['tokens']:,} tokens"
                in out)
    assert ("first words of sentences counted but not predicted" in out) == (name == "sentences")


def test_evaluate_language_model_on_another_corpus(capsys, tmp_path):
    (tmp_path / "new.txt").write_text("red magenta\n\nblue\n")
    for name, tokens, unknown in (("plain", 5, 1 / 3), ("letters", 18, 3 / 18)):
        figures = figures_of(capsys, "evaluate", name, "--text", tmp_path / "new.txt")
        assert (figures["corpus"], figures["split"], figures["tokens"]) == ("new.txt", None, tokens)
        assert figures["unknown"] == pytest.approx(unknown)
    assert figures_of(capsys, "evaluate", "plain", "--split", "train")["tokens"] == 95 * 7
    figures = figures_of(capsys, "evaluate", "sentences", "--corpus", "bible-en")
    assert figures["corpus"] == "bible-en"
    assert "no 'test' split" in failure(capsys, "evaluate", "plain", "--split", "test")
    assert "is a parallel corpus" in failure(capsys, "evaluate", "plain", "--corpus", "copy")


# ---- ablate -------------------------------------------------------------------------------------


def test_ablate_translator(capsys, tmp_path):
    picture = tmp_path / "a.png"
    assert main(["ablate", "copy", "--pairs", "40", "--output", str(picture)]) == 0
    out = capsys.readouterr().out
    translator = Translator.load("copy")
    pairs = selected(translator.corpus | {"count": 40}).load("test")[0]
    found = ablate(translator.model, translator.batches(pairs), np.random.default_rng(0))
    assert f"copy, test: 40 pairs; {found.tokens} tokens, {found.loss:.3f} nats each\n" in out
    for change, what in CHANGES.items():
        more = found.cost(change).more
        assert f"  {change}: {what}\n" in out
        assert f"{more.mean:+.3f} ({more.low:+.3f} to {more.high:+.3f})\n" in out
    assert out.endswith(found.verdict() + "\n")
    assert picture.stat().st_size > 5000


def test_ablate_language_model(runs, capsys):
    figures = figures_of(capsys, "ablate", "attentive", "--split", "valid", "--seed", "3")
    writer = LanguageModelRun.load("attentive")
    text = selected(writer.corpus).load("valid")[0]
    found = ablate(writer.model, writer.batches(text), np.random.default_rng(3))
    assert (figures["run"], figures["split"], figures["tokens"]) == (
        "attentive", "valid", found.tokens)
    assert figures["loss"] == found.loss and figures["alive"] is found.alive
    assert [one["more"]["low"] for one in figures["costs"]] == [one.more.low for one in found.costs]
    assert main(["ablate", "attentive", "--text", "own.txt"]) == 0
    out = capsys.readouterr().out
    assert "own.txt: state carried through the text, 4 streams, 5 words at a time" in out
    assert out.count("    1 to 5 ago ") == len(CHANGES)
    assert "has no attention to change" in failure(capsys, "ablate", "plain")


# ---- cloze --------------------------------------------------------------------------------------

LETTERS = "abcdefghijklmno"
WORDS = [a + b for a in LETTERS for b in LETTERS]


@pytest.fixture(scope="module")
def many_words(tmp_path_factory):
    """Language models of a text with enough different words for questions."""
    folder = tmp_path_factory.mktemp("cloze")
    rng = np.random.default_rng(1)
    own = folder / "own.txt"
    own.write_text("".join(" ".join(rng.choice(WORDS, 9)) + " .\n" for _ in range(200)))
    (folder / "valid.txt").write_text("".join(own.read_text().splitlines(True)[:60]))
    learn = ["train", "lm", *LM, own, "--valid-text", folder / "valid.txt", "--epochs", "1"]
    for name, words in (("words", "--attention single --steps 7"),
                        ("sentences", "--state sentence --lowercase")):
        run_quietly(*learn, *words.split(), "--run", folder / name)
    return folder


def expected(run, count, seed, split="valid"):
    """Return the questions as the command builds them, and the library's result."""
    writer = LanguageModelRun.load(run)
    rng = np.random.default_rng(seed)
    text = selected(writer.corpus).load(split)[0]
    questions = make_questions(text, writer.vocabulary, count, rng)
    return questions, cloze_test(writer.model, writer.vocabulary, questions, rng,
                                 writer.training.state, writer.training.steps)


def test_questions_from_the_text_of_the_run(many_words, capsys, monkeypatch):
    monkeypatch.chdir(many_words)
    assert main(["cloze", "words", "--number", "30", "--seed", "3", "--show", "2"]) == 0
    out = capsys.readouterr().out
    questions, found = expected("words", 30, 3)
    assert "words: lstm of 1 × 6 with single, " in out
    assert ("own, valid: state carried through the text, 1 stream, 7 words at a time; memory empty "
            "every 7 words\n  30 questions; 0.0 % of the answers are <unk>\n") in out
    for name, accuracy in {"accuracy": found.accuracy, **found.others}.items():
        assert f"  {name:<25} {accuracy}\n" in out
    assert "  chance                    0.100\n" in out
    assert f"  gain from the context    {found.gain.mean:+.3f} ({found.gain.low:+.3f} to" in out
    tables = out.split("\n\n")[1:]
    assert len(tables) == 2
    for text, question, log_p in zip(tables, questions, found.log_p):
        query, answer, ranked = text.splitlines()
        assert query == f"  {' '.join(question.filled('_____'))}"
        assert answer == f"    answer: {question.word}"
        best = log_p.argmax()
        assert ranked.startswith(f"    log p: {question.candidates[best]} {log_p[best]:.2f}, ")
        assert ranked.count(",") == 9


def test_questions_written_and_read(many_words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(many_words)
    file = tmp_path / "made.txt"
    words = ["cloze", "words", "--number", "12", "--split", "train"]
    figures = figures_of(capsys, *words, "--write", file)
    questions, found = expected("words", 12, 0, "train")
    assert read_questions(file) == questions
    assert (figures["corpus"], figures["split"]) == ("own", "train")
    assert (figures["state"], figures["steps"], figures["seed"]) == ("carried", 7, 0)
    assert figures["accuracy"] == found.accuracy._asdict()
    assert figures["others"] == {name: one._asdict() for name, one in found.others.items()}
    again = figures_of(capsys, "cloze", "words", "--questions", file)
    assert (again["corpus"], again["split"]) == ("made.txt", None)
    assert again["accuracy"]["mean"] == figures["accuracy"]["mean"]
    assert again["depends_on"] == figures["depends_on"]
    for word in ("--number 3", "--corpus ptb", "--split test", "--write b.txt"):
        assert f"{word.split()[0]} has no effect with --questions" in failure(
            capsys, "cloze", "words", "--questions", file, *word.split())
    assert "made.txt" in failure(capsys, *words, "--write", f"{file}/a.txt")
    assert "but this text has" in failure(capsys, "cloze", "words", "--number", "9999")


def test_file_is_lowercased_like_the_text_of_the_run(many_words, capsys, tmp_path, monkeypatch):
    """AB is unknown to a run with lowercase letters, unless it is lowercased first."""
    monkeypatch.chdir(many_words)
    file = tmp_path / "upper.txt"
    file.write_text("1 AB ac\n2 XXXXX\tAB\t\tAB|ac|AD\n")
    for name, words, unknown in (("words", [], 1), ("words", ["--lowercase"], 0),
                                 ("sentences", [], 0), ("sentences", ["--no-lowercase"], 1)):
        figures = figures_of(capsys, "cloze", name, "--questions", file, *words)
        assert figures["unknown"] == unknown


def test_cloze_of_an_ensemble_and_of_sentences(many_words, capsys, monkeypatch):
    monkeypatch.chdir(many_words)
    figures = figures_of(capsys, "cloze", "sentences", "--number", "5")
    assert figures["steps"] is None and figures["gain"]["mean"] == 0
    assert main(["cloze", "words", "--ensemble", "./words", "--number", "9"]) == 0
    out = capsys.readouterr().out
    writer = LanguageModelRun.load("words")
    rng = np.random.default_rng(0)
    text = selected(writer.corpus).load("valid")[0]
    questions = make_questions(text, writer.vocabulary, 9, rng)
    model = Ensemble([writer.model, writer.model])
    found = cloze_test(model, writer.vocabulary, questions, rng, "carried", 7)
    assert f"  accuracy                  {found.accuracy}\n" in out
    assert "words: ensemble of 2, the first: lstm" in out


def test_character_models_have_no_questions(capsys):
    assert "letters was trained on characters, but a cloze question leaves out a word" in failure(
        capsys, "cloze", "letters")
