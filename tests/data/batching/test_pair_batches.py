"""Batches of sentence pairs: padding, shares, and order within an epoch."""

import numpy as np
import pytest

from numpy_attention.data.batching import PairBatches, pair_batch
from numpy_attention.data.pairs import Pair
from numpy_attention.data.vocabulary import BOS, EOS, PAD, Vocabulary


def test_pair_batch_by_hand():
    batch = pair_batch([[4, 5, 6], [7]], [[8], [9, 4]])
    assert batch.source.T.tolist() == [[4, 5, 6, EOS], [7, EOS, PAD, PAD]]
    assert batch.target_in.T.tolist() == [[BOS, 8, PAD], [BOS, 9, 4]]
    assert batch.target_out.T.tolist() == [[8, EOS, PAD], [9, 4, EOS]]
    assert batch.size == 2 and batch.tokens == 5 and batch.rows.tolist() == [0, 1]
    assert batch.source_mask.sum(0).tolist() == [4, 2]
    assert batch.target_mask.sum(0).tolist() == [2, 3]
    assert ((batch.target_in != PAD) == batch.target_mask).all()
    reversed_ = pair_batch([[4, 5, 6], [7]], [[8], [9, 4]], reverse_source=True)
    assert reversed_.source.T.tolist() == [[6, 5, 4, EOS], [7, EOS, PAD, PAD]]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_shares_partition_rows_and_keep_all_words(rng, n):
    sources, targets = (
        [rng.integers(4, 9, k).tolist() for k in rng.integers(1, 8, 7)] for _ in range(2)
    )
    batch = pair_batch(sources, targets)
    shares = [batch.share(k, n) for k in range(n)]
    assert np.concatenate([share.rows for share in shares]).tolist() == list(range(7))
    assert max(share.size for share in shares) - min(share.size for share in shares) <= 1
    for share in shares:
        assert share.source.flags.c_contiguous
        assert share.source[-1].any() and share.target_out[-1].any()
        for b, row in enumerate(share.rows):
            assert share.source[:, b][share.source_mask[:, b]].tolist() == sources[row] + [EOS]
            assert share.target_out[:, b][share.target_mask[:, b]].tolist() == targets[row] + [EOS]
            assert share.target_in[:, b][share.target_mask[:, b]].tolist() == [BOS] + targets[row]


def batches(rng, count=103, **settings):
    lengths = rng.integers(1, 30, count)
    return PairBatches([[4] * n for n in lengths], [[5] * (n + 1) for n in lengths], **settings)


def test_each_epoch_visits_every_pair_once_in_a_new_order(rng):
    data = batches(rng, batch_size=8, block=4)
    epochs = [data.order(np.random.default_rng([1, k])) for k in (0, 1, 0)]
    for order in epochs:
        assert len(order) == len(data) == 13
        assert sorted(np.concatenate(order)) == list(range(103)) and max(map(len, order)) == 8
    assert any((a != b).any() for a, b in zip(epochs[0], epochs[1]) if len(a) == len(b))
    # the same seed gives the same epoch
    assert all((a == b).all() for a, b in zip(epochs[0], epochs[2]))


def test_batches_hold_sentences_of_similar_length(rng):
    data = batches(rng, 400, batch_size=10, block=20)

    def spread(order):
        return np.mean([np.ptp([len(data.targets[i]) for i in batch]) for batch in order])

    assert spread(data.order(rng)) < 0.25 * spread(np.array_split(rng.permutation(400), 40))
    in_order = data.order()
    lengths = [len(data.targets[i]) for batch in in_order for i in batch]
    assert lengths == sorted(lengths)
    assert all((a == b).all() for a, b in zip(in_order, data.order()))
    firsts = [len(data.targets[batch[0]]) for batch in data.order(rng)]
    assert firsts != sorted(firsts)                 # batches are shuffled, not sorted by length


def test_sorted_by_target_length_then_source_length():
    sizes = [(9, 2), (1, 3), (5, 1), (2, 2), (7, 2), (30, 1)]       # (source, target)
    data = PairBatches([[4] * s for s, _ in sizes], [[5] * t for _, t in sizes], batch_size=1)
    assert [int(i) for (i,) in data.order()] == [2, 5, 3, 4, 0, 1]


def test_default_batch_and_block_sizes():
    data = PairBatches([[4]] * 65, [[5]] * 65)
    assert (data.batch_size, data.block) == (64, 20) and len(data) == 2


def test_pairs_are_encoded():
    pairs = [Pair(("a", "b"), ("x",), frozenset()), Pair(("c",), ("y", "x"), frozenset())]
    words = Vocabulary(["a", "b", "c"])
    mots = Vocabulary(["x", "y"])
    data = PairBatches.encode(pairs, words, mots, batch_size=2)
    assert data.sources == [[4, 5], [6]] and data.targets == [[4], [5, 4]]
    assert data.batch([1, 0]).source.T.tolist() == [[6, EOS, PAD], [4, 5, EOS]]
    assert data.carried(3) is False


@pytest.mark.parametrize("make, error, message", [
    (lambda: pair_batch([[4], []], [[4], [5]]), ValueError, r"sources\[1\] of this batch is empty"),
    (lambda: pair_batch([[4]], [[]]), ValueError, r"targets\[0\] of this batch is empty"),
    (lambda: pair_batch([[4]], []), ValueError, "sources and targets have lengths 1 and 0"),
    (lambda: PairBatches([], []), ValueError, "there are no pairs; use a larger corpus"),
    (lambda: PairBatches([[4]], [["a"]]), TypeError, "targets contain values of type str"),
    (lambda: PairBatches([[4]], [[-4]]), ValueError, "targets contain the id -4"),
    (lambda: PairBatches([[4]], [4]), TypeError, r"targets\[0\] is 4, of type int"),
    (lambda: PairBatches([[4]], [[4]], 0), ValueError, "batch_size = 0"),
    (lambda: PairBatches([[4]], [[4]], reverse_source="no"), TypeError, "reverse_source is 'no'"),
    (lambda: PairBatches([[4]], [[4]]).batch([1]), ValueError, "index 1 is out of range"),
])
def test_invalid_batches(make, error, message):
    with pytest.raises(error, match="^" + message):
        make()
