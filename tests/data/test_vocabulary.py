from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numpy_attention.data.vocabulary import BOS, EOS, PAD, UNK, Vocabulary

SENTENCES = [["b", "a", "c"], ["b", "a"], ["b", "d", "<unk>", "</s>"]]


def test_ids_begin_with_the_special_tokens():
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    vocabulary = Vocabulary(["x", "y"])
    tokens = [vocabulary.token(id) for id in range(len(vocabulary))]
    assert tokens == ["<pad>", "<s>", "</s>", "<unk>", "x", "y"]


def test_build_orders_by_frequency_then_alphabet():
    assert Vocabulary.build(SENTENCES).tokens == ["b", "a", "c", "d"]
    assert Vocabulary.build(reversed(SENTENCES)).tokens == ["b", "a", "c", "d"]
    assert Vocabulary.build(SENTENCES, min_count=2).tokens == ["b", "a"]
    limited = Vocabulary.build(SENTENCES, max_size=7)
    assert limited.tokens == ["b", "a", "c"] and len(limited) == 7


def test_encode_and_decode():
    vocabulary = Vocabulary.build(SENTENCES)
    assert vocabulary.encode(["a", "zebra", "b"]) == [5, UNK, 4]
    # </s> in a text is an ordinary word
    assert vocabulary.encode(["<s>", "</s>", "<pad>", "<unk>"]) == [UNK] * 4
    assert vocabulary.decode(np.array([BOS, 5, UNK, PAD, 4, EOS, 6])) == ["a", "<unk>", "b"]
    assert vocabulary.decode(vocabulary.encode(["a", "b", "d"])) == ["a", "b", "d"]
    assert vocabulary.encode([]) == [] and vocabulary.decode([]) == []
    assert "a" in vocabulary and "zebra" not in vocabulary and "<s>" not in vocabulary


def test_characters():
    vocabulary = Vocabulary.build(["hello\n", "ole \u00e9"])
    assert "".join(vocabulary.decode(vocabulary.encode("hole \u00e9\n"))) == "hole \u00e9\n"


def test_numpy_tokens_become_plain_strings():
    vocabulary = Vocabulary.build(SENTENCES)
    again = Vocabulary(np.array(vocabulary.tokens))
    assert again == vocabulary and all(type(token) is str for token in again.tokens)
    assert again.encode(["d"]) == vocabulary.encode(["d"])
    assert vocabulary != Vocabulary(["b", "a"]) and vocabulary != vocabulary.tokens
    assert vocabulary == mock.ANY               # lets the other operand decide


def test_unknown_share():
    vocabulary = Vocabulary(["a", "b"])
    assert vocabulary.unknown_share([["a", "q", "b"], ["<unk>"]]) == 0.5
    assert vocabulary.unknown_share([["a"]]) == 0
    with pytest.raises(ValueError, match="there are no tokens in the sentences"):
        vocabulary.unknown_share([[]])


TWO = Vocabulary(["a", "b"])


@pytest.mark.parametrize("call, error, message", [
    (lambda: Vocabulary([]), ValueError, "tokens is empty; a vocabulary needs at least one token"),
    (lambda: Vocabulary(["a", "b", "a"]), ValueError, "token 2, 'a', repeats token 0"),
    (lambda: Vocabulary(["a", "</s>"]), ValueError, "token 1, '</s>', is reserved"),
    (lambda: Vocabulary([""]), ValueError, "token 0, '', is empty"),
    (lambda: Vocabulary(["a\0"]), ValueError, "token 0, .*NUL"),
    (lambda: Vocabulary(["a", 7]), TypeError, "token 1 is 7, of type int"),
    (lambda: Vocabulary("abc"), TypeError, r"Vocabulary takes .*list\(text\)"),
    (lambda: Vocabulary({"a"}), TypeError, "tokens is {'a'}, of type set; expected a list"),
    (lambda: Vocabulary.build([[], []]), ValueError, "no tokens to build a"),
    (lambda: Vocabulary.build(SENTENCES, min_count=4), ValueError,
     r"min_count = 4 leaves no token, .* count of a token is 3; set min_count = 3 or less"),
    (lambda: Vocabulary.build([["a"]], min_count=2), ValueError, ".*is 1; set min_count = 1$"),
    (lambda: Vocabulary.build(SENTENCES, max_size=4), ValueError, "max_size = 4 must be larger th"),
    (lambda: Vocabulary.build([["a"]], max_size=-1), ValueError, "max_size = -1; expected an int"),
    (lambda: Vocabulary.build([["a"]], min_count=0), ValueError, "min_count = 0; expected an int"),
    (lambda: Vocabulary.build(7), TypeError, "sentences is 7, of type int; expected a list of sen"),
    (lambda: Vocabulary.build([["a"], 7]), TypeError, r"sentences\[1\] is 7, of type int"),
    (lambda: Vocabulary.build([["a", 7]]), TypeError, r"sentences\[0\] contains 7, of type int"),
    (lambda: TWO.encode(7), TypeError, "tokens is 7, of type int; expected a list of tokens"),
    (lambda: TWO.encode([["a"]]), TypeError, r"tokens contains \['a'\], of type list; expected"),
    (lambda: TWO.places(7), TypeError, "tokens is 7, of type int; expected a list"),
    (lambda: TWO.token(6), ValueError, "id 6 is not in this vocabulary; ids run from 0 to 5"),
    (lambda: TWO.decode([-1]), ValueError, "id -1 is not in this vocabulary"),
    (lambda: TWO.decode([True]), TypeError, "an id is True, of type bool; expected an integer"),
    (lambda: TWO.decode([1.5]), TypeError, "an id is 1.5, of type float"),
    (lambda: TWO.decode(7), TypeError, "ids is 7, of type int; expected a list of ids"),
])
def test_invalid_tables_texts_and_ids(call, error, message):
    with pytest.raises(error, match=f"^{message}"):
        call()


def test_string_is_a_list_of_characters_and_repr_shows_the_size():
    assert TWO.encode("ab") == [4, 5] and TWO.places("ab") == [0, 1]
    assert TWO.unknown_share(["aq"]) == 0.5
    assert repr(TWO) == "Vocabulary(6 ids: 4 special and 2 tokens)"
    assert TWO.token(5) == "b" and Vocabulary.build(["a"], max_size=5).tokens == ["a"]


WORDS = st.text(min_size=1, max_size=5).filter(lambda word: "\0" not in word and word[0] != "<")


@given(st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=5).filter(any))
def test_known_words_round_trip(sentences):
    vocabulary = Vocabulary.build(sentences)
    for sentence in sentences:
        ids = vocabulary.encode(sentence)
        assert all(4 <= id < len(vocabulary) for id in ids)
        assert vocabulary.decode(ids) == sentence
        assert vocabulary.read(ids) == (sentence, vocabulary.places(sentence))
    assert vocabulary.unknown_share(sentences) == 0
    assert Vocabulary(vocabulary.saved()) == vocabulary
