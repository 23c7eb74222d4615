"""The score `single`: the plain form of its equation."""

import histories
import numpy as np
import pytest

from numpy_attention.attention.single import Single
from numpy_attention.gradcheck import randomize


@pytest.mark.parametrize("window", [None, 1, 3])
def test_the_plain_form_gives_the_same(rng, window):
    attention = Single.create(rng, histories.H, histories.K, histories.A, dtype=np.float64)
    histories.follows_the_plain_form(randomize(attention, rng), window, rng)
