"""Convert cells to PyTorch, and PyTorch's gradients to this package's names and layout."""

import numpy as np
import torch
from torch import nn

from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN

KINDS = {RNN: nn.RNN, LSTM: nn.LSTM, GRU: nn.GRU}


def to_torch(cell, backward_cell=None):
    """Return a PyTorch layer with the weights of a cell, or of both cells of a Bidirectional."""
    bidirectional = backward_cell is not None
    dtype = torch.from_numpy(cell.W).dtype
    make = KINDS[type(cell)]
    layer = make(len(cell.W), cell.hidden_size, bidirectional=bidirectional, dtype=dtype)
    _put(layer, "l0", cell)
    if bidirectional:
        _put(layer, "l0_reverse", backward_cell)
    return layer


def _put(layer, suffix, cell):
    """Copy the weights of one cell, transposed.

    PyTorch has two biases. The second is 0, except for the part that is the b_n of a GRU.
    """
    if isinstance(cell, GRU):
        assert (cell.reset, cell.update) == ("after", "old"), "PyTorch's GRU has no other equations"
    recurrent_bias = np.zeros_like(cell.b)
    if isinstance(cell, GRU):
        recurrent_bias[2 * cell.hidden_size:] = cell.b_n
    arrays = {
        "weight_ih_": cell.W.T,
        "weight_hh_": cell.U.T,
        "bias_ih_": cell.b,
        "bias_hh_": recurrent_bias,
    }
    with torch.no_grad():
        for name, array in arrays.items():
            getattr(layer, name + suffix).copy_(torch.from_numpy(np.ascontiguousarray(array)))


def cell_gradients(layer, suffix="l0"):
    """Return {"W", "U", "b", and "b_n" for a GRU: gradient} of a PyTorch layer."""
    names = ("weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_")
    gradients = [getattr(layer, name + suffix).grad.numpy() for name in names]
    return _named_gradients(*gradients, isinstance(layer, nn.GRU))


def _named_gradients(weight_ih, weight_hh, bias_ih, bias_hh, gru):
    named = {"W": weight_ih.T, "U": weight_hh.T, "b": bias_ih}
    if gru:
        named["b_n"] = bias_hh[2 * len(bias_hh) // 3:]
    return named


def translator_gradients(model):
    """Return {name in numpy_attention: gradient} of a TorchRNNSearch."""
    def g(parameter):
        return parameter.grad.numpy()

    E = model.target_embedding.embedding_dim
    H = model.decoder.hidden_size
    named = {
        "W_s": g(model.start.weight).T,
        "b_s": g(model.start.bias),
        "source_embedding.E": g(model.source_embedding.weight),
        "target_embedding.E": g(model.target_embedding.weight),
        "attention.W_a": g(model.W_a.weight).T,
        "attention.U_a": g(model.U_a.weight).T,
        "attention.v_a": g(model.v_a),
        "deep_output.b": g(model.deep_output.bias),
        "output.words.E": g(model.output.weight),
        "output.b": g(model.output.bias),
    }
    # PyTorch multiplies [s; y; c] and [y; c] by one matrix each; ours has one for each part
    deep = g(model.deep_output.weight).T
    named["deep_output.U_o"] = deep[:H]
    named["deep_output.V_o"] = deep[H:H + E]
    named["deep_output.C_o"] = deep[H + E:]
    d = model.decoder
    inputs = g(d.weight_ih)
    named["C"] = inputs.T[E:]
    cells = {
        "decoder": _named_gradients(
            inputs[:, :E], g(d.weight_hh), g(d.bias_ih), g(d.bias_hh), gru=True),
        "encoder.forward_cell": cell_gradients(model.encoder),
        "encoder.backward_cell": cell_gradients(model.encoder, "l0_reverse"),
    }
    for cell, arrays in cells.items():
        named |= {f"{cell}.{name}": array for name, array in arrays.items()}
    return named
