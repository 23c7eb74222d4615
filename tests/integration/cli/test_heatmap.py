"""numpy-attention heatmap, trace, step and page."""

import json
import re
import shutil
import subprocess
import sys

import custom_files
import numpy as np
import pytest
from cli_runs import failure
from small_lessons import HEAD, PLAIN, USE, written

from numpy_attention import plotting
from numpy_attention.cli.main import main
from numpy_attention.custom.kinds import custom_class
from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining


@pytest.fixture
def among(runs, monkeypatch):
    monkeypatch.chdir(runs)
    return runs


# ---- heatmap ------------------------------------------------------------------------------------


def test_heatmap_of_a_pair(among, capsys, tmp_path):
    first, second, third = (tmp_path / name for name in ("first.svg", "second.svg", "third.png"))
    assert main(["heatmap", "copy", "--index", "2", "--output", str(first)]) == 0
    source, target, _ = capsys.readouterr().out.splitlines()
    assert source == target and "sure link" in first.read_text()
    assert main(["heatmap", "copy", source, target, "--output", str(second)]) == 0
    assert "sure link" not in second.read_text()
    for words, message in ((["--index", "120"], "--index 120 is out of range; the test split"),
                           (["3"], "got 1 sentence; expected a source and a target"),
                           (["3", "4", "5"], "3 sentences"), (["", "3"], "a sentence is empty")):
        assert message in failure(capsys, "heatmap", "copy", *words, "--output", third)
    assert not third.exists()


def test_gold_links_of_user_text(among, capsys, tmp_path):
    """Links are read from files next to the pairs, by evaluate and heatmap."""
    for name, text in (("s", "1 2\n3\n"), ("t", "1 2\n3\n"), ("links", "1-1 2-2\n1p1\n")):
        (tmp_path / name).write_text(text)
    files = ["--source", tmp_path / "s", "--target", tmp_path / "t"]
    gold = [*map(str, files), "--alignments", str(tmp_path / "links")]
    assert main(["evaluate", "copy", *gold, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["links"] == {"linked": 2, "sure": 2, "possible": 1, "count_from": 1}
    assert 0 <= figures["aer"] <= 1
    picture = tmp_path / "gold.svg"
    assert main(["heatmap", "copy", *gold, "--index", "1", "--output", str(picture)]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["3", "3"]
    assert "possible link" in picture.read_text()
    for words, message in ((["--count-from", "0"], "set --count-from 1"),
                           (["--index", "2"], "s has 2 pairs, numbered from 0")):
        assert message in failure(capsys, "heatmap", "copy", *gold, *words, "--output", "x.png")


def test_heatmap_of_a_sentence(among, capsys, tmp_path):
    picture, other = tmp_path / "sentence.svg", tmp_path / "other.png"
    assert main(["heatmap", "attentive", "red Magenta", "--output", str(picture)]) == 0
    out, error = capsys.readouterr()
    assert out.startswith("red Magenta\n") and "read as <unk>: Magenta" in error
    assert "token remembered" in picture.read_text()
    third = ["--index", "2", "--split", "train", "--output", str(picture)]
    assert main(["heatmap", "sentences", *third]) == 0
    assert len(capsys.readouterr().out.splitlines()[0].split()) == 6
    for words, message in ((["plain", "red"], "no attention weights"),
                           (["attentive", "red", "blue"], "got 2 sentences; expected one"),
                           (["attentive", "--index", "5"], "valid split has 5 sentences, numbered"),
                           (["letters", "--index", "0"], "pass your own sentence")):
        assert message in failure(capsys, "heatmap", *words, "--output", other)
    assert not other.exists()


@pytest.mark.parametrize("words", [["copy", "3 1", "1 3"], ["copy"], ["single", "red green"]])
def test_heatmap_with_gradients(words, among, capsys, monkeypatch, tmp_path):
    calls = []
    draw = plotting.gradient_heatmap

    def seen(*given, **more):
        calls.append((*given, *more.values()))
        return draw(*given, **more)

    monkeypatch.setattr(plotting, "gradient_heatmap", seen)
    picture = tmp_path / "a.png"
    assert main(["heatmap", *words, "--gradients", "--output", str(picture)]) == 0
    assert f"saved {picture}" in capsys.readouterr().out and picture.stat().st_size > 5000
    (weights, gradients, sources, targets, visible), = calls
    assert weights.shape == gradients.shape == visible.shape == (len(targets), len(sources))
    assert "</s>" in targets and abs(gradients[visible]).max() > 0


# ---- trace --------------------------------------------------------------------------------------


def test_trace_of_a_translator(among, capsys):
    assert main(["trace", "copy", "3 1", "1 3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("RNNSearch, 3 1 → 1 3: L = ")
    assert "dalpha = dot_scores(dcontext, memory)" in out and "steps 0 … 2" in out
    assert main(["trace", "copy", "3 1", "1 3", "--names", "dalpha,w*", "--step", "2", "--layer",
                 "attention"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = {line.split()[1] for line in lines if line[:5].strip().isdigit()}
    assert names == {"dalpha", "weights"}
    assert main(["trace", "copy", "3 1", "1", "--depth", "0"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_trace_of_a_language_model_warns_of_unknown_words(among, capsys):
    assert main(["trace", "single", "red Magenta", "--names", "dx"]) == 0
    out, error = capsys.readouterr()
    assert out.startswith("AttentiveLanguageModel, red Magenta: L = ")
    assert "read as <unk>: Magenta" in error


@pytest.mark.parametrize("words, message", [
    ("copy", "required: SENTENCE"), ("copy 1 2 3", "got 3 sentences"),
    ("single red blue", "got 2 sentences; expected one sentence"),
    ("copy 1 2 --step 7", "nothing matches step 7; choose from 0, 1"),
    ("copy 1 2 --layer decodr", "choose from decoder"),
    ("copy 1 2 --names a,,b", "expected names such as weights,dx"),
    ("nowhere a", "no checkpoint"),
])
def test_trace_errors(words, message, among, capsys):
    assert message in failure(capsys, "trace", *words.split())


# ---- step ---------------------------------------------------------------------------------------


def test_step_through_a_lesson(capsys, here):
    written(here / "lessons", "01_small", HEAD, PLAIN, USE)
    written(here / "lessons", "02_bare", HEAD)
    assert main(["step", "1", "--steps", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("01_small.py: runs its cells up to the reference implementation\n── Plai")
    assert out.count("── Plain") == 2 and "loud" not in out
    assert main(["step", "small", "--lessons", "lessons", "--steps", "99"]) == 0
    assert capsys.readouterr().out.count("── Plain") == 6
    for words, message in (("3", "no lesson matches '3'; choose one of 01_small"),
                           ("2", "02_bare.py has no reference implementation to step through"),
                           ("1 --lessons nowhere", "the folder nowhere contains no lessons")):
        assert message in failure(capsys, "step", *words.split())


def test_step_without_a_terminal_prints_all(here):
    written(here / "lessons", "01_small", HEAD, PLAIN, USE)
    done = subprocess.run([sys.executable, "-m", "numpy_attention", "step", "1"], check=True,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.stdout.count("── Plain") == 6 and done.stderr == ""


# ---- page ---------------------------------------------------------------------------------------


def models_of(path):
    text = path.read_text("utf-8")
    found = re.search(r'<script type="application/json" id="models">(.*?)</script>', text)
    return json.loads(found[1])["models"], text


def test_page_of_runs(among, capsys, tmp_path):
    file = tmp_path / "it.html"
    assert main(["page", "copy", "luong", "-o", str(file), "--examples", "3"]) == 0
    assert re.fullmatch(rf"saved {file}: 0.\d MB, float32; open it in a browser\n",
                        capsys.readouterr().out)
    models, text = models_of(file)
    assert [(model["family"], model["title"]) for model in models] == [
        ("rnnsearch", "copy"), ("luong", "luong")]
    assert len(models[0]["examples"]) == 3 and models[0]["examples"][0]["sure"]
    assert "<title>Numbers: inside a small translator</title>" in text
    assert "<caption>copy: attention of the dec" in text
    assert main(["page", "single", "--output", str(file)]) == 0
    (model,), text = models_of(file)
    assert model["kind"] == "writer" and model["examples"][0].keys() == {"words"}
    assert "attention of each state to the states before it" in text


@pytest.mark.parametrize("precision", ["float16", "byte"])
def test_lower_precision_makes_a_smaller_page(precision, among, tmp_path):
    for name, words in (("large", []), ("small", ["--precision", precision])):
        assert main(["page", "copy", "-o", str(tmp_path / f"{name}.html"), *words]) == 0
    (model,), small = models_of(tmp_path / "small.html")
    assert precision in model["arrays"]["W_s"]
    assert len(small) < len((tmp_path / "large.html").read_text("utf-8"))


def test_earlier_checkpoints_are_named_by_their_step(among, tmp_path):
    shutil.copy("copy/checkpoint.npz", tmp_path / "first.npz")
    file = tmp_path / "it.html"
    words = ["--checkpoints", str(tmp_path / "first.npz")]
    assert main(["page", "copy", "-o", str(file), *words]) == 0
    (model,), _ = models_of(file)
    assert [one["label"] for one in model["checkpoints"]] == ["epoch 2, step 8"]


@pytest.mark.parametrize("words, message", [
    ("nowhere", "no checkpoint at nowhere"),
    ("copy single", "copy is a translator and single is a language model; pass"),
    ("copy luong --checkpoints a.npz", "are given for 2 runs; expected one run only"),
    ("copy --checkpoints a.npz", "no checkpoint at a.npz"),
    ("copy --checkpoints luong/checkpoint.npz", "belongs to another run, with a different model"),
    ("copy --checkpoints copy,copy/checkpoint.npz", "is a second checkpoint of epoch"),
    ("copy --corpus bible-en", "is a text corpus"),
    ("single --corpus copy", "is a parallel corpus"),
])
def test_page_errors_leave_no_file(words, message, among, capsys, tmp_path):
    assert message in failure(capsys, "page", *words.split(), "-o", tmp_path / "it.html")
    assert not list(tmp_path.iterdir())


def test_weights_of_custom_code_are_recorded_if_it_is_given(among, capsys, tmp_path):
    mine = custom_files.written(tmp_path)
    pairs = [Pair(("1", "2", "3"), ("1", "2", "3"))]
    settings = {"hidden": 8, "embedding": 6, "attention": custom_class(str(mine))}
    run = Translator.create(pairs, "rnnsearch", settings, TranslatorTraining(epochs=1),
                            {"name": "copy"})
    own, file = str(tmp_path / "own"), tmp_path / "it.html"
    run.fit(pairs, folder=own, progress=False)
    error = failure(capsys, "page", own, "-o", file)
    assert "which is not run without your consent" in error and "--code" in error
    assert main(["page", own, "--code", str(mine), "--examples", "2", "-o", str(file)]) == 0
    (model,), _ = models_of(file)
    assert model["custom"] == ["mine.py:Mine"] and model["arrays"] == model["parts"] == {}
    first = model["examples"][0]
    found, = run.translate([first["source"]])
    assert first["recorded"]["own"]["words"] == found.target
    np.testing.assert_allclose(first["recorded"]["own"]["weights"], found.weights, atol=1e-4)
