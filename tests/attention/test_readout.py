"""The states that readouts remember."""

import histories
import numpy as np
import pytest
from histories import MASK, B, H, T

from numpy_attention.attention.readout import last


@pytest.fixture(params=["key-value", "ngram"])
def readout(request, rng):
    if request.param == "ngram":
        return histories.ngram(rng)
    return histories.key_value(rng, parts=2)


def test_memory_precedes_the_states(readout, rng):
    h = rng.standard_normal((T, B, H))
    before, known_before = histories.memory_of(rng, 2)
    states, known = readout.remember(h, MASK, (before, known_before))
    assert (states == np.concatenate([before, h.transpose(1, 0, 2)], 1)).all()
    assert (known == np.concatenate([known_before, MASK.T], 1)).all()
    without_memory, known = readout.remember(h, MASK, None)
    assert (without_memory == h.transpose(1, 0, 2)).all() and (known == MASK.T).all()
    padded, known = readout.remember(h, MASK, None, 2)
    assert (padded[:, 2:] == without_memory).all() and not known[:, :2].any()


def test_last():
    states = np.arange(24).reshape(2, 4, 3)
    known = np.ones((2, 4), bool)
    assert last(states, known, 0) is None
    assert (last(states, known, 3)[0] == states[:, 1:]).all()
    assert last(states, known, 3)[1].shape == (2, 3)
    assert (last(states, known, 9)[0] == states).all()


def test_no_memory_without_carried(readout, rng):
    assert histories.forward(readout, rng.standard_normal((T, B, H)))[1] is None


def test_reach(rng):
    assert histories.ngram(rng).reach == 2
    assert histories.key_value(rng).reach == 64
    assert histories.key_value(rng, window=3).reach == 3
    assert histories.key_value(rng, window=3, carried=5).reach == 5
