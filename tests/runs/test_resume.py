"""What a run learnt from: raw text cut as the corpus was, the reader's own files, what is held out."""

import dataclasses

import numpy as np
import pytest

from numpy_attention.runs import resume as runs
from numpy_attention.data.pairs import Pair
from numpy_attention.training import checkpoint
from numpy_attention.runs.writer import WriterTraining


@pytest.mark.parametrize("corpus, tokens", [
    ({"name": "bible-en-es"}, ["god's", "word", ",", "3,000"]), ({"name": "copy"}, ["god's", "word,", "3,000"]),
    ({"name": "multi30k-en-fr", "part": "raw"}, ["God's", "Word", ",", "3,000"]),
    ({"name": "dates"}, list("God's Word, 3,000")),
    ({"source": "a", "tokenize": False, "lowercase": False}, ["God's", "Word,", "3,000"]),
    ({"source": "a", "tokenize": True, "lowercase": False}, ["God's", "Word", ",", "3,000"]),
    ({"source": "a", "tokenize": False, "lowercase": True}, ["god's", "word,", "3,000"]),
    ({}, ["god's", "word", ",", "3,000"]),
    ({"name": "bible-en"}, ["god's", "word", ",", "3,000"]), ({"name": "ptb"}, ["God's", "Word,", "3,000"]),
    ({"name": "wikitext-2"}, ["God's", "Word,", "3,000"]), ({"name": "tinyshakespeare"}, list("God's Word, 3,000")),
    ({"name": "bible-en", "characters": True}, list("god's word, 3,000")),
    ({"text": "a", "characters": False, "tokenize": True, "lowercase": False}, ["God's", "Word", ",", "3,000"]),
    ({"text": "a", "characters": True, "tokenize": False, "lowercase": True}, list("god's word, 3,000")),
])
def test_raw_text_is_cut_as_the_corpus_was(corpus, tokens):
    assert runs.text_form(corpus).tokens("God's Word, 3,000") == tokens


def test_case_can_be_chosen():
    assert runs.text_form({"name": "bible-en-es"}, False).tokens("God") == ["God"]
    assert runs.text_form({"name": "dates"}, True).text(list("a b")) == "a b"


def test_held_out_pairs_share_no_source_and_depend_on_the_seed():
    pairs = [Pair([str(i % 150)], [str(i)]) for i in range(200)]
    train, valid = runs.hold_out(pairs, np.random.default_rng(0))
    assert {p.source for p in train}.isdisjoint(p.source for p in valid)
    assert sorted(train + valid, key=pairs.index) == pairs and 10 <= len(valid) <= 11
    assert runs.hold_out(pairs, np.random.default_rng(0)) == (train, valid)
    assert runs.hold_out(pairs, np.random.default_rng(1))[1] != valid


def test_at_least_one_is_held_out_and_one_kept():
    train, valid = runs.hold_out([Pair(["a"], ["b"]), Pair(["b"], ["c"])], np.random.default_rng(0))
    assert len(train) == len(valid) == 1
    train, valid = runs.hold_out([Pair(["a"], ["b"])] * 99 + [Pair(["b"], ["c"])], np.random.default_rng(0), share=1)
    assert train and valid
    with pytest.raises(ValueError, match="1 different source"):
        runs.hold_out([Pair(["a"], ["b"])] * 9, np.random.default_rng(0))


def test_own_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("".join(f"A {'x ' * (i % 4)}{i}\n" for i in range(80)))
    corpus = runs.own_text("a", "a", lowercase=True, max_length=4, count=20)
    assert corpus["source"] == str(tmp_path / "a") and runs.splits_of(corpus) == ("train", "valid")
    train, valid = runs.load(corpus, "train", "valid")
    assert len(train) == 20 and 1 <= len(valid) <= 4 and train[0].source == ("a", "0")
    assert max(len(pair.source) for pair in train) == 4
    assert runs.load(corpus, "valid") == [valid]
    with pytest.raises(ValueError, match="no 'test' split"):
        runs.load(corpus, "test")
    with pytest.raises(ValueError, match="at most 1 tokens"):
        runs.load(corpus | {"max_length": 1}, "train")
    (tmp_path / "a").write_text("B 1\nB 2\n")
    with pytest.raises(ValueError, match="has changed since"):
        runs.load(corpus, "train")


@pytest.mark.parametrize("limit", [{"max_length": 4}, {"count": 60}])
def test_no_limit_brings_sentences_of_one_part_into_the_other(limit, tmp_path):
    (tmp_path / "a").write_text("".join(f"{'x ' * (i % 7)}{i}\n" for i in range(300)))
    corpus = runs.own_text(tmp_path / "a", tmp_path / "a")
    whole, few = (runs.load(corpus | change, "train", "valid") for change in ({}, limit))
    for (learnt, _), (_, measured) in ((whole, few), (few, whole), (few, few)):
        assert measured and {pair.source for pair in learnt}.isdisjoint(pair.source for pair in measured)
    for part, all_of_it in zip(few, whole):
        assert set(part) <= set(all_of_it) and len(part) <= limit.get("count", 300)
        assert max(len(pair.source) for pair in part) <= limit.get("max_length", 7)


def test_validation_files(tmp_path):
    for name, text in (("a", "1\n2\n"), ("b", "1 2 3\n")):
        (tmp_path / name).write_text(text)
    a, b = tmp_path / "a", tmp_path / "b"
    corpus = runs.own_text(a, a, b, b)
    assert [len(pairs) for pairs in runs.load(corpus, "train", "valid")] == [2, 1]
    b.write_text("1 2\n")
    with pytest.raises(ValueError, match="has changed since"):
        runs.load(corpus, "train")
    with pytest.raises(ValueError, match="one side only"):
        runs.own_text(a, a, b)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        runs.own_text(a, tmp_path / "nowhere")


class Trained:
    """As much of a Writer as `check_same` looks at."""

    KIND, TRAINING = "writer", WriterTraining

    def __init__(self, kind="writer", training=None, **settings):
        self.known = {"kind": kind, "name": "m", "settings": settings, "corpus": {"name": "ptb"}, "vocabulary": ["a"],
                      "training": dataclasses.asdict(WriterTraining()) if training is None else training}

    def configuration(self):
        return self.known


def test_a_run_may_go_on_with_the_same_settings_alone(tmp_path):
    def saved(about, threads=1):
        checkpoint.save(tmp_path / "checkpoint.npz", {}, {"about": about, "trainer": {"threads": threads}})
    assert not runs.check_same(tmp_path, Trained())
    saved(Trained(hidden=3).known)
    assert runs.check_same(tmp_path, Trained(hidden=3), threads=1)
    for other, message in ((Trained(hidden=4), "hidden 3 there, 4 now"),
                           (Trained(hidden=3, layers=1), "layers None there, 1 now")):
        with pytest.raises(ValueError, match=message):
            runs.check_same(tmp_path, other)
    with pytest.raises(ValueError, match="threads 1 there, 2 now"):
        runs.check_same(tmp_path, Trained(hidden=3), threads=2)
    before_schedules = dataclasses.asdict(WriterTraining())
    del before_schedules["schedule"], before_schedules["unit"]          # a run older than these settings has their defaults
    saved(Trained(training=before_schedules).known)
    assert runs.check_same(tmp_path, Trained())
    saved(Trained(kind="translator", training={"reverse_source": True}).known)
    with pytest.raises(ValueError, match="translator there, writer now"):
        runs.check_same(tmp_path, Trained())


@pytest.mark.parametrize("schedule, allowed", [("constant", True), ("decay", True), ("linear", False)])
def test_more_epochs_are_other_settings_where_the_rate_knows_the_last(schedule, allowed, tmp_path):
    few, more = (Trained(training=dataclasses.asdict(WriterTraining(epochs=n, schedule=schedule))) for n in (2, 3))
    checkpoint.save(tmp_path / "checkpoint.npz", {}, {"about": few.known})
    if allowed:
        assert runs.check_same(tmp_path, more)
    else:
        with pytest.raises(ValueError, match="epochs 2 there, 3 now"):
            runs.check_same(tmp_path, more)
