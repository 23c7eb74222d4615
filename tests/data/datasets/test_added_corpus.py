"""A new corpus needs one entry: registered at run time, it is found, loaded and used in training.

`toy_corpus` below is all that a new corpus needs.
"""

import numpy as np
import pytest

from numpy_attention.data import running_text
from numpy_attention.data.batching import PairBatches, TextBatches
from numpy_attention.data.datasets.corpora import (
    CORPORA,
    describe,
    fetch,
    find_corpus,
    load_parallel,
    load_text,
)
from numpy_attention.data.datasets.corpus import GeneratedCorpus, ParallelCorpus, TextCorpus
from numpy_attention.data.datasets.downloads import RemoteFile, fetch_file
from numpy_attention.data.datasets.generators import distinct
from numpy_attention.data.pairs import Pair
from numpy_attention.data.reading import read_tab_pairs, read_text
from numpy_attention.data.running_text import Text
from numpy_attention.data.selection import selected
from numpy_attention.data.splits import split_of
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.training.optimizers import SGD
from numpy_attention.training.trainer import Trainer


@pytest.fixture
def add(monkeypatch):
    def add(corpus):
        monkeypatch.setitem(CORPORA, corpus.name, corpus)
        return corpus

    return add


def toy_corpus():
    """Return an entry for a downloaded corpus of pairs, with its file and reader."""
    file = RemoteFile("toy/pairs.txt", "https://example.org/pairs.txt")

    def read(split, loud=False):
        pairs = read_tab_pairs(fetch_file(file), str.split, str.split)
        words = [pair for pair in pairs if pair.source[0] == split]
        return [Pair(pair.source, pair.target * 2) for pair in words] if loud else words

    return ParallelCorpus(
        name="toy", description="pairs in one file", languages="Toy → X", licence="free",
        origin="downloaded", read=read, tokenizer="spaces", files=(file,),
        parts={"loud": {"read": lambda split: read(split, True), "lowercase": False}},
    )


def two_steps(model, batches):
    """Return the change of the parameters over two training steps."""
    before = model.vector.copy()
    trainer = Trainer(model, SGD(0.5), batches, rng=np.random.default_rng(0), threads=1,
                      progress=False)
    trainer.fit(1)
    assert trainer.step == 2
    return np.abs(model.vector - before)


def test_a_parallel_corpus_is_added_and_trained(add, tmp_path, monkeypatch):
    toy = add(toy_corpus())
    (tmp_path / "toy").mkdir()
    lines = [f"{split} {'a ' * (1 + k)}\tx {'y ' * k}\n" for k in range(4)
             for split in ("train", "valid", "test")]
    (tmp_path / "toy/pairs.txt").write_text("".join(lines))
    monkeypatch.setenv("NUMPY_ATTENTION_DATA", str(tmp_path))
    assert find_corpus("toy", "parallel") is toy and fetch("toy") == [tmp_path / "toy/pairs.txt"]
    assert describe("toy").endswith("file: toy/pairs.txt from https://example.org/pairs.txt")
    with pytest.raises(ValueError, match="choose one of bible-en-es, .*, toy"):
        find_corpus("nix", "parallel")
    assert len(load_parallel("toy", "test", max_length=3)) == 2
    loud = selected({"name": "toy", "part": "loud", "count": 1})
    assert loud.load("valid") == [[Pair(("valid", "a"), ("x", "x"))]]
    assert loud.form().tokens("A, b") == ["A,", "b"] and loud.label == "toy loud"
    pairs = load_parallel("toy", "train")
    words, mots = (Vocabulary.build(getattr(pair, side) for pair in pairs)
                   for side in ("source", "target"))
    model = LuongTranslator.create(np.random.default_rng(0), len(words), len(mots), embedding=3,
                                   hidden=4, layers=1)
    assert two_steps(model, PairBatches.encode(pairs, words, mots, batch_size=2)).max() > 0


@pytest.mark.parametrize("tokenizer, unit, has_articles", [
    ("spaces", "words", True), ("characters", "characters", False)])
def test_running_text_is_added_and_trained(add, tmp_path, tokenizer, unit, has_articles):
    (tmp_path / "text.txt").write_text("a b\nc\n")
    toy = add(TextCorpus(
        name="toy", description="letters", languages="Toy", licence="free", origin="shipped",
        read=lambda split: [read_text(tmp_path / "text.txt")], tokenizer=tokenizer,
        has_articles=has_articles,
    ))
    articles = [[["a", "b"], ["c"]]]
    assert toy.articles("test") == articles
    (text,) = selected({"name": "toy"}).load("train")
    assert text == Text(articles, unit, has_articles)
    assert load_text("toy", "test") == ("abc" if unit == "characters" else articles[0])
    with pytest.raises(ValueError, match="split = 'dev'"):
        running_text.load("toy", "dev")
    vocabulary = Vocabulary.build(text.sentences)
    model = LanguageModel.create(np.random.default_rng(0), len(vocabulary), hidden=3, layers=1)
    ids = text.stream(vocabulary)
    steps = -(-(len(ids) - 1) // 2)
    assert two_steps(model, TextBatches(ids, batch_size=1, steps=steps)).max() > 0


def test_a_generated_corpus_is_added(add):
    def numbers(rng, count, digits=3, keep=None):
        def draw(rng):
            tokens = tuple(map(str, rng.integers(10, size=digits)))
            return Pair(tokens, tokens[:1])
        return distinct(draw, rng, count, keep)

    add(GeneratedCorpus(name="toy", description="digits", languages="numbers", read=numbers))
    (pairs,) = selected({"name": "toy", "count": 20, "digits": 4}).load("valid")
    assert len(pairs) == 20 and {len(pair.source) for pair in pairs} == {4}
    assert {split_of(pair.source) for pair in pairs} == {"valid"}
    assert load_parallel("toy", "test", np.random.default_rng(0), 9) == load_parallel(
        "toy", "test", count=9)
