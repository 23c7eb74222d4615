"""What is named first: a parameter, else an activation in forward order, else a gradient."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.layers.linear import Linear
from numpy_attention.training.diagnosis import first_bad


class Steps(NamedTuple):
    ids: np.ndarray
    states: np.ndarray


@dataclass
class Looks:
    weights: list


class Twice(Linear):
    """Its forward pass leaves a cache of every kind there is."""

    def forward(self, batch):
        y = batch @ self.W
        with np.errstate(all="ignore"):
            return y / y, (Steps(np.arange(3), y * 1e30), Looks([y, y * 1e38]))


def bad(W=1.0, x=1.0, gradient=0.0):
    model = Twice(np.full((2, 2), W, np.float32), None)
    grad = model.zeros_like()
    grad.W[:] = gradient
    with np.errstate(all="ignore"):
        return first_bad(model, np.full((1, 2), x, np.float32), grad)


def test_in_order():
    assert bad(W=np.nan, x=np.inf, gradient=np.nan) == "parameter W"
    assert bad(x=1e9, gradient=np.nan) == "activation cache.0.states"
    assert bad(x=10.0) == "activation cache.1.weights.1"
    assert bad(x=0.0) == "activation output[0]"
    assert bad(gradient=np.inf) == "gradient of W"
    assert bad() == "the loss alone"
