"""`numpy-attention page`: a run as one file in which it runs, and what is refused."""

import json
import re
import shutil

import pytest
from cli_runs import COPY, SMALL, told

from numpy_attention.cli import page
from numpy_attention.cli.main import main
from numpy_attention.data.pairs import Pair

LM = ["train", "lm", "--text", "novel.txt", "--attention", "combined", *SMALL, "--batch-size", "4",
      "--steps", "5"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with two translators' runs and a writer's."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "novel.txt").write_text("the end of the day\nthe day of the end\n" * 30)
        assert main([*COPY, "--run", "copy"]) == 0
        assert main([*COPY, "--model", "luong", "--run", "luong"]) == 0
        assert main([*LM, "--run", "lm"]) == 0
    return folder


@pytest.fixture(autouse=True)
def here(runs, monkeypatch):
    monkeypatch.chdir(runs)
    yield
    for path in runs.glob("*.html"):
        path.unlink()


def models_of(path):
    found = re.search(r'<script type="application/json" id="models">(.*?)</script>',
                      path.read_text("utf-8"))
    return json.loads(found[1])["models"]


def written(folder):
    return [path.name for path in folder.iterdir() if "html" in path.name]


def test_a_run_becomes_a_page(runs, capsys):
    assert main(["page", "copy", "-o", "it.html", "--examples", "3"]) == 0
    assert re.fullmatch(r"saved it.html: 0.\d MB, float32; open it in a browser\n",
                        capsys.readouterr().out)
    model, = models_of(runs / "it.html")
    assert (model["kind"], model["family"], model["title"]) == ("translator", "rnnsearch", "copy")
    assert len(model["examples"]) == 3 and model["examples"][0]["sure"]
    assert model["text"] == {"cut": "spaces", "lowercase": True}
    text = (runs / "it.html").read_text("utf-8")
    assert "gold link" in text and "<caption>copy: what the decoder looks at" in text


def test_several_runs_stand_side_by_side(runs):
    assert main(["page", "copy", "luong", "--output", "it.html"]) == 0
    assert [model["family"] for model in models_of(runs / "it.html")] == ["rnnsearch", "luong"]
    assert "<title>copy | luong</title>" in (runs / "it.html").read_text("utf-8")


def test_a_language_model_has_sentences_and_its_look_back(runs):
    assert main(["page", "lm", "-o", "it.html"]) == 0
    model, = models_of(runs / "it.html")
    assert model["kind"] == "writer" and model["examples"][0].keys() == {"words"}
    assert "what each state looks back at" in (runs / "it.html").read_text("utf-8")


@pytest.mark.parametrize("precision", ["float16", "byte"])
def test_a_smaller_precision_makes_a_smaller_page(runs, precision):
    assert main(["page", "copy", "-o", "large.html"]) == 0
    assert main(["page", "copy", "-o", "it.html", "--precision", precision]) == 0
    model, = models_of(runs / "it.html")
    assert precision in model["arrays"]["W_s"]
    assert (runs / "it.html").stat().st_size < (runs / "large.html").stat().st_size


def test_earlier_checkpoints_are_named_by_their_step(runs):
    shutil.copy(runs / "copy" / "checkpoint.npz", runs / "first.npz")
    assert main(["page", "copy", "-o", "it.html", "--checkpoints", "first.npz"]) == 0
    model, = models_of(runs / "it.html")
    assert [one["label"] for one in model["checkpoints"]] == ["epoch 2, step 8"]


def test_a_run_without_its_text_has_a_page_without_examples(runs, capsys):
    shutil.copytree(runs / "lm", runs / "moved", dirs_exist_ok=True)
    (runs / "novel.txt").rename(runs / "away.txt")
    try:
        assert main(["page", "moved", "-o", "it.html"]) == 0
    finally:
        (runs / "away.txt").rename(runs / "novel.txt")
    assert "no examples: " in capsys.readouterr().err
    assert models_of(runs / "it.html")[0]["examples"] == []


@pytest.mark.parametrize("words, message", [
    ("copy", "the following arguments are required: -o/--output"),
    ("nowhere -o it.html", "no checkpoint at nowhere"),
    ("copy lm -o it.html", "copy is a translator's run and lm a writer's: one page"),
    ("copy luong -o it.html --checkpoints a.npz", "2 runs are given: name one"),
    ("copy -o it.html --checkpoints a.npz", "no checkpoint at a.npz"),
    ("copy -o it.html --checkpoints luong/checkpoint.npz", "is not understood"),
    ("copy -o it.html --checkpoints copy,copy/checkpoint.npz", "as one before it: give each once"),
    ("copy -o it.png", "the name must end with .html or .htm"),
    ("copy -o nowhere/it.html", "there is no folder nowhere"),
    ("copy -o it.html --precision double", "invalid choice"),
    ("copy -o it.html --corpus bible-en", "is text, not parallel"),
    ("lm -o it.html --corpus copy", "is parallel, not text"),
    ("copy -o it.html --examples -1", "expected a whole number"),
])
def test_what_is_refused_leaves_nothing(runs, capsys, words, message):
    assert message in told(capsys, "page", *words.split())
    assert written(runs) == []


def test_a_model_too_large_is_told_what_would_do(runs, capsys, monkeypatch):
    monkeypatch.setattr("numpy_attention.page.export.LARGEST", 7_000)
    error = told(capsys, "page", "copy", "-o", "it.html")
    assert "--precision byte makes it 0.0 MB" in error and "expected at most 0.0 MB" in error
    assert written(runs) == []


def test_a_page_that_cannot_be_written_is_told(runs, capsys):
    (runs / "there.html").mkdir()
    try:
        assert "there.html cannot be written" in told(capsys, "page", "copy", "-o", "there.html")
        assert written(runs) == ["there.html"]
    finally:
        (runs / "there.html").rmdir()


def test_code_of_the_reader_s_own_does_not_run_in_a_page(runs, capsys, monkeypatch):
    monkeypatch.setattr(page.checkpoint, "load_about",
                        lambda path: {"about": {"kind": "translator",
                                                "own": {"mine.py:Mine": "0"}}})
    error = told(capsys, "page", "copy", "-o", "it.html")
    assert "copy was trained with mine.py:Mine, code of your own in Python" in error


def test_examples_are_spread_over_a_split():
    class Selection:
        splits = ("train", "valid")

        def load(self, split):
            assert split == "valid"
            return [[["w"] * 20, *([str(n)] * 4 for n in range(10))]]

    assert page.examples_of(Selection(), None, 4) == [[n] * 4 for n in "0369"]
    assert page.examples_of(Selection(), None, 0) == []


def test_a_page_opens_with_links_to_compare_with():
    def pair(name, links):
        return Pair((name, "b", "c"), ("x", "y", "z"), {(k, k) for k in range(links)})

    few, several, many = pair("few", 2), pair("several", 3), pair("many", 3)
    assert page.with_links_first([few, several, many]) == [several, few, many]
    assert page.with_links_first([few, ["a", "sentence"]]) == [few, ["a", "sentence"]]
    assert page.with_links_first([]) == []
