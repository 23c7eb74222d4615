"""Runs in a page: which examples it has."""

from pathlib import Path

import numpy as np
import pytest
from custom_files import CELL, written

from numpy_attention.custom.kinds import custom_class
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.data.user_text import UserText
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.metrics import links_from_weights
from numpy_attention.page import runs as page
from numpy_attention.training.settings import LanguageModelTraining

LESSON_06 = Path(__file__).resolve().parents[3] / "lessons" / "checkpoints" / "lesson-06"


def test_examples_are_spread_over_a_split(capsys):
    class Known:
        VOCABULARIES = ()

    class Selection:
        splits = ("train", "valid")

        def __init__(self, text):
            self.text = text

        def load(self, split):
            assert split == "valid"
            if not self.text:
                raise ValueError("gone")
            return [self.text]

    run = Known()
    sentences = Selection([["w"] * 20, *([str(n)] * 4 for n in range(10))])
    assert page.examples_of(sentences, None, 4, [run]) == [[n] * 4 for n in "0369"]
    assert page.examples_of(sentences, None, 0, [run]) == []
    assert page.examples_of(Selection([]), None, 3, [run]) == []
    assert capsys.readouterr().err == "numpy-attention: no examples: gone\n"
    assert page.examples_of(Selection([["w"] * 20]), None, 3, [run]) == [["w"] * page.LONGEST]
    run.training = LanguageModelTraining(unit="characters")
    letters = Selection(Text([[list("a bc def ghi\n\njkl mno\n")]], "characters"))
    found = page.examples_of(letters, None, 9, [run], 7)
    assert ["".join(one) for one in found] == ["a bc", "def ghi", "jkl mno"]


def test_the_page_opens_with_known_words_that_point_at_their_links():
    words = ("a", "b", "c", "d")
    run = Translator.create([Pair(words, words)], "rnnsearch", {"hidden": 4, "embedding": 3})

    class Pointing:
        """A run whose weights point at given words."""
        VOCABULARIES = run.VOCABULARIES
        source_vocabulary, target_vocabulary = run.source_vocabulary, run.target_vocabulary

        def attend(self, pairs):
            return [np.eye(len(words) + 1)[[looks.get(pair.source[0], 0), 1, 2, 3, 4]]
                    for pair in pairs]

    def pair(first, links=3):
        return Pair((first, "b", "c", "d"), words, {(k, k) for k in range(links)})

    looks = {"b": 2, "c": 3}        # the others begin with the first word
    unknown, wrong, few, right, again, most = (
        pair("?"), pair("b"), pair("d", 2), pair("a"), pair("d"), pair("a", 4))

    def opening(*pairs):
        return page.opening(pairs, [Pointing()])

    assert opening(unknown, wrong, few, right, again) == [right]
    assert opening(unknown, wrong, right, most) == [most]
    assert opening(unknown, wrong, few) == [wrong]
    assert opening(unknown, few, again) == [again]
    assert opening(unknown, few) == [few]
    assert opening(unknown) == []


def test_a_page_opens_within_what_was_trained_on_whatever_corpus_is_named(monkeypatch, tmp_path):
    written = {}
    monkeypatch.setattr(page, "write_page", lambda path, models, title, *_: written.update(
        model=models[0], title=title))
    for corpus in (None, "bible-en-es"):
        page.page_of_runs(tmp_path / "it.html", [str(LESSON_06)], corpus=corpus)
        model = written["model"]
        assert written["title"] == "English → Spanish: inside a small translator"
        assert model["learned"]["longest"] == 8 and model["learned"]["sentences"] > 40_000
        assert max(len(one["source"]) for one in model["examples"]) <= 8
        first = model["examples"][0]
        assert len(first["sure"]) >= page.LINKS
        for side in ("source", "target"):
            assert set(first[side]) <= set(model["vocabularies"][side])
        pair = Pair(tuple(first["source"]), tuple(first["target"]),
                    {tuple(link) for link in first["sure"]})
        links, = links_from_weights(Translator.load(LESSON_06).attend([pair]), [pair])
        assert {j for _, j in pair.sure} == {j for _, j in links & pair.sure}


def test_runs_of_different_corpora_share_no_page(tmp_path):
    words = ("a", "b", "c")
    Translator.create([Pair(words, words)], "rnnsearch", {"hidden": 4, "embedding": 3}).fit(
        [Pair(words, words)], folder=tmp_path / "own", threads=1, progress=False)
    with pytest.raises(ValueError, match="own and .*lesson-06 were trained on different corpora"):
        page.page_of_runs(tmp_path / "a.html", [LESSON_06, tmp_path / "own"])
    assert not (tmp_path / "a.html").exists()


def test_page_that_would_show_nothing_is_refused(tmp_path):
    """The text is not known, so there are no examples, and the class is in Python."""
    pairs = [Pair(("a", "b"), ("c",))]
    settings = {"hidden": 4, "embedding": 3, "attention": custom_class(str(written(tmp_path)))}
    Translator.create(pairs, "rnnsearch", settings).fit(
        pairs, folder=tmp_path / "run", threads=1, progress=False)
    with pytest.raises(ValueError, match="cannot run mine.py:Mine, so without examples .* nothing"):
        page.page_of_runs(tmp_path / "a.html", [tmp_path / "run"], code=str(tmp_path / "mine.py"))
    assert not (tmp_path / "a.html").exists()


def test_language_model_without_attention_needs_a_script(tmp_path):
    (tmp_path / "text").write_text("a b c\n" * 9)
    (tmp_path / "mgu.js").write_text("Object.assign(KINDS, { MinimalGatedUnit });")
    corpus = UserText(text=tmp_path / "text")
    text, = corpus.load("train")
    settings = {"hidden": 4, "cell": custom_class(str(written(tmp_path, CELL, "mgu.py")))}
    LanguageModelRun.create(text, "language-model", settings, corpus=corpus.saved()).fit(
        text, folder=tmp_path / "run", threads=1, progress=False)
    how = {"path": tmp_path / "a.html", "folders": [tmp_path / "run"], "code": tmp_path / "mgu.py"}
    with pytest.raises(ValueError, match="without attention weights .* nothing; pass script = "):
        page.page_of_runs(**how)
    assert page.page_of_runs(**how, script=tmp_path / "mgu.js") > 0
