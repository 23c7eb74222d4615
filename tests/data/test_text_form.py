"""How raw text is cut, and put together again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numpy_attention.data.text_form import TextForm, _token_pattern, word_tokens


@pytest.mark.parametrize("form, tokens, line", [
    (TextForm("words", True), ["god's", "word", ",", "3,000"], "god's word , 3,000"),
    (TextForm("words", False), ["God's", "Word", ",", "3,000"], "God's Word , 3,000"),
    (TextForm("spaces", False), ["God's", "Word,", "3,000"], "God's Word, 3,000"),
    (TextForm("characters", True), list("god's  word, 3,000"), "god's  word, 3,000"),
])
def test_text_becomes_tokens_and_tokens_text(form, tokens, line):
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


def test_marks_of_every_script_stay_inside_a_word():
    _token_pattern.cache_clear()        # so that it is made here, whatever ran before
    # the first of all marks, on a letter that does not compose; one of the last below U+10000
    for mark in ("\u0300", "\u0301", "\u093f", "\ufe2f"):
        assert word_tokens(f"q{mark}a.") == [f"q{mark}a", "."]
    assert word_tokens("ñq\u0302-a\u0308b!") == ["ñq\u0302-äb", "!"]
    assert word_tokens("a。b→c") == ["a", "。", "b", "→", "c"]


def test_elision_cuts_after_the_apostrophe():
    assert word_tokens("L\u2019homme qu'il 'a' vu aujourd'hui", elision=True) == (
        ["L'", "homme", "qu'", "il", "'", "a", "'", "vu", "aujourd'hui"]
    )
    assert word_tokens("l'homme") == ["l'homme"]


@given(st.text(max_size=40), st.booleans())
def test_what_is_cut_once_is_cut_the_same_again(text, lowercase):
    """Tokens joined and cut again are the same tokens, and none is empty or holds white space."""
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
