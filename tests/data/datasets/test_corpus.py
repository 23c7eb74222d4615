"""Corpus entries: what they pass to their read function, and checks made before it is called."""

import pytest

from numpy_attention.data.datasets.corpus import GeneratedCorpus, ParallelCorpus
from numpy_attention.data.pairs import Pair

KNOWN = {"name": "made", "description": "", "languages": "", "licence": "", "origin": "shipped"}


def parallel(read, **fields):
    return ParallelCorpus(**KNOWN, read=read, **fields)


def pair_of(*numbers):
    words = tuple(map(str, numbers))
    return Pair(words, words)


def test_split_aliases():
    corpus = parallel(lambda split: [Pair((split,), ("x",))], split_aliases={"dev": "valid"})
    assert corpus.pairs("dev") == corpus.pairs("valid") == [Pair(("valid",), ("x",))]
    for unknown in ("val", ["dev"], None):
        with pytest.raises(ValueError, match="^split = .*; expected one of 'train', 'valid', "):
            corpus.pairs(unknown)


def test_lengths_are_passed_to_readers_that_accept_them():
    def read(split):
        return [pair_of(*range(n)) for n in (2, 3, 5)]

    def read_with_lengths(split, max_length=None, min_length=None):
        return read(split) + [pair_of(min_length, max_length)]

    plain = parallel(read).pairs("test", None, None, 1, 4)
    assert plain == [pair_of(0, 1), pair_of(0, 1, 2)]
    assert parallel(read_with_lengths).pairs("test", None, None, 1, 4) == plain + [pair_of(1, 4)]


@pytest.mark.parametrize("limit", ["count", "min_length", "max_length"])
def test_limit_below_1_raises_before_the_corpus_is_read(limit):
    corpus = parallel(lambda split: pytest.fail("the corpus was read"))
    with pytest.raises(ValueError, match=f"^{limit} = 0; expected an integer of at least 1$"):
        corpus.pairs("test", **{limit: 0})


def test_generated_corpus_has_default_split_sizes():
    def read(rng, count, keep):
        assert callable(keep)
        return [count, rng.integers(1000)]

    known = {name: KNOWN[name] for name in ("name", "description", "languages")}
    corpus = GeneratedCorpus(**known, read=read)
    assert corpus.origin == "generated" and corpus.licence == "none needed: made up on the spot"
    sizes = [corpus.pairs(split)[0] for split in ("train", "valid", "test")]
    assert sizes == [20_000, 1_000, 1_000]
    assert corpus.pairs("train", count=7) == corpus.pairs("test", count=7)      # both with seed 0
    for own in ("keep", "length"):
        with pytest.raises(ValueError, match=f"'made' has no option {own}; available options: n"):
            corpus.pairs("train", **{own: 3})
