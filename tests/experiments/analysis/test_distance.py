"""Losses grouped by the distance to the target's last occurrence."""

import numpy as np
import pytest

from numpy_attention.data.batching import DocumentBatches, TextBatches
from numpy_attention.experiments.analysis import loss_by_distance
from numpy_attention.experiments.analysis.losses import groups_of, losses_of
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.language_model import LanguageModel

V = 40
TEXT = TextBatches(list(np.random.default_rng(3).integers(4, V, 600)), batch_size=4, steps=9)
GROUPS = ["all", "1 to 5 ago", "6 to 15 ago", "16 to 35 ago", "not since"]


class Table:
    """A model whose loss is the id of the target."""

    def losses(self, batch, state=None):
        return batch.targets.astype(float), state


@pytest.mark.parametrize("make", [
    lambda rng: LanguageModel.create(rng, V, 6, init=0.8),
    lambda rng: AttentiveLanguageModel.create(rng, V, "ngram", 6, init=0.8),
    lambda rng: AttentiveLanguageModel.create(rng, V, "combined", 6, init=0.8, carried=5)])
def test_any_language_model(make, rng):
    model = make(rng)
    found = loss_by_distance(model, TEXT, rng)
    assert list(found.loss) == list(found.tokens) == GROUPS
    own = losses_of(model, TEXT)
    for words, chosen in groups_of(TEXT).items():
        losses = np.concatenate([loss[part] for loss, part in zip(own, chosen)])
        assert found.tokens[words] == len(losses)
        assert found.loss[words].mean == pytest.approx(losses.mean())
        assert found.loss[words].low < losses.mean() < found.loss[words].high
    assert sum(found.tokens[words] for words in GROUPS[1:]) == found.tokens["all"] == 599


def test_by_hand(rng):
    """Token 4 was just read, 5 two tokens earlier, 7 and 8 never."""
    found = loss_by_distance(Table(), DocumentBatches([[5, 4, 4, 5, 7, 8]], 1), rng)
    assert found.tokens == {"all": 5, "1 to 5 ago": 2, "not since": 3}
    assert found.loss["1 to 5 ago"] == (4.5, 4.5, 4.5)      # one unit has no spread
    assert found.loss["not since"].mean == pytest.approx((4 + 7 + 8) / 3)


def test_two_models_are_paired(rng):
    one = loss_by_distance(Table(), TEXT, rng)
    other = loss_by_distance(LanguageModel.create(rng, V, 6), TEXT, rng)
    more = other.more_than(one, rng)
    assert list(more) == GROUPS
    for words in GROUPS:
        wanted = other.loss[words].mean - one.loss[words].mean
        assert more[words].mean == pytest.approx(wanted)
        assert more[words].low < wanted < more[words].high
    assert set(one.more_than(one, rng).values()) == {(0, 0, 0)}
