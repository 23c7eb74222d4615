"""The split of a sentence depends only on its words."""

import hashlib

import pytest

from numpy_attention.data.splits import split_of


def test_split_of_ignores_case_and_punctuation():
    sentences = [f"w{k} and v{k % 7}".split() for k in range(2000)]
    found = [split_of(sentence) for sentence in sentences]
    shouted = [[word.upper() for word in sentence] + ["!"] for sentence in sentences]
    assert found == [split_of(sentence) for sentence in shouted]
    assert 60 < found.count("test") < 140 and 60 < found.count("valid") < 140
    assert split_of(["!"]) in ("train", "valid", "test")
    assert split_of("in the beginning".split(), held_out=0.999) != "train"


def test_apostrophes_and_surrogates_count():
    assert split_of(["don't", "see"]) == "test"
    assert split_of(["see"]) == "train"
    assert split_of(["A\ud800"]) == "train" and split_of(["\ud800a"]) == "test"


def test_held_out_share_is_halved_into_valid_and_test():
    u = int.from_bytes(hashlib.sha256(b"b").digest()[:8], "big") / 2**64
    assert 0 < u < 0.4
    assert split_of(["b"], held_out=u) == "train"               # u is not below u
    assert split_of(["b"], held_out=1.01 * u) == "valid"
    assert split_of(["b"], held_out=2 * u) == "valid"           # nor below half of 2u
    assert split_of(["b"], held_out=2.01 * u) == "test"


def test_split_of_raises():
    with pytest.raises(TypeError, match="^tokens is the string 'a b'; expected a list of tokens"):
        split_of("a b")
    for share in (-0.1, 1.1):
        with pytest.raises(ValueError, match=f"^held_out = {share}; expected a fraction from 0 to"):
            split_of(["a"], share)
