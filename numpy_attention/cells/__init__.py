"""Recurrent cells, and stacks of them. Models call the methods of `protocol.RecurrentCell`.

    ys, state, cache = cell.forward(xs, state, mask)        xs (T, B, I), mask (T, B) → ys (T, B, H)
    dxs, dstate      = cell.backward(dys, dstate, cache, grads)
"""

from numpy_attention.lazy import exports

_PUBLIC = {
    "Cell": "cell",
    "RNN": "rnn",
    "LSTM": "lstm",
    "GRU": "gru",
    "Stacked": "stacked",
    "Bidirectional": "bidirectional",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = exports(__name__, _PUBLIC)
