"""First non-finite array: a parameter, else an activation in forward order, else a gradient."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from small import pairs, translator_model

from numpy_attention.data.batching import PairBatches, TextBatches
from numpy_attention.layers.linear import Linear
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.training.diagnosis import first_bad


class Steps(NamedTuple):
    ids: np.ndarray
    states: np.ndarray


@dataclass
class Weights:
    weights: list


class Twice(Linear):
    """A layer whose cache contains every kind of container."""

    def forward(self, batch):
        y = batch @ self.W
        with np.errstate(all="ignore"):
            return y / y, (Steps(np.arange(3), y * 1e30), Weights([y, y * 1e38]))


def bad(W=1.0, x=1.0, gradient=0.0):
    """Diagnose a layer where one weight, one input row and one gradient entry are as given."""
    model = Twice(np.ones((2, 2), np.float32), None)
    model.W[0, 1] = W
    grads = model.zeros_like()
    grads.W[1, 0] = gradient
    with np.errstate(all="ignore"):
        return first_bad(model, np.array([[1, 1], [x, x]], np.float32), grads)


def test_order_of_diagnosis():
    assert bad(W=np.nan, x=np.inf, gradient=np.nan) == "the parameter W"
    assert bad(x=1e9, gradient=np.nan) == "the activation cache.0.states"
    assert bad(x=10.0) == "the activation cache.1.weights.1"
    assert bad(x=0.0) == "the activation output.0"
    assert bad(gradient=np.inf) == "the gradient of W"
    assert bad() == "the loss"


@pytest.mark.parametrize("make, train", [
    (translator_model, PairBatches(*pairs(6), batch_size=6)),               # GRU, reset="before"
    (partial(LuongTranslator.create, np.random.default_rng(0), 9, 9, embedding=5, hidden=6),
     PairBatches(*pairs(6), batch_size=6)),                                 # LSTM
    (partial(LanguageModel.create, np.random.default_rng(0), 9, hidden=6, cell="gru"),
     TextBatches(np.arange(30) % 9, batch_size=2, steps=5)),
])
def test_uninitialized_memory_is_ignored(make, train, monkeypatch):
    """np.empty returns NaN here."""
    model = make()
    for name in ("empty", "empty_like"):
        monkeypatch.setattr(np, name, filled(getattr(np, name)))
    batch = train.batch(train.order()[0])
    assert first_bad(model, batch, model.zeros_like()) == "the loss"


def filled(empty):
    def with_nan(*arguments, **settings):
        array = empty(*arguments, **settings)
        if array.dtype.kind == "f":
            array.fill(np.nan)
        return array
    return with_nan
