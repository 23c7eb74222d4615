"""Running text: articles and sentences as ids, by hand; the corpora as they should come."""

import os
from pathlib import Path

import pytest

from numpy_attention.data.datasets import downloads
from numpy_attention.data import running_text
from numpy_attention.data.running_text import Text
from numpy_attention.data.text_form import TextForm
from numpy_attention.data.vocabulary import EOS, UNK, Vocabulary

TEXT = Text([[["a", "b"], []], [["b", "z"]]], whole=True)
WORDS = Vocabulary(["a", "b"])
BESIDE = Path(__file__).resolve().parents[3] / "shared/data"
DATA = Path(os.environ.get(downloads.ENVIRONMENT) or BESIDE)


def test_ids_by_hand():
    assert TEXT.sentences == [["a", "b"], [], ["b", "z"]]
    assert TEXT.stream(WORDS) == [EOS, 4, 5, EOS, EOS, 5, UNK, EOS]   # a blank line's end counts
    assert TEXT.documents(WORDS, "article") == [[EOS, 4, 5, EOS, EOS], [EOS, 5, UNK, EOS]]
    assert TEXT.documents(WORDS, "sentence") == [[EOS, 4, 5, EOS], [EOS, 5, UNK, EOS]]
    assert TEXT.documents(WORDS, "article", 3) == [[EOS, 4, 5, EOS], [EOS, 5, UNK, EOS]]
    assert TEXT.documents(WORDS, "sentence", 1) == [[EOS, 4], [EOS, 5]]
    letters = Text([[list("ab"), list("b")]], "characters")
    assert letters.stream(WORDS) == [EOS, 4, 5, 5]          # characters bring their line ends


@pytest.mark.parametrize("text, state, message", [
    (Text([[["a"]]]), "article", "does not come as articles, as bible-en and wikitext-2 do"),
    (Text([[list("ab")]], "characters", True), "sentence",
     "no sentences of its own: choose state 'carried'"),
    (TEXT, "carried", "expected one of"), (TEXT, "chapter", "state = 'chapter'"),
])
def test_refused(text, state, message):
    with pytest.raises(ValueError, match=message):
        text.documents(WORDS, state)


def test_a_cut_of_nothing_is_refused():
    with pytest.raises(ValueError, match="cut = 0"):
        TEXT.documents(WORDS, "sentence", 0)


def test_words_as_characters():
    letters = TEXT.as_characters()
    assert letters == Text([[list("a b\n\n")], [list("b z\n")]], "characters", True)
    assert letters.as_characters() is letters


@pytest.mark.parametrize("form, text", [
    (TextForm("spaces", False), Text([[["A.", "b"], ["C"]]])),
    (TextForm("words", True), Text([[["a", ".", "b"], ["c"]]])),
    (TextForm("characters", True), Text([[list("a. b\n\nc\n")]], "characters")),
])
def test_a_file_of_ones_own(form, text, tmp_path):
    (tmp_path / "a").write_text("A. b\n\nC")
    assert running_text.read(tmp_path / "a", form) == text
    (tmp_path / "a").write_text(" \n")
    with pytest.raises(ValueError, match="a holds no text"):
        running_text.read(tmp_path / "a", form)


def test_bible_comes_as_chapters():
    text = running_text.load("bible-en", "test")
    assert text.whole and text.unit == "words"
    assert len(text.articles) == 49                         # shipped/README.md counts them
    assert sum(map(len, text.articles)) == len(text.sentences) and all(text.sentences)


@pytest.mark.parametrize("name, message", [("nix", "unknown"), ("copy", "is parallel, not text")])
def test_other_names_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        running_text.load(name, "train")


@pytest.mark.parametrize("name, file, unit, whole, articles, tokens", [
    ("ptb", "ptb/ptb.test.txt", "words", False, 1, 78_669 + 3_761),
    ("wikitext-2", "wikitext-2/test.txt", "words", True, 63, 241_211 + 4_358),
    ("tinyshakespeare", "tinyshakespeare/input.txt", "characters", False, 1, 55_770),
])
def test_downloaded_corpora(name, file, unit, whole, articles, tokens, monkeypatch):
    if not (DATA / file).is_file():
        pytest.skip(f"{file} is not in the data folder: set {downloads.ENVIRONMENT}")
    monkeypatch.setenv(downloads.ENVIRONMENT, str(DATA))
    text = running_text.load(name, "test")
    assert (text.unit, text.whole) == (unit, whole)
    assert len(text.articles) == articles
    assert len(text.stream(Vocabulary(["a"]))) == 1 + tokens
