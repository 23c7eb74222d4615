"""Subwords: round trips, the word each piece belongs to, and errors."""

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


def test_encode_and_read_round_trip(subwords):
    assert len(subwords) == 30 and [subwords.token(k) for k in range(4)] == list(SPECIAL_TOKENS)
    for words in TEXT + [["new", "thewest"], ["t"]]:
        ids = subwords.encode(words)
        assert len(ids) >= len(words)
        assert min(ids) > UNK and subwords.decode(ids) == words
        assert subwords.decode([1, *ids, EOS, 7, 8]) == words
        assert subwords.places(words) == subwords.read(ids)[1]
        assert len(subwords.places(words)) == len(ids)


def test_build_is_deterministic(subwords):
    again = Subwords.build(TEXT, 30)
    assert again == subwords and again != Subwords.build(TEXT, 28)
    assert restored(subwords.saved()) == subwords
    assert restored(["a", "b"]) == Vocabulary(["a", "b"])


def test_unknown_characters(subwords):
    assert "house" in subwords and "жhouse" not in subwords
    assert subwords.unknown_share([["house", "ж"], ["new"]]) == pytest.approx(1 / 3)
    words, places = subwords.read(subwords.encode(["new", "ж"]))
    assert words == ["new", "<unk>"] and places[-1] == 1


def test_word_start_without_a_word_is_skipped(subwords):
    ids = subwords.encode(["new"])
    lone = next(k for k in range(len(subwords)) if subwords.token(k) == "▁")
    words, places = subwords.read([lone, *ids, lone, lone])
    assert words == ["new"] and set(places) == {0}
    two = subwords.encode(["new", "house"])
    words, places = subwords.read([*two, lone])
    assert words == ["new", "house"] and places == [*subwords.places(words), 1]
    assert subwords.read([lone]) == ([], [0]) and subwords.read([EOS]) == ([], [])


def test_characters_are_not_normalized():
    rare = ["ﬁne", "①", "Ａ"]                  # other normal forms would change these
    subwords = Subwords.build([["the", "fine", "1", "a"]] * 3000 + [rare, []], 30)
    assert all(word in subwords for word in rare)
    assert subwords.decode(subwords.encode(rare)) == rare
    assert [subwords.token(id) for id in range(4)] == list(SPECIAL_TOKENS)


@pytest.mark.parametrize("error, reason", [
    (RuntimeError("trainer.cc(1) [x]\nInternal: a.cc(2) [y] [z] no."), "no."),
    (OSError("disk full"), "disk full"), (SystemError("log\n[x] odd \n"), "odd"),
])
def test_last_line_of_the_library_error_is_the_reason(error, reason, monkeypatch):
    import sentencepiece

    def train(**options):
        raise error

    monkeypatch.setattr(sentencepiece.SentencePieceTrainer, "train", train)
    with pytest.raises(ValueError, match=f"not learn 30 subwords from 15 sentences: '{reason}'$"):
        Subwords.build(TEXT, 30)


def test_representation_and_equality(subwords):
    assert repr(subwords) == "Subwords(30 ids: 4 special and 26 pieces)"
    assert (subwords == subwords.saved()) is False and subwords != Vocabulary(["the"])
    assert subwords.__eq__("the") is NotImplemented         # lets the other operand decide


def test_errors(subwords, monkeypatch):
    message = "could not learn 1000 subwords from 15 sentences; ask for at most [0-9]+ subwords$"
    with pytest.raises(ValueError, match=message):
        Subwords.build(TEXT, 1000)
    message = "could not learn 6 subwords from the source's 15 sentences; ask for at least [0-9]+ s"
    with pytest.raises(ValueError, match=message):
        Subwords.build(TEXT, 6, "the source's ")
    for size in (4, 2**31):
        message = f"size = {size}; expected an integer from 5 to 2,147,483,647"
        with pytest.raises(ValueError, match=message):
            Subwords.build(TEXT, size)
    with pytest.raises(ValueError, match="the text is empty"):
        Subwords.build([[]], 30)
    for damaged in ("###", "YWJj"):
        with pytest.raises(ValueError, match="is the file damaged"):
            restored(damaged)
    with pytest.raises(ValueError, match="id 30 is not in this vocabulary"):
        subwords.token(30)
    with pytest.raises(ValueError, match="no words in the sentences"):
        subwords.unknown_share([])
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ValueError, match="pip install"):
        Subwords.build(TEXT, 30)


@pytest.mark.parametrize("ask, message", [
    (lambda subwords: subwords.places("new"), "words is the string 'new'; expected a list of tok"),
    (lambda subwords: subwords.read("45"), "ids is '45', of type str; expected a list of ids$"),
    (lambda subwords: subwords.read([2.0]), "an id is 2.0, of type float; expected an integer"),
    (lambda subwords: subwords.unknown_share([["new"], "house"]),
     r"sentences\[1\] is the string 'house'; expected a list of tokens"),
])
def test_invalid_arguments(subwords, ask, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        ask(subwords)


@given(words=st.lists(st.text("thelowrnswiad", min_size=1, max_size=8), max_size=6))
def test_joined_pieces_are_the_words(subwords, words):
    ids = subwords.encode(words)
    places = subwords.places(words)
    assert subwords.decode(ids) == words
    assert len(places) == len(ids) and places == sorted(places)
    assert sorted(set(places)) == list(range(len(words)))
    assert subwords.read(ids) == (words, places)


def test_surrogates_are_unknown(subwords):
    assert subwords.encode(["\ud800"]) == [UNK]
    with pytest.raises(ValueError, match=r"sentences\[1\] is .*lone surrogate"):
        Subwords.build([["the"], ["\ud800"]], 9)
