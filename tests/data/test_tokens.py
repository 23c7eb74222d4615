"""Raw text cut into words and punctuation."""

import pytest

from numpy_attention.data.tokens import word_tokens


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


def test_elision_cuts_after_the_apostrophe():
    assert word_tokens("L\u2019homme qu'il 'a' vu aujourd'hui", elision=True) == (
        ["L'", "homme", "qu'", "il", "'", "a", "'", "vu", "aujourd'hui"]
    )
    assert word_tokens("l'homme") == ["l'homme"]
