"""Running text: articles and sentences as ids, computed by hand."""

import pytest

from numpy_attention.data import running_text
from numpy_attention.data.running_text import Text
from numpy_attention.data.text_form import TextForm
from numpy_attention.data.vocabulary import EOS, UNK, Vocabulary

TEXT = Text([[["a", "b"], []], [["b", "z"]]], has_articles=True)
WORDS = Vocabulary(["a", "b"])


def test_ids_by_hand():
    assert TEXT.sentences == [["a", "b"], [], ["b", "z"]]
    assert TEXT.stream(WORDS) == [EOS, 4, 5, EOS, EOS, 5, UNK, EOS]   # a blank line has an end too
    assert TEXT.documents(WORDS, "article") == [[EOS, 4, 5, EOS, EOS], [EOS, 5, UNK, EOS]]
    assert TEXT.documents(WORDS, "sentence") == [[EOS, 4, 5, EOS], [EOS, 5, UNK, EOS]]
    assert TEXT.documents(WORDS, "article", 3) == [[EOS, 4, 5, EOS], [EOS, 5, UNK, EOS]]
    assert TEXT.documents(WORDS, "sentence", 1) == [[EOS, 4], [EOS, 5]]
    letters = Text([[list("ab"), list("b")]], "characters")
    assert letters.stream(WORDS) == [EOS, 4, 5, 5]          # line ends are among the characters


@pytest.mark.parametrize("text, state, message", [
    (Text([[["a"]]]), "article", "state = 'article' needs articles, but the text is not"),
    (Text([[list("ab")]], "characters", True), "sentence",
     "the text is character-level; use 'article' if it has articles, or train with"),
    (TEXT, "carried", "state = 'carried'; expected one of"),
])
def test_texts_without_articles_or_sentences(text, state, message):
    with pytest.raises(ValueError, match=message):
        text.documents(WORDS, state)


def test_words_as_characters():
    letters = TEXT.as_characters()
    assert letters == Text([[list("a b\n\n")], [list("b z\n")]], "characters", True)
    assert letters.as_characters() is letters


@pytest.mark.parametrize("form, text", [
    (TextForm("spaces", False), Text([[["A.", "b"], ["C"]]])),
    (TextForm("words", True), Text([[["a", ".", "b"], ["c"]]])),
    (TextForm("characters", True), Text([[list("a. b\n\nc\n")]], "characters")),
])
def test_user_file(form, text, tmp_path):
    (tmp_path / "a").write_text("A. b\n\nC")
    assert running_text.read(tmp_path / "a", form) == text
    (tmp_path / "a").write_text(" \n")
    with pytest.raises(ValueError, match="a contains no text"):
        running_text.read(tmp_path / "a", form)
