"""General attention against its equations."""

import equations
import numpy as np

from numpy_attention.attention.general import GeneralAttention
from numpy_attention.gradcheck import randomize

Q, D = 3, 4


def test_equations(rng):
    attention = randomize(GeneralAttention.create(rng, Q, D, dtype=np.float64), rng)
    equations.check_equations(attention, lambda q, h: h @ (attention.W_a.T @ q), rng, Q, D)
