"""Tokenizing raw text and joining tokens again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numpy_attention.data.text_form import TextForm, is_word, visible, word_tokens


@pytest.mark.parametrize("form, tokens, line", [
    (TextForm("words", True), ["god's", "word", ",", "3,000"], "god's word , 3,000"),
    (TextForm("words", False), ["God's", "Word", ",", "3,000"], "God's Word , 3,000"),
    (TextForm("spaces", False), ["God's", "Word,", "3,000"], "God's Word, 3,000"),
    (TextForm("characters", True), list("god's  word, 3,000"), "god's  word, 3,000"),
])
def test_tokens_and_joined_text(form, tokens, line):
    assert form.tokens("God's  Word, 3,000") == tokens
    assert form.text(tokens) == line


@pytest.mark.parametrize(
    "text, tokens",
    [
        (
            "He said: 'well-known' (don't)!",
            ["He", "said", ":", "'", "well-known", "'", "(", "don't", ")", "!"],
        ),
        ("3,000.5 at 10:30.", ["3,000.5", "at", "10", ":", "30", "."]),
        ("नमस्ते दुनिया। 你好,мир😀", ["नमस्ते", "दुनिया", "।", "你好", ",", "мир", "😀"]),
        ("cafe\u0301\u202f!", ["café", "!"]),
        ("don\u2019t", ["don't"]),
        (" \t ", []),
    ],
)
def test_word_tokens(text, tokens):
    assert word_tokens(text) == tokens


@pytest.mark.parametrize("text, tokens", [
    # combining marks of any plane, on letters that do not compose
    ("q\u0300a.", ["q\u0300a", "."]),
    ("\U0001e906\U0001e944\U0001e92a!", ["\U0001e906\U0001e944\U0001e92a", "!"]),
    ("ñq\u0302-a\u0308b!", ["ñq\u0302-äb", "!"]),
    ("\u0915\u094d\u200d\u0937।", ["\u0915\u094d\u200d\u0937", "।"]),
    ("a。b→c", ["a", "。", "b", "→", "c"]),
    # invisible characters separate words or are removed
    ("a\u200bb\u2028c\x07d\u3164", ["a", "b", "c", "d"]),
    ("soft\u00adhyphen \u200eשלום\u200f \ufeffx \ufe0f\u200d y", ["softhyphen", "שלום", "x", "y"]),
    # a grapheme is one token
    ("\u2764\ufe0f\U0001f468\u200d\U0001f469\u200d\U0001f467",
     ["\u2764\ufe0f", "\U0001f468\u200d\U0001f469\u200d\U0001f467"]),
    ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 \U0001f44d\U0001f3fd 1\ufe0f\u20e3",
     ["\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7", "\U0001f44d\U0001f3fd", "1\ufe0f\u20e3"]),
    # punctuation between letters
    ('צה״ל צה"ל "שלום"', ["צה״ל", 'צה"ל', '"', "שלום", '"']),
    ("paral·lel ABBA·", ["paral·lel", "ABBA", "·"]),
    ("well\u2011known co\u2010op", ["well-known", "co-op"]),
    ("3\u202f000 ٣٫٥", ["3", "000", "٣٫٥"]),
])
def test_words_of_any_script(text, tokens):
    assert word_tokens(text) == tokens


def test_every_form_normalizes_and_lowercases_dotted_capital_i():
    assert TextForm("spaces", False).tokens("re\u0301 x") == ["ré", "x"]
    assert TextForm("characters", False).tokens("e\u0301a") == ["é", "a"]
    assert TextForm("words", True).tokens("İstanbul") == ["istanbul"]


def test_words_may_have_combining_marks():
    assert is_word("cat") and is_word("हिन्दी") and is_word("น้ำ") and is_word("q\u0302")
    assert not any(map(is_word, ("", "a1", "don't", "\u0301", ".")))


@pytest.mark.parametrize("token, shown", [
    ("cat", "cat"), ("न्\u200dद", "न्\u200dद"), ("\u2764\ufe0f", "\u2764\ufe0f"),
    ("\u200b", "\\u200b"), ("a\u00adb", "a\\xadb"), ("\u0301", "\\u0301"), ("\u200dx", "\\u200dx"),
    ("a\tb", "a\\tb"), ("\U000e0061", "\\U000e0061"),
])
def test_invisible_characters_are_shown_escaped(token, shown):
    assert visible(token) == shown


def test_elision_splits_after_the_apostrophe():
    assert word_tokens("L\u2019homme qu'il 'a' vu aujourd'hui", elision=True) == (
        ["L'", "homme", "qu'", "il", "'", "a", "'", "vu", "aujourd'hui"]
    )
    assert word_tokens("l'homme") == ["l'homme"]


@given(st.text(max_size=40), st.booleans())
def test_tokenizing_is_idempotent(text, lowercase):
    """Joined tokens are tokenized to the same tokens; none is empty or contains white space."""
    form = TextForm("words", lowercase)
    tokens = form.tokens(text)
    assert form.tokens(form.text(tokens)) == tokens
    assert all(token and not any(map(str.isspace, token)) for token in tokens)
    letters = TextForm("characters", False)
    assert letters.text(letters.tokens(text)) == text


def test_pairs_of_files(tmp_path):
    (tmp_path / "a").write_text("A.\nB c\n")
    (tmp_path / "b").write_text("x\ny\n")
    pairs = TextForm("words", True).pairs(tmp_path / "a", tmp_path / "b")
    assert [pair.source for pair in pairs] == [("a", "."), ("b", "c")]
    assert [pair.target for pair in pairs] == [("x",), ("y",)]
