"""Groups of targets by the distance to their last occurrence."""

import numpy as np
import pytest

from numpy_attention.data.batching import DocumentBatches, PairBatches, TextBatches
from numpy_attention.data.vocabulary import PAD
from numpy_attention.experiments.analysis.losses import RECENT, groups_of, last_seen

V = 12
TARGETS = [[7, 6, 5], [4, 8, 9], [5]]
PAIRS = PairBatches([[4, 5, 6, 7], [8, 4], [9, 9, 5]], TARGETS, batch_size=5)
TEXT = TextBatches(list(np.random.default_rng(3).integers(4, V, 300)), batch_size=4, steps=9)


@pytest.mark.parametrize("batches", [
    TEXT, DocumentBatches([[4, 5, 4, 4, 6, 7, 5], [8, 9, 8], [5] * 50], batch_size=2, steps=4)])
def test_distances_by_hand(batches):
    past = None
    read = {}
    for place in batches.order():
        batch = batches.batch(place)
        if not batches.carried(place):
            past, read = None, {}
        found, past = last_seen(batch.inputs, batch.targets, past)
        for b in range(batch.inputs.shape[1]):
            words = read.setdefault(b, [])
            for t, target in enumerate(batch.targets[:, b]):
                words.append(batch.inputs[t, b])
                back = [k + 1 for k, word in enumerate(words[::-1][:RECENT[-1]]) if word == target]
                if target == PAD:
                    assert np.isnan(found[t, b])
                else:
                    assert found[t, b] == (back[0] if back else np.inf)


def test_pairs_form_one_group():
    groups = groups_of(PAIRS)
    assert list(groups) == ["all"]
    assert sum(one.sum() for one in groups["all"]) == sum(len(one) + 1 for one in TARGETS)
