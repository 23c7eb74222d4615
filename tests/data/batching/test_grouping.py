"""Sequences: padding, grouping by length, and sharing among workers."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numpy_attention.data.batching.grouping import grouped, padded, share_of
from numpy_attention.data.vocabulary import PAD


def test_padded():
    assert padded([[1], [2, 3]]).tolist() == [[1, 2], [PAD, 3]]
    assert padded([[1], [2]], length=3).tolist() == [[1, 2], [PAD, PAD], [PAD, PAD]]
    assert padded([[], [3]]).tolist() == [[PAD, 3]]


def test_star_import_exports_public_names():
    there = {}
    exec("from numpy_attention.data.batching import *", there)
    assert {"DocumentBatches", "PairBatch", "PairBatches", "TextBatch", "TextBatches", "grouped",
            "padded", "pair_batch"} <= set(there)


def test_sort_is_stable(rng):
    lengths = rng.integers(0, 3, 500)
    (group,) = grouped(lengths, 500)
    assert group.tolist() == sorted(range(500), key=lambda i: lengths[i])
    # one block: in shuffled order
    (group,) = grouped(lengths, 500, rng=np.random.default_rng(5))
    shuffled = np.random.default_rng(5).permutation(500)
    assert group.tolist() == sorted(shuffled.tolist(), key=lambda i: lengths[i])


def test_sorted_only_within_blocks(rng):
    lengths = rng.permutation(60)
    groups = grouped(lengths, 5, block=4, rng=rng)
    assert sorted(np.concatenate(groups)) == list(range(60)) and {len(g) for g in groups} == {5}
    for group in groups:
        assert (np.diff(lengths[group]) > 0).all()              # in order within a batch
    # a block is four batches: each spread lies between those of sorted and unsorted batches
    spreads = [np.ptp(lengths[group]) for group in groups]
    assert 5 < np.mean(spreads) < 25                            # a single block would give 4


@pytest.mark.parametrize("size, n", [(7, 3), (2, 5), (12, 4), (0, 2), (1, 1), (8, 3)])
def test_shares_are_nearly_equal_and_consecutive(size, n):
    shares = [list(range(size))[share_of(size, k, n)] for k in range(n)]
    assert sum(shares, []) == list(range(size))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_shares_out_of_range_raise():
    for k, n, name in ((0, 0, "n = 0; .* of at least 1"), (2, 2, "k = 2; .* from 0 to 1")):
        with pytest.raises(ValueError, match=f"^{name}$"):
            share_of(9, k, n)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 9), st.integers(1, 4),
       st.none() | st.integers(0, 9))
def test_every_sequence_is_in_one_group(lengths, batch_size, block, seed):
    rng = None if seed is None else np.random.default_rng(seed)
    groups = grouped(np.array(lengths), batch_size, block, rng)
    assert sorted(i for group in groups for i in group) == list(range(len(lengths)))
    assert max(map(len, groups)) <= batch_size
    assert len(groups) == -(-len(lengths) // batch_size)


def test_blocks_of_twenty_batches_by_default():
    """As in Bahdanau et al. 2015, appendix B.2."""
    assert inspect.signature(grouped).parameters["block"].default == 20
