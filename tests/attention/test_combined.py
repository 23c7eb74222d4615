"""The score `combined` against its reference implementation."""

import histories
import numpy as np
import pytest

from numpy_attention.attention.combined import Combined
from numpy_attention.gradcheck import randomize


@pytest.mark.parametrize("window", [None, 1, 3])
def test_matches_reference_implementation(rng, window):
    attention = Combined.create(rng, histories.H, histories.K, histories.A, dtype=np.float64)
    histories.matches_reference(randomize(attention, rng), window, rng)
