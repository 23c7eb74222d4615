"""What each kind of corpus gives the function that it is read by, and what it refuses before."""

import pytest

from numpy_attention.data.datasets.corpus import GeneratedCorpus, ParallelCorpus
from numpy_attention.data.pairs import Pair

KNOWN = {"name": "made", "description": "", "languages": "", "licence": "", "origin": "shipped"}


def parallel(read, **fields):
    return ParallelCorpus(**KNOWN, read=read, **fields)


def pair_of(*numbers):
    words = tuple(map(str, numbers))
    return Pair(words, words)


def test_another_name_of_a_split_is_known_before_it_is_read():
    corpus = parallel(lambda split: [Pair((split,), ("x",))], split_aliases={"dev": "valid"})
    assert corpus.pairs("dev") == corpus.pairs("valid") == [Pair(("valid",), ("x",))]
    for unknown in ("val", ["dev"], None):
        with pytest.raises(ValueError, match="^split = .*; expected one of train, valid, test$"):
            corpus.pairs(unknown)


def test_lengths_are_passed_to_a_reader_with_these_parameters():
    def read(split):
        return [pair_of(*range(n)) for n in (2, 3, 5)]

    def read_with_lengths(split, max_length=None, min_length=None):
        return read(split) + [pair_of(min_length, max_length)]

    plain = parallel(read).pairs("test", None, None, 1, 4)
    assert plain == [pair_of(0, 1), pair_of(0, 1, 2)]
    assert parallel(read_with_lengths).pairs("test", None, None, 1, 4) == plain + [pair_of(1, 4)]


@pytest.mark.parametrize("limit", ["count", "min_length", "max_length"])
def test_a_limit_below_1_is_refused_before_the_corpus_is_read(limit):
    corpus = parallel(lambda split: pytest.fail("the corpus was read"))
    with pytest.raises(ValueError, match=f"^{limit} = 0; expected an integer of at least 1$"):
        corpus.pairs("test", **{limit: 0})


def test_made_up_pairs_are_as_many_as_a_split_has():
    def read(rng, count, keep):
        assert callable(keep)
        return [count, rng.integers(1000)]

    known = {name: KNOWN[name] for name in ("name", "description", "languages")}
    corpus = GeneratedCorpus(**known, read=read)
    assert corpus.origin == "generated" and corpus.licence == "none needed: made up on the spot"
    sizes = [corpus.pairs(split)[0] for split in ("train", "valid", "test")]
    assert sizes == [20_000, 1_000, 1_000]
    assert corpus.pairs("train", count=7) == corpus.pairs("test", count=7)      # of seed 0
    for own in ("keep", "length"):
        with pytest.raises(ValueError, match=f"^made has no option {own}; its options are: n"):
            corpus.pairs("train", **{own: 3})
