"""What readers remember, and what they refuse."""

import histories
import numpy as np
import pytest
from histories import MASK, B, H, T

from numpy_attention.attention.readout import last


@pytest.fixture(params=["key-value", "ngram"])
def reader(request, rng):
    if request.param == "ngram":
        return histories.ngram(rng)
    return histories.key_value(rng, roles=2)


def test_the_memory_stands_before_the_states(reader, rng):
    h = rng.standard_normal((T, B, H))
    before, known_before = histories.memory_of(rng, 2)
    states, known = reader.remember(h, MASK, (before, known_before))
    assert (states == np.concatenate([before, h.transpose(1, 0, 2)], 1)).all()
    assert (known == np.concatenate([known_before, MASK.T], 1)).all()
    alone, known = reader.remember(h, MASK, None)
    assert (alone == h.transpose(1, 0, 2)).all() and (known == MASK.T).all()
    padded, known = reader.remember(h, MASK, None, 2)
    assert (padded[:, 2:] == alone).all() and not known[:, :2].any()


def test_the_last_states():
    states = np.arange(24).reshape(2, 4, 3)
    known = np.ones((2, 4), bool)
    assert last(states, known, 0) is None
    assert (last(states, known, 3)[0] == states[:, 1:]).all()
    assert last(states, known, 3)[1].shape == (2, 3)
    assert (last(states, known, 9)[0] == states).all()


def test_without_carried_there_is_no_memory(reader, rng):
    assert histories.forward(reader, rng.standard_normal((T, B, H)))[1] is None


def test_what_is_kept_to_read_on_word_by_word(rng):
    assert histories.ngram(rng).reach == 2
    assert histories.key_value(rng).reach == 64
    assert histories.key_value(rng, window=3).reach == 3
    assert histories.key_value(rng, window=3, carried=5).reach == 5
