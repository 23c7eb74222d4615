"""What a run learnt from: corpora by name, own text, and a corpus that is one entry."""

import numpy as np
import pytest

from numpy_attention.data import running_text
from numpy_attention.data.datasets.corpora import CORPORA, describe, find_corpus, load_parallel, load_text
from numpy_attention.data.datasets.corpus import GeneratedCorpus, ParallelCorpus, TextCorpus
from numpy_attention.data.datasets.generators import distinct
from numpy_attention.data.user_text import OwnPairs, OwnText
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.data.selection import NamedPairs, NamedText, selected
from numpy_attention.data.splits import split_of

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
def test_raw_text_is_cut_as_the_corpus_was(saved, tokens):
    assert selected(saved).form().tokens("God's Word, 3,000") == tokens


def test_case_can_be_chosen():
    assert selected({"name": "bible-en-es"}).form(False).tokens("God") == ["God"]
    assert selected({"name": "dates"}).form(True).tokens("A b") == list("a b")
    assert selected({}).form(False).tokens("God") == ["God"]
    assert selected(PAIRS).form(True).tokens("God") == ["god"]
    letters = selected({"name": "bible-en", "characters": True})
    assert letters.form(False).tokens("God") == list("God")


@pytest.mark.parametrize("saved, kind, label, splits", [
    ({"name": "bible-en-es"}, NamedPairs, "bible-en-es", 3),
    ({"name": "bible-en-es", "part": "verses", "count": 9}, NamedPairs, "bible-en-es verses", 3),
    ({"name": "copy", "count": 9, "vocabulary_size": 5}, NamedPairs, "copy", 3),
    ({"name": "ptb"}, NamedText, "ptb", 3),
    ({"name": "bible-en", "characters": True}, NamedText, "bible-en", 3),
    (PAIRS | {"source": "/x/y.txt"}, OwnPairs, "y", 2),
    (TEXT | {"text": "/x/z.txt"}, OwnText, "z", 2),
])
def test_what_a_dict_stands_for(saved, kind, label, splits):
    found = selected(saved)
    assert type(found) is kind and found.label == label
    assert found.splits == ("train", "valid", "test")[:splits]
    assert saved.items() <= found.saved().items()
    assert selected(found.saved()) == found
    if "name" in saved:
        assert found.saved() == saved


def test_named_pairs_are_those_of_the_corpus():
    train, test = selected({"name": "copy", "count": 5, "max_length": 4}).load("train", "test")
    assert train == load_parallel("copy", "train", count=5, max_length=4) and len(test) == 5
    with pytest.raises(ValueError, match="split = 'dev'"):
        selected({"name": "copy"}).load("dev")


def test_named_text_comes_as_words_or_letters(monkeypatch):
    text = Text([[["a", "bc"], []], [["d"]]], whole=True)
    monkeypatch.setattr(running_text, "load", lambda name, split: text)
    assert selected({"name": "bible-en"}).load("train", "test") == [text, text]
    (letters,) = selected({"name": "bible-en", "characters": True}).load("valid")
    assert letters == Text([[list("a bc\n\n")], [list("d\n")]], "characters", True)


def test_a_run_that_says_nothing_of_its_text():
    unknown = selected({})
    assert unknown.saved() == {} and unknown.label == "unknown text"
    with pytest.raises(ValueError, match="the run does not say what it learnt from"):
        unknown.load("test")


def test_unknown_names_and_other_kinds_are_refused():
    with pytest.raises(ValueError, match="corpus 'nix' is unknown; choose one of bible-en-es"):
        selected({"name": "nix"})
    with pytest.raises(ValueError, match="'copy' is parallel, not text: it is for translators"):
        selected({"name": "copy", "count": 3}, "text")
    with pytest.raises(ValueError, match="'ptb' is text, not parallel: it is for language models"):
        selected({"name": "ptb", "max_length": 3}, "parallel")
    assert selected({"name": "ptb"}, "text") == NamedText("ptb")


# ---- a corpus is one entry -----------------------------------------------------------------------


@pytest.mark.parametrize("saved, message", [
    ({"source": "a", "digest": "-"}, "from, source, .* without target: name a corpus"),
    (PAIRS | {"fertility": 2}, "with fertility that is unknown"),
    (TEXT | {"part": "x"}, "with part that is unknown"),
    ({"name": "bible-en", "part": "x"}, "with part that is unknown"),
    ({"name": "copy", "split": "test"}, "'split' is no part of what a run learns from"),
    ({"name": "copy", "rng": 7}, "'rng' is no part of what a run learns from"),
])
def test_a_dict_with_more_or_less_is_refused(saved, message):
    with pytest.raises(ValueError, match=message):
        selected(saved)


def test_a_parallel_corpus_added_as_one_entry(monkeypatch):
    def read(split, loud=False):
        pairs = [Pair((split, str(k)), ("x",) * (1 + k)) for k in range(4)]
        return [Pair((split.upper(),), ("X",))] if loud else pairs

    toy = ParallelCorpus(
        name="toy", description="four pairs", languages="Toy → X", licence="free", origin="shipped",
        read=read, cut="spaces",
        parts={"loud": {"read": lambda split: read(split, True), "lowercase": False}},
    )
    monkeypatch.setitem(CORPORA, "toy", toy)
    assert find_corpus("toy", "parallel") is toy and "toy: four pairs" in describe("toy")
    with pytest.raises(ValueError, match="choose one of bible-en-es, .*, toy"):
        find_corpus("nix", "parallel")
    assert len(load_parallel("toy", "test", max_length=3)) == 3
    run = selected({"name": "toy", "count": 1})
    assert run.load("valid") == [[Pair(("valid", "0"), ("x",))]]
    assert run.form().tokens("A, b") == ["a,", "b"] and run.label == "toy"
    loud = selected({"name": "toy", "part": "loud"})
    assert loud.load("test") == [[Pair(("TEST",), ("X",))]]
    assert loud.form().tokens("A, b") == ["A,", "b"] and loud.label == "toy loud"
    with pytest.raises(ValueError, match="part = 'shy'; toy has None, loud"):
        load_parallel("toy", "test", part="shy")


def test_a_generated_corpus_added_as_one_entry(monkeypatch):
    def numbers(rng, count, digits=3, keep=None):
        def draw(rng):
            drawn = tuple(map(str, rng.integers(10, size=digits)))
            return Pair(drawn, drawn[:1])
        return distinct(draw, rng, count, keep)

    toy = GeneratedCorpus(name="toy", description="digits", languages="numbers", read=numbers)
    monkeypatch.setitem(CORPORA, "toy", toy)
    (pairs,) = selected({"name": "toy", "count": 20, "digits": 4}).load("valid")
    assert len(pairs) == 20 and {len(pair.source) for pair in pairs} == {4}
    assert {split_of(pair.source) for pair in pairs} == {"valid"}
    assert load_parallel("toy", "test", np.random.default_rng(0), 9) == load_parallel(
        "toy", "test", count=9)
    with pytest.raises(ValueError, match="toy does not know length; its options are: digits"):
        load_parallel("toy", "train", length=3)


@pytest.mark.parametrize("cut, unit, whole", [
    ("spaces", "words", True), ("words", "words", False), ("characters", "characters", False),
])
def test_running_text_added_as_one_entry(cut, unit, whole, monkeypatch):
    articles = [[["a", "b"], ["c"]]]
    toy = TextCorpus(
        name="toy", description="letters", languages="Toy", licence="free", origin="shipped",
        read=lambda split: articles, cut=cut, whole=whole,
    )
    monkeypatch.setitem(CORPORA, "toy", toy)
    assert selected({"name": "toy"}).load("train") == [Text(articles, unit, whole)]
    assert load_text("toy", "test") == ("abc" if unit == "characters" else articles[0])
    assert selected({"name": "toy"}).form().cut == cut
    with pytest.raises(ValueError, match="split = 'dev'"):
        running_text.load("toy", "dev")
    with pytest.raises(ValueError, match="'toy' is text, not parallel: it is for language models"):
        load_parallel("toy", "train")
