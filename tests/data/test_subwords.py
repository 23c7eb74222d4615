"""Subwords: words there and back, which piece belongs to which word, and what is refused."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numpy_attention.data.subwords import Subwords, restored
from numpy_attention.data.vocabulary import EOS, SPECIAL_TOKENS, UNK, Vocabulary

NEEDED = "sentencepiece is not installed: pip install -e '.[subwords]'"
pytest.importorskip("sentencepiece", reason=NEEDED)

TEXT = 5 * [
    ["the", "lower", "house"], ["the", "newest", "house", "is", "new"], ["lowest", "and", "newest"],
]


@pytest.fixture(scope="module")
def subwords():
    return Subwords.build(TEXT, 30)


def test_words_there_and_back(subwords):
    assert len(subwords) == 30 and [subwords.token(k) for k in range(4)] == list(SPECIAL_TOKENS)
    for words in TEXT + [["new", "thewest"], ["t"]]:
        ids = subwords.encode(words)
        assert len(ids) >= len(words)
        assert min(ids) > UNK and subwords.decode(ids) == words
        assert subwords.decode([1, *ids, EOS, 7, 8]) == words
        assert subwords.places(words) == subwords.read(ids)[1]
        assert len(subwords.places(words)) == len(ids)


def test_pieces_are_frequent(subwords):
    """A word of the text takes fewer pieces than letters; the most frequent pairs merge first."""
    assert len(subwords.encode(["house"])) < 5 and len(subwords.encode(["newest"])) < 6
    assert subwords.token(4) in ("we", "he", "est", "es", "th", "ne", "▁ne", "ew", "▁n", "▁t")


def test_the_same_text_gives_the_same_pieces(subwords):
    again = Subwords.build(TEXT, 30)
    assert again == subwords and again != Subwords.build(TEXT, 28)
    assert restored(subwords.saved()) == subwords
    assert restored(["a", "b"]) == Vocabulary(["a", "b"])


def test_letters_that_are_not_known(subwords):
    assert "house" in subwords and "жhouse" not in subwords
    assert subwords.unknown_share([["house", "ж"], ["new"]]) == pytest.approx(1 / 3)
    words, places = subwords.read(subwords.encode(["new", "ж"]))
    assert words == ["new", "<unk>"] and places[-1] == 1


def test_a_lone_beginning_is_no_word(subwords):
    ids = subwords.encode(["new"])
    lone = next(k for k in range(len(subwords)) if subwords.token(k) == "▁")
    words, places = subwords.read([lone, *ids, lone, lone])
    assert words == ["new"] and set(places) == {0}
    assert subwords.read([lone]) == ([], [0]) and subwords.read([EOS]) == ([], [])


def test_refused(subwords, monkeypatch):
    message = "1000 subwords cannot be made of 15 sentences: Vocabulary size too high"
    with pytest.raises(ValueError, match=message):
        Subwords.build(TEXT, 1000)
    message = "6 subwords cannot be made of the source's 15 sentences: .*6 vs [0-9]+[.]$"
    with pytest.raises(ValueError, match=message):
        Subwords.build(TEXT, 6, "the source's ")
    with pytest.raises(ValueError, match="the text is empty"):
        Subwords.build([[]], 30)
    for damaged in ("###", "YWJj"):
        with pytest.raises(ValueError, match="is the file damaged"):
            restored(damaged)
    with pytest.raises(ValueError, match="id 30 is not in this vocabulary"):
        subwords.token(30)
    with pytest.raises(ValueError, match="sentences are empty"):
        subwords.unknown_share([])
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ValueError, match="pip install"):
        Subwords.build(TEXT, 30)


@given(words=st.lists(st.text("thelowrnswiad", min_size=1, max_size=8), max_size=6))
def test_pieces_joined_are_the_words(subwords, words):
    ids = subwords.encode(words)
    places = subwords.places(words)
    assert subwords.decode(ids) == words
    assert len(places) == len(ids) and places == sorted(places)
    assert sorted(set(places)) == list(range(len(words)))
    assert subwords.read(ids) == (words, places)


def test_half_of_a_character_is_unknown(subwords):
    assert subwords.encode(["\ud800"]) == [UNK]
    with pytest.raises(ValueError, match="sentence 1 is .*lone surrogate"):
        Subwords.build([["the"], ["\ud800"]], 9)
