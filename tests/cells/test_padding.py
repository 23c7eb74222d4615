"""More padding does not change outputs or gradients of recurrent layers, whatever it contains."""

import laws
import numpy as np
import pytest

from numpy_attention.cells.stacked import Stacked
from numpy_attention.gradcheck.cases import CASES
from numpy_attention.gradcheck.cases.case import B, I, T, ragged
from numpy_attention.layers.dropout import position_ids
from numpy_attention.registry import CELLS, RESETS, UPDATES, resolve

MASK = ragged(T, [4, 2, 1])
MORE = 3

LAYERS = [resolve("cell", name, CELLS).__name__ for name in CELLS]
LAYERS += [f"GRU {reset} {update}" for reset in RESETS for update in UPDATES]
LAYERS += ["Bidirectional", "Stacked"]


def run(layer, xs, mask, dys, state, dstate):
    ys, last, cache = call(layer, xs, mask, state)
    grads = layer.zeros_like()
    dxs, dfirst = layer.backward(dys, dstate, cache, grads)
    return {"ys": ys, "last": last, "dxs": dxs, "dfirst": dfirst, "grads": grads.vector}


def call(layer, xs, mask, state):
    """Call `forward`; a stack gets dropout as well."""
    if not isinstance(layer, Stacked):
        return layer.forward(xs, state, mask)
    row_ids = position_ids(len(xs), np.arange(B))
    return layer.forward(xs, state, mask, np.random.default_rng(1), row_ids)


@pytest.mark.parametrize("name", LAYERS)
def test_padding_changes_nothing(rng, name):
    case = CASES[name](rng, np.float64)
    layer = case.target
    xs, state = case.inputs
    ys, last, _ = call(layer, xs, MASK, state)
    dys, dstate = laws.upstream_of((ys, last))
    dys *= MASK[:, :, None]
    garbage = 100 * rng.standard_normal((MORE, B, I))
    zeros = np.zeros((MORE,) + dys.shape[1:])
    short = run(layer, xs, MASK, dys, state, dstate)
    long = run(layer, np.concatenate([xs, garbage]),
               np.concatenate([MASK, np.zeros((MORE, B), bool)]),
               np.concatenate([dys, zeros]), state, dstate)
    assert not long["dxs"][T:].any() and not long["dxs"][:T][~MASK].any()
    long |= {"ys": long["ys"][:T], "dxs": long["dxs"][:T]}
    laws.padding_changes_nothing(short, long, lambda r: r)
