"""Held-out data: about one in twenty, at least one, and disjoint from the training data."""

import numpy as np
import pytest

from numpy_attention.data.held_out import hold_out_end, hold_out_pairs
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text


def generator(seed=0):
    return np.random.default_rng(seed)


def test_held_out_pairs_share_no_source_and_depend_on_the_seed():
    pairs = [Pair([str(i % 150)], [str(i)]) for i in range(200)]
    train, valid = hold_out_pairs(pairs, generator())
    assert {p.source for p in train}.isdisjoint(p.source for p in valid)
    assert sorted(train + valid, key=pairs.index) == pairs and 10 <= len(valid) <= 11
    assert hold_out_pairs(pairs, generator()) == (train, valid)
    assert hold_out_pairs(pairs, generator(1))[1] != valid


def test_share_sets_the_number_held_out():
    pairs = [Pair([str(i)], ["x"]) for i in range(100)]
    assert len(hold_out_pairs(pairs, generator())[1]) == 5
    assert len(hold_out_pairs(pairs, generator(), share=0.5)[1]) == 50


def test_at_least_one_pair_is_held_out_and_one_kept():
    one = Pair(["a"], ["b"])
    other = Pair(["b"], ["c"])
    train, valid = hold_out_pairs([one, other], generator())
    assert len(train) == len(valid) == 1
    train, valid = hold_out_pairs([one] * 99 + [other], generator(), share=1)
    assert train and valid
    message = "got 9 pairs with only 1 distinct source .*, or pass valid_source and valid_target$"
    with pytest.raises(ValueError, match=message):
        hold_out_pairs([one] * 9, generator())


@pytest.mark.parametrize("hold_out, share", [
    (lambda share: hold_out_pairs([Pair(["a"], ["x"])] * 2, generator(), share), 1.5),
    (lambda share: hold_out_end(Text([[["a"], ["b"]]]), share), -0.5),
])
def test_share_out_of_range_raises(hold_out, share):
    with pytest.raises(ValueError, match=f"^share = {share}; expected a fraction from 0 to 1$"):
        hold_out(share)


@pytest.mark.parametrize("text, parts", [
    (Text([[["a"], ["b"]]]), (1, 1)),
    (Text([[["a"]] * 100]), (95, 5)),
    (Text([[list("ab")]], "characters"), (1, 1)),
    (Text([[list("abcdefghij") * 4], [list("abcdefghij") * 4]], "characters"), (76, 4)),
])
def test_end_of_a_text_is_held_out(text, parts):
    def items(some):
        return sum(some.sentences, []) if some.unit == "characters" else some.sentences

    halves = hold_out_end(text)
    found = [items(half) for half in halves]
    assert tuple(map(len, found)) == parts
    assert [half.unit for half in halves] == [text.unit] * 2
    assert found[0] + found[1] == items(text)


@pytest.mark.parametrize("text, what", [
    (Text([[["a", "b"]]]), "got 1 sentence; holding"),
    (Text([[["a"]]], "characters"), "got 1 character; holding"),
    (Text([], "characters"), "got 0 characters; holding"),
])
def test_nothing_to_hold_out(text, what):
    with pytest.raises(ValueError, match=f"^{what} out .*or pass valid_text$"):
        hold_out_end(text)
