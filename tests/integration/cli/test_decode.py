"""numpy-attention translate and generate."""

import io
import re
import sys

import numpy as np
import pytest
from cli_runs import COPY, SMALL, failure, run_quietly

from numpy_attention import plotting
from numpy_attention.cli.main import main
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun, Word
from numpy_attention.experiments.runs.translator import Translation, Translator


@pytest.fixture(autouse=True)
def among_the_runs(runs, monkeypatch):
    monkeypatch.chdir(runs)


def typed(monkeypatch, text):
    data = text if isinstance(text, bytes) else text.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="ascii"))


# ---- translate ----------------------------------------------------------------------------------


def test_translate(capsys, tmp_path):
    picture = tmp_path / "weights.png"
    assert main(["translate", "copy", "3 1 4", "5 5", "--beam", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["translate", "copy", "3 1 77", "--heatmap", str(picture)]) == 0
    out, error = capsys.readouterr()
    assert len(out.splitlines()) == 1 and "read as <unk>: 77\n" in error
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert "got 2 sentences; --heatmap plots only one" in failure(
        capsys, "translate", "copy", "3", "4", "--heatmap", picture)


def test_translate_all(capsys):
    words = ["--beam", "3", "--length-penalty", "0"]
    assert main(["translate", "copy", "3 1 4", "--all", *words]) == 0
    form = re.compile(r" *(\S+)  log p +(\S+) +(\d+) words(?:, cut off)?  (.*)")
    lines = [form.fullmatch(line) for line in capsys.readouterr().out.splitlines()]
    scores = [float(line[1]) for line in lines]
    assert len(lines) == 3 and scores == sorted(scores, reverse=True)
    assert all(line[1] == line[2] for line in lines)                        # penalty 0: log p
    assert all(len(line[4].split()) == int(line[3]) for line in lines)
    assert main(["translate", "copy", "3 1 4", *words]) == 0
    assert capsys.readouterr().out.strip() == lines[0][4]


def test_options_are_passed_to_the_search(monkeypatch):
    seen = []

    def translate(self, *rest):
        seen.append(rest)
        return [Translation(["3", "1"], ["1"], -1.0, np.ones((2, 3)) / 3, -0.5)]

    monkeypatch.setattr(Translator, "translate", translate)
    words = ["--beam", "4", "--length-penalty", "0.5"]
    assert main(["translate", "copy", "3 1", *words]) == 0
    assert seen == [([["3", "1"]], 4, 0.5)]


def test_lines_of_standard_input(capsys, monkeypatch):
    typed(monkeypatch, "3 1 4\n2\u20281\n")
    assert main(["translate", "copy", "--beam", "1"]) == 0
    assert len(capsys.readouterr().out.split("\n")) == 3
    typed(monkeypatch, "\n \n")
    assert "no sentence to translate" in failure(capsys, "translate", "copy")
    typed(monkeypatch, "\ufeff3 1 4\n\ufeff2\n")
    assert main(["translate", "copy", "\ufeff3", "--beam", "1"]) == 0
    assert main(["translate", "copy", "--beam", "1"]) == 0
    assert "unk" not in capsys.readouterr().err
    typed(monkeypatch, b"3 1\n\xe9")
    assert "the standard input, line 2: byte 1 (0xe9)" in failure(capsys, "translate", "copy")
    assert "this text, line 1: byte 4 (0xe9)" in failure(capsys, "translate", "copy", "3 1\udce9")


def test_many_unknown_words_are_counted(capsys, monkeypatch):
    typed(monkeypatch, "".join(f"word{n} 3\n" for n in range(1000)))
    assert main(["translate", "copy", "--beam", "1"]) == 0
    out, error = capsys.readouterr()
    assert len(out.splitlines()) == 1000
    assert error == ("numpy-attention: words not in the run's vocabulary are read as <unk>: "
                     + ", ".join(f"word{n}" for n in range(10)) + " and 990 more\n")


def test_output_lines_correspond_to_input_lines(capsys, monkeypatch):
    """An empty line gives an empty line; --all separates sentences by an empty line."""
    def made(sentence, finished=True):
        return Translation(sentence, sentence[::-1], -1.0, np.ones((2, 3)) / 3, -0.5, finished)

    monkeypatch.setattr(Translator, "translate",
                        lambda self, sentences, *rest: [made(one) for one in sentences])
    monkeypatch.setattr(Translator, "hypotheses",
                        lambda self, sentence, *rest: [made(sentence), made(sentence, False)])
    found = []
    for words in ((), ("--all",)):
        typed(monkeypatch, "3 1 4\n\n2\n")
        assert main(["translate", "copy", *words]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == "4 1 3\n\n2\n"
    lines = [line.partition("words")[2] for line in found[1].split("\n")]
    assert lines == ["  4 1 3", ", cut off  4 1 3", "", "", "", "  2", ", cut off  2", ""]


def test_samples_depend_on_the_seed(capsys):
    outputs = []
    for seed in ("1", "1", "2"):
        assert main(["translate", "copy", "4 5 6", "--sample", "--seed", seed]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]


def test_replace_unknown(capsys, tmp_path, monkeypatch):
    run_quietly(*COPY, "--model", "encoder-decoder", "--epochs", "1", "--run", tmp_path / "fixed")
    assert "this run's model has no attention" in failure(
        capsys, "translate", tmp_path / "fixed", "3", "--replace-unknown")
    weights = np.array([[0.2, 0.7, 0.1], [0.1, 0.4, 0.5], [0, 0, 1.0]])
    found = Translation(["3", "zebra"], ["<unk>", "c"], -1.0, weights, -0.5)
    monkeypatch.setattr(Translator, "translate", lambda self, *rest: [found])
    for words, line in ((["--replace-unknown"], "zebra c\n"), ([], "<unk> c\n")):
        assert main(["translate", "copy", "3 zebra", *words]) == 0
        assert capsys.readouterr().out == line


def test_character_model(tmp_path, capsys):
    """Words of the dates corpus are characters; spaces are tokens too."""
    folder = str(tmp_path / "dates")
    run_quietly("train", "--corpus", "dates", "--pairs", "40", *SMALL, "--run", folder)
    assert main(["translate", folder, "20 10 2011"]) == 0
    out, error = capsys.readouterr()
    assert error == "" and " " not in out.strip()


# ---- generate -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "ngram", "sentences", "attentive", "letters"])
def test_same_seed_generates_same_text(name, capsys):
    texts = []
    command = ["generate", name, "--prompt", "red green", "--length", "30"]
    likeliest = "--temperature 0"
    for choice in ("--seed 1", "--seed 1", "--seed 2", likeliest, likeliest + " --seed 9"):
        assert main([*command, *choice.split()]) == 0
        out, error = capsys.readouterr()
        assert out.startswith("red green") and out.endswith("\n") and error == ""
        texts.append(out)
    assert texts[0] == texts[1] != texts[2] and texts[3] == texts[4]
    if name != "letters":
        assert set(texts[0].split()) <= {"red", "green", "blue", "it's", "."}


def test_generate_matches_the_library(capsys):
    settings = dict(length=40, temperature=0.7, top_k=4, top_p=0.9, unknown=True, sentences=3)
    words = LanguageModelRun.load("plain").generate(
        np.random.default_rng(7), ["red", "."], **settings)
    tokens = ["" if word.token == "</s>" else word.token for word in words]
    options = ("--length 40 --temperature 0.7 --top-k 4 --top-p 0.9 --unknown --sentences 3 "
               "--seed 7").split()
    assert main(["generate", "plain", "--prompt", "red .", *options]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") <= 3 + (not out.endswith("\n"))
    assert out.split() == ["red", ".", *filter(None, tokens)]
    assert not any(line.startswith(" ") or line.endswith(" ") for line in out.splitlines())


def test_each_word_is_flushed_before_the_next_is_generated(monkeypatch):
    class Terminal(io.StringIO):
        """Shows written text only when it is flushed."""
        screen = ""

        def flush(self):
            self.screen = self.getvalue()

    screens = []
    terminal = Terminal()

    def generate(self, *arguments):
        for token in ("red", "</s>", "blue"):
            screens.append(terminal.screen)
            yield Word(token, -1.0, None)

    monkeypatch.setattr(LanguageModelRun, "generate", generate)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["generate", "plain", "--prompt", "it's"]) == 0
    assert screens == ["it's", "it's red", "it's red\n"] and terminal.screen == "it's red\nblue\n"


def test_unknown_words_and_case_of_a_prompt(capsys):
    assert main(["generate", "plain", "--prompt", "red Magenta", "--length", "2"]) == 0
    assert "read as <unk>: Magenta\n" in capsys.readouterr().err
    assert main(["generate", "plain", "--prompt", "RED", "--length", "2", "--lowercase"]) == 0
    out, error = capsys.readouterr()
    assert error == "" and out.startswith("red ")


@pytest.mark.parametrize("name, prompt", [
    ("attentive", "red green"), ("attentive", ""), ("letters", "re"), ("sentences", ""),
    ("single --ensemble single", "red")])
def test_heatmap_of_generated_text(name, prompt, tmp_path, capsys, monkeypatch):
    calls = []
    draw = plotting.history_heatmap

    def seen_drawing(*rest):
        calls.append(rest)
        return draw(*rest)

    monkeypatch.setattr(plotting, "history_heatmap", seen_drawing)
    picture = tmp_path / "attended.png"
    command = ["generate", *name.split(), "--length", "12", "--prompt", prompt, "--heatmap"]
    assert main([*command, str(picture)]) == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert capsys.readouterr().err == f"saved {picture}\n"
    (weights, read, written, visible), = calls
    prompt = list(prompt) if name == "letters" else prompt.split()
    assert read == ["</s>", *prompt, *written[:-1]]
    assert weights.shape == visible.shape == (len(written), len(read))
    # each word attends only to earlier ones
    assert not visible[np.triu_indices(len(written), len(prompt), len(read))].any()
    np.testing.assert_allclose(weights.sum(1)[visible.any(1)], 1, atol=1e-5)
    if name == "attentive":
        assert visible.sum(1).tolist() == [min(3, len(prompt) + t) for t in range(len(written))]


def test_generate_errors(capsys, tmp_path):
    for name in ("plain", "ngram", "single --ensemble plain"):
        assert "no attention weights" in failure(
            capsys, "generate", *name.split(), "--heatmap", tmp_path / "a.png")
    assert "--sentences 1 cannot be used with a character model" in failure(
        capsys, "generate", "letters", "--sentences", "1")
    assert not list(tmp_path.iterdir())
