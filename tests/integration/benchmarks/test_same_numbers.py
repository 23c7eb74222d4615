"""What the comparison of numbers compares."""

import numpy as np
import pytest
import same_numbers
from same_numbers import EPOCH, WAYS, Way, apart, encoded, padded_loss, row, trained, written

from numpy_attention.training.evaluation import evaluate


@pytest.fixture(scope="module")
def short():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(same_numbers, "EPOCH", 3)
        return [trained(3, threads) for threads in (1, 1, 2)]


def test_the_same_training_gives_the_same_bits_and_two_threads_nearly_the_same(short):
    (one, losses, _), (same, same_losses, _), (two, other_losses, _) = short
    assert len(losses) == 3 and EPOCH == 100
    assert np.array_equal(one.model.vector, same.model.vector) and losses == same_losses
    assert not np.array_equal(one.model.vector, two.model.vector)
    np.testing.assert_allclose(other_losses, losses, rtol=1e-6)


def test_one_model_in_several_ways(short):
    translator, _, pairs = short[0]
    batches = translator.batches(pairs)
    loss = evaluate(translator.model, batches).loss
    assert padded_loss(translator.model, batches) == pytest.approx(loss, rel=1e-6)
    one = translator.translate([pairs[0].source], beam=1)[0]
    assert len(encoded(translator, one)) == 1


def test_differences_are_relative_and_0_where_there_are_none():
    assert apart(1.5, 2.0) == 0.25 and written(0.0) == "0" and written(2.4e-8) == "2e-08"
    found = {"losses": [2.0, 1.0], "weights": np.zeros(2),
             "figures": {"perplexity": 3.0, "chrf": 20.0}}
    other = found | {"losses": [2.2, 1.0], "weights": np.array([0.0, -0.5])}
    assert row("a", other, found, 2) == ["a", "1e-01", "5e-01", "3.000000", "20.0000"]
    assert row("b", None, found, 2) == ["b", "cannot be taken here"]
    assert next(iter(WAYS.values())) == Way()
