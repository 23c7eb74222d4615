"""Padding a batch of sequences further changes nothing, forward or backward, whatever the padding holds."""

import laws
import numpy as np
import pytest

from numpy_attention.cells.stacked import Stacked
from numpy_attention.checks import CASES
from numpy_attention.checks.case import B, I, T, ragged
from numpy_attention.layers.dropout import position_names

MASK, MORE = ragged(T, [4, 2, 1]), 3


def run(layer, xs, mask, dys, state, dstate, **extra):
    _, last, cache = result = layer.forward(xs, state, mask, **extra)
    grad = layer.zeros_like()
    dxs, dfirst = layer.backward(dys, dstate, cache, grad)
    return {"ys": result[0], "last": last, "dxs": dxs, "dfirst": dfirst, "grad": grad.vector}


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU after old", "GRU after new", "GRU before old", "GRU before new",
                                  "Bidirectional", "Stacked"])
def test_padding_changes_nothing(rng, name):
    case = CASES[name](rng, np.float64)
    layer, (xs, state) = case.target, case.inputs
    extra = lambda T: {}                                                            # noqa: E731
    if isinstance(layer, Stacked):
        extra = lambda T: {"rng": np.random.default_rng(1), "names": position_names(T, np.arange(B))}   # noqa: E731
    ys, last, _ = layer.forward(xs, state, MASK, **extra(T))
    dys, dstate = laws.upstream_of((ys * 1, last))
    dys *= MASK[:, :, None]
    garbage = 100 * rng.standard_normal((MORE, B, I))
    short = run(layer, xs, MASK, dys, state, dstate, **extra(T))
    long = run(layer, np.concatenate([xs, garbage]), np.concatenate([MASK, np.zeros((MORE, B), bool)]),
               np.concatenate([dys, np.zeros((MORE,) + dys.shape[1:])]), state, dstate, **extra(T + MORE))
    assert not long["dxs"][T:].any() and not long["dxs"][:T][~MASK].any()
    laws.padding_changes_nothing(short, long, lambda r: r | {"ys": r["ys"][:T], "dxs": r["dxs"][:T]})
