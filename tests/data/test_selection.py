"""Training text of a run: named corpora and user files, restored from a checkpoint's dict."""

import pytest

from numpy_attention.data import running_text
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.running_text import Text
from numpy_attention.data.selection import NamedPairs, NamedText, selected
from numpy_attention.data.user_text import UserPairs, UserText

PAIRS = {"source": "a", "target": "b", "digest": "-"}
TEXT = {"text": "a", "digest": "-"}


@pytest.mark.parametrize("saved, tokens", [
    ({"name": "bible-en-es"}, ["god's", "word", ",", "3,000"]),
    ({"name": "bible-en-es", "part": "verses"}, ["god's", "word", ",", "3,000"]),
    ({"name": "copy"}, ["god's", "word,", "3,000"]),
    ({"name": "multi30k-en-fr"}, ["god's", "word", ",", "3,000"]),
    ({"name": "multi30k-en-fr", "part": "raw"}, ["God's", "Word", ",", "3,000"]),
    ({"name": "dates"}, list("God's Word, 3,000")),
    (PAIRS | {"tokenize": False, "lowercase": False}, ["God's", "Word,", "3,000"]),
    (PAIRS | {"tokenize": True, "lowercase": False}, ["God's", "Word", ",", "3,000"]),
    (PAIRS | {"tokenize": False, "lowercase": True}, ["god's", "word,", "3,000"]),
    ({}, ["god's", "word", ",", "3,000"]),
    ({"name": "bible-en"}, ["god's", "word", ",", "3,000"]),
    ({"name": "ptb"}, ["God's", "Word,", "3,000"]),
    ({"name": "wikitext-2"}, ["God's", "Word,", "3,000"]),
    ({"name": "tinyshakespeare"}, list("God's Word, 3,000")),
    ({"name": "bible-en", "characters": True}, list("god's word, 3,000")),
    (TEXT | {"characters": False, "tokenize": True, "lowercase": False},
     ["God's", "Word", ",", "3,000"]),
    (TEXT | {"characters": True, "tokenize": False, "lowercase": True}, list("god's word, 3,000")),
])
def test_raw_text_is_tokenized_like_the_corpus(saved, tokens):
    assert selected(saved).form().tokens("God's Word, 3,000") == tokens


@pytest.mark.parametrize("saved, kind, label, splits", [
    ({"name": "bible-en-es"}, NamedPairs, "bible-en-es", 3),
    ({"name": "bible-en-es", "part": "verses", "count": 9}, NamedPairs, "bible-en-es verses", 3),
    ({"name": "copy", "count": 9, "vocabulary_size": 5}, NamedPairs, "copy", 3),
    ({"name": "ptb"}, NamedText, "ptb", 3),
    ({"name": "bible-en", "characters": True}, NamedText, "bible-en", 3),
    (PAIRS | {"source": "/x/y.txt"}, UserPairs, "y", 2),
    (TEXT | {"text": "/x/z.txt"}, UserText, "z", 2),
])
def test_selected_restores_saved_settings(saved, kind, label, splits):
    found = selected(saved)
    assert type(found) is kind and found.label == label
    assert found.splits == ("train", "valid", "test")[:splits]
    assert saved.items() <= found.saved().items()
    assert selected(found.saved()) == found
    if "name" in saved:
        assert found.saved() == saved


def test_named_pairs_load_the_corpus():
    train, test = selected({"name": "copy", "count": 5, "max_length": 4}).load("train", "test")
    assert train == load_parallel("copy", "train", count=5, max_length=4) and len(test) == 5
    with pytest.raises(ValueError, match="split = 'dev'"):
        selected({"name": "copy"}).load("dev")


def test_named_text_has_words_or_characters(monkeypatch):
    text = Text([[["a", "bc"], []], [["d"]]], has_articles=True)
    monkeypatch.setattr(running_text, "load", lambda name, split: text)
    assert selected({"name": "bible-en"}).load("train", "test") == [text, text]
    (letters,) = selected({"name": "bible-en", "characters": True}).load("valid")
    assert letters == Text([[list("a bc\n\n")], [list("d\n")]], "characters", True)


def test_run_without_a_record_of_its_text():
    unknown = selected({})
    assert unknown.saved() == {} and unknown.label == "unknown text"
    with pytest.raises(ValueError, match="the run does not record its training text"):
        unknown.load("test")


def test_unknown_names_and_kinds_raise():
    with pytest.raises(ValueError, match="corpus 'nix' is unknown; choose one of bible-en-es"):
        selected({"name": "nix"})
    with pytest.raises(ValueError, match="'copy' is a parallel corpus, and it is for translators"):
        selected({"name": "copy", "count": 3}, "text")
    with pytest.raises(ValueError, match="'ptb' is a text corpus, and it is for language"):
        selected({"name": "ptb", "max_length": 3}, "parallel")
    assert selected({"name": "ptb"}, "text") == NamedText("ptb")


@pytest.mark.parametrize("saved, message", [
    ({"source": "a", "digest": "-"}, "lacks 'target', so .*; name a corpus"),
    (PAIRS | {"fertility": 2}, "has an unknown field, 'fertility', so"),
    (TEXT | {"part": "x"}, "has an unknown field, 'part', so"),
    ({"name": "bible-en", "part": "x"}, "has an unknown field, 'part', so"),
    ({"name": "copy", "split": "test"}, "^'split' cannot be set for a training corpus; omit"),
    ({"name": "copy", "rng": 7}, "^'rng' cannot be set for a training corpus; omit"),
])
def test_missing_or_unknown_keys_raise(saved, message):
    with pytest.raises(ValueError, match=message):
        selected(saved)
