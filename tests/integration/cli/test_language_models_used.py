"""What is done with a language model's run: generate, evaluate, heatmap."""

import contextlib
import io
import json
import math
import sys

import numpy as np
import pytest
from cli_runs import COPY, told

from numpy_attention import plotting
from numpy_attention.cli.main import main
from numpy_attention.experiments.runs.writer import Word, LanguageModelRun

TINY = "--embedding 6 --batch-size 4 --epochs 4 --learning-rate 0.01 --threads 1"
MODELS = {
    "plain": "--steps 5",
    "ngram": "--steps 5 --attention ngram",
    "sentences": "--attention single --state sentence",
    "attentive": "--steps 5 --attention key-value --window 3",
    "letters": "--steps 5 --attention combined --characters",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{name: folder} of a run of each of MODELS, and of a translator, on a text of 60 lines."""
    folder = tmp_path_factory.mktemp("runs")
    words = ["red", "green", "blue", "it's"]
    rng = np.random.default_rng(1)
    lines = [" ".join(words[k] for k in rng.integers(4, size=5)) + " .\n" for _ in range(60)]
    (folder / "own.txt").write_text("".join(lines))
    command = ["train", "lm", "--text", str(folder / "own.txt"), *TINY.split()]
    for name, options in MODELS.items():
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert main([*command, *options.split(), "--run", str(folder / name)]) == 0
    assert main([*COPY, "--run", str(folder / "translator")]) == 0
    return {name: str(folder / name) for name in (*MODELS, "translator", "own.txt")}


# ---- generate -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_writes_the_same_text(runs, name, capsys):
    texts = []
    command = ["generate", runs[name], "--prompt", "red green", "--length", "30"]
    likeliest = "--temperature 0"
    for choice in ("--seed 1", "--seed 1", "--seed 2", likeliest, likeliest + " --seed 9"):
        assert main([*command, *choice.split()]) == 0
        out, error = capsys.readouterr()
        assert out.startswith("red green") and out.endswith("\n") and error == ""
        texts.append(out)
    assert texts[0] == texts[1] != texts[2] and texts[3] == texts[4]
    if name != "letters":
        assert "</s>" not in texts[0]
        assert set(texts[0].split()) <= {"red", "green", "blue", "it's", "."}


def test_it_writes_what_the_library_writes(runs, capsys):
    settings = dict(length=40, temperature=0.7, top_k=4, top_p=0.9, unknown=True, sentences=3)
    words = LanguageModelRun.load(runs["plain"]).generate(np.random.default_rng(7), ["red", "."], **settings)
    tokens = ["" if word.token == "</s>" else word.token for word in words]
    given = ("--length 40 --temperature 0.7 --top-k 4 --top-p 0.9 --unknown --sentences 3 "
             "--seed 7").split()
    assert main(["generate", runs["plain"], "--prompt", "red .", *given]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") <= 3 + (not out.endswith("\n"))
    assert out.split() == ["red", ".", *filter(None, tokens)]
    assert not any(line.startswith(" ") or line.endswith(" ") for line in out.splitlines())


def test_each_word_is_shown_before_the_next_is_chosen(runs, monkeypatch):
    class Terminal(io.StringIO):
        """Shows what was written when it is flushed, not before."""
        screen = ""

        def flush(self):
            self.screen = self.getvalue()

    shown = []
    terminal = Terminal()

    def generate(self, *arguments):
        for token in ("red", "</s>", "blue"):
            shown.append(terminal.screen)
            yield Word(token, -1.0, None)

    monkeypatch.setattr(LanguageModelRun, "generate", generate)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["generate", runs["plain"], "--prompt", "it's"]) == 0
    assert shown == ["it's", "it's red", "it's red\n"] and terminal.screen == "it's red\nblue\n"


def test_unknown_words_of_a_prompt_are_told(runs, capsys):
    assert main(["generate", runs["plain"], "--prompt", "red Magenta", "--length", "2"]) == 0
    assert "read as <unk>: Magenta\n" in capsys.readouterr().err
    assert main(["generate", runs["plain"], "--prompt", "RED", "--length", "2", "--lowercase"]) == 0
    out, error = capsys.readouterr()
    assert error == "" and out.startswith("red ")


@pytest.mark.parametrize("name, arguments", [
    ("attentive", ["--prompt", "red green"]),
    ("attentive", []),
    ("letters", ["--prompt", "re"]),
    ("sentences", []),
    ("attentive", ["--length", "1"]),
])
def test_heatmap_of_what_was_written(runs, name, arguments, tmp_path, capsys, monkeypatch):
    drawn = []
    draw = plotting.history_heatmap

    def seen_drawing(*rest):
        drawn.append(rest)
        return draw(*rest)

    monkeypatch.setattr(plotting, "history_heatmap", seen_drawing)
    picture = tmp_path / "looked.png"
    command = ["generate", runs[name], "--length", "12", *arguments]
    assert main([*command, "--heatmap", str(picture)]) == 0
    out, error = capsys.readouterr()
    assert picture.read_bytes()[:4] == b"\x89PNG" and error == f"saved {picture}\n"
    (weights, read, written, visible), = drawn
    prompt = []
    if "--prompt" in arguments:
        prompt = list("re") if name == "letters" else ["red", "green"]
    assert read == ["</s>", *prompt, *written[:-1]]
    assert weights.shape == visible.shape == (len(written), len(read))
    # nothing that was not yet there
    assert not visible[np.triu_indices(len(written), len(prompt), len(read))].any()
    seen = visible.any(1)
    np.testing.assert_allclose(weights.sum(1)[seen], 1, atol=1e-5)
    if name == "attentive":
        assert visible.sum(1).tolist() == [min(3, len(prompt) + t) for t in range(len(written))]


def test_generate_refuses(runs, capsys, tmp_path):
    for name in ("plain", "ngram"):
        assert "no attention weights" in told(
            capsys, "generate", runs[name], "--heatmap", str(tmp_path / "a.png"))
    for arguments, message in (
            ("--temperature -1", "at least 0"),
            ("--temperature nan", "at least 0"),
            ("--top-k 0", "at least 1"),
            ("--top-p 0", "above 0"),
            ("--top-p 1.5", "at most 1"),
            ("--length 0", "at least 1"),
            ("--heatmap a.txt", ".svg"),
            ("--heatmap no/a.png", "no folder")):
        assert message in told(capsys, "generate", runs["attentive"], *arguments.split())
    assert "--sentences is given, but a model of characters" in told(
        capsys, "generate", runs["letters"], "--sentences", "1")
    assert "no checkpoint" in told(capsys, "generate", "nowhere")
    translator = runs["translator"]
    assert f"numpy-attention translate {translator}" in told(capsys, "generate", translator)
    assert f"numpy-attention generate {runs['plain']}" in told(
        capsys, "translate", runs["plain"], "red")
    assert not list(tmp_path.iterdir())


# ---- evaluate, heatmap --------------------------------------------------------------------------


CARRIED = "state carried through the text, 1 stream, 5 words at a time"


@pytest.mark.parametrize("name, how, tokens", [
    ("plain", f"{CARRIED}\n", 21),
    ("sentences", "state reset at every sentence\n", 21),
    ("letters", "memory empty every 5 characters\n", None),
    ("attentive", f"{CARRIED}; memory empty every 5 words\n", 21),
])
def test_evaluate(runs, name, how, tokens, capsys):
    assert main(["evaluate", runs[name], "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["split"] == "valid" and figures["corpus"] == "own"
    assert tokens in (None, figures["tokens"])
    assert figures["state"] == ("sentence" if name == "sentences" else "carried")
    assert figures["steps"] == (None if name == "sentences" else 5) and figures["unknown"] == 0
    assert figures["perplexity"] == pytest.approx(math.exp(figures["loss"]))
    depends = figures["depends_on"]
    assert main(["evaluate", runs[name]]) == 0
    out = capsys.readouterr().out
    assert how in out
    assert f"depends on  parameters {depends['parameters']}, text {depends['text']}, seed 0" in out
    if name == "letters":
        assert f"{figures['tokens']:,} characters" in out
        assert f"{figures['bits_per_character']:.3f}" in out
    else:
        assert f"{figures['tokens']:,} tokens" in out
        between = f"[{figures['perplexity_low']:.2f}, {figures['perplexity_high']:.2f}]"
        assert f"{figures['perplexity']:.2f} {between}   over" in out
    assert ("first words of sentences are counted and not predicted" in out) == (
        name == "sentences")
    if name == "sentences":
        between = (f"[{figures['perplexity_flattered_low']:.2f}, "
                   f"{figures['perplexity_flattered_high']:.2f}]")
        assert f" {figures['perplexity_skip_first']:.2f} {between}   where first words" in out


def test_evaluate_elsewhere(runs, capsys, tmp_path):
    (tmp_path / "new.txt").write_text("red magenta\n\nblue\n")
    for name, tokens, unknown in (("plain", 5, 1 / 3), ("letters", 18, 3 / 18)):
        assert main(["evaluate", runs[name], "--json", "--text", str(tmp_path / "new.txt")]) == 0
        figures = json.loads(capsys.readouterr().out)
        assert (figures["corpus"], figures["split"], figures["tokens"]) == ("new.txt", None, tokens)
        assert figures["unknown"] == pytest.approx(unknown)
    assert main(["evaluate", runs["plain"], "--split", "train", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 57 * 7
    assert main(["evaluate", runs["sentences"], "--corpus", "bible-en", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["corpus"] == "bible-en"
    assert main(["evaluate", runs["ngram"], "--text", str(tmp_path / "new.txt")]) == 0
    assert "with ngram, order 4, " in capsys.readouterr().out
    for arguments, message in (
            ("--split test", "no 'test' split"),
            ("--text nowhere", "does not exist"),
            ("--text own.txt --split valid", "leave --corpus and --split out"),
            ("--beam 3", "--beam is given, but this run is a language model's: leave it out"),
            ("--pairs 3", "--pairs is given"),
            ("--part verses", "--part is given"),
            ("--max-length 3", "--max-length is given"),
            ("--source a --target b", "--source is given"),
            ("--corpus copy", "is parallel, not text")):
        assert message in told(capsys, "evaluate", runs["plain"], *arguments.split())
    assert "--text is given, but a translator's" in told(
        capsys, "evaluate", runs["translator"], "--text", "own.txt")


def test_heatmap(runs, capsys, tmp_path):
    picture = tmp_path / "sentence.svg"
    assert main(["heatmap", runs["attentive"], "red Magenta", "--output", str(picture)]) == 0
    out, error = capsys.readouterr()
    assert out.startswith("red Magenta\n") and "read as <unk>: Magenta" in error
    assert "token remembered" in picture.read_text()
    third = ["--index", "2", "--split", "train", "--output", str(picture)]
    assert main(["heatmap", runs["sentences"], *third]) == 0
    assert len(capsys.readouterr().out.splitlines()[0].split()) == 6
    other = ["--output", str(tmp_path / "other.png")]
    for name, arguments, message in (
            ("plain", ["red"], "no attention weights"),
            ("attentive", ["red", "blue"], "2 sentence(s) given"),
            ("attentive", ["red", "--index", "0"], "without --index and --split"),
            ("attentive", [""], "an empty sentence"),
            ("attentive", ["--index", "3"], "valid has 3 sentences, numbered from 0"),
            ("letters", ["--index", "0"], "give one of your own")):
        assert message in told(capsys, "heatmap", runs[name], *arguments, *other)
    assert not (tmp_path / "other.png").exists()


def test_several_runs_as_one(runs, capsys):
    assert main(["evaluate", runs["plain"], "--together-with", runs["attentive"]]) == 0
    out = capsys.readouterr().out
    assert f"{runs['plain']}: ensemble of 2, the first: lstm of 1 × 6, " in out
    assert main(["generate", runs["plain"], "--together-with", runs["attentive"], "--length",
                 "6"]) == 0
    assert 0 < len(capsys.readouterr().out.split()) <= 6
    assert "has state 'sentence'" in told(
        capsys, "evaluate", runs["plain"], "--together-with", runs["sentences"])
