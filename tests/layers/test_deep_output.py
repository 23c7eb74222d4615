"""The deep output against its formula. Gradients and laws: tests/test_checks.py."""

import numpy as np

from numpy_attention.layers.deep_output import DeepOutput


def test_formula(rng):
    layer = DeepOutput.create(rng, 5, 2, 4, 3, dtype=np.float64)
    layer.b[:] = rng.standard_normal(6)
    s, y, c = (rng.standard_normal((7, size)) for size in (5, 2, 4))
    t, _ = layer.forward(s, y, c)
    before = s @ layer.U_o + y @ layer.V_o + c @ layer.C_o + layer.b
    np.testing.assert_allclose(t, before.reshape(7, 3, 2).max(2))
