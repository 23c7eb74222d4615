"""Maxout on a small example. Gradients and laws: tests/test_checks.py."""

import numpy as np
import pytest

from numpy_attention.layers.maxout import Maxout


def test_maxout():
    x = np.array([[1.0, 3.0, -2.0, -5.0, 4.0, 4.0]])
    t, chosen = Maxout().forward(x)
    assert t.tolist() == [[3, -2, 4]]
    dx = Maxout().backward(np.array([[10.0, 20.0, 30.0]]), chosen)
    assert dx.tolist() == [[0, 10, 20, 0, 30, 0]]                       # ties: the first
    with pytest.raises(ValueError, match="the last axis of x has length 5; expected an even"):
        Maxout().forward(x[:, :5])
