"""Cells as PyTorch has them, and PyTorch's gradients under this package's names."""

import numpy as np
import torch
from torch import nn

from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN

KINDS = {RNN: nn.RNN, LSTM: nn.LSTM, GRU: nn.GRU}


def to_torch(cell, backward_cell=None):
    """nn.RNN, nn.LSTM or nn.GRU with the weights of a cell, or of the two of a Bidirectional, transposed."""
    I, H = len(cell.W), cell.hidden_size
    dtype = torch.from_numpy(cell.W).dtype
    layer = KINDS[type(cell)](I, H, bidirectional=backward_cell is not None, dtype=dtype)
    for one, suffix in ((cell, "l0"), (backward_cell, "l0_reverse")):
        if one is not None:
            assert getattr(one, "reset", "after") == "after" and getattr(one, "update", "old") == "old"
            recurrent_bias = np.zeros_like(one.b)
            if isinstance(one, GRU):
                recurrent_bias[2 * H:] = one.b_n
            with torch.no_grad():
                for name, array in (("weight_ih_", one.W.T), ("weight_hh_", one.U.T), ("bias_ih_", one.b),
                                    ("bias_hh_", recurrent_bias)):
                    getattr(layer, name + suffix).copy_(torch.from_numpy(np.ascontiguousarray(array)))
    return layer


def cell_gradients(layer, suffix="l0"):
    """{"W": …, "U": …, "b": …, "b_n": … for a GRU} of a PyTorch layer after backward()."""
    names = "weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_"
    return _cell(*(getattr(layer, name + suffix).grad.numpy() for name in names), isinstance(layer, nn.GRU))


def _cell(weight_ih, weight_hh, bias_ih, bias_hh, gru):
    named = {"W": weight_ih.T, "U": weight_hh.T, "b": bias_ih}
    return named | ({"b_n": bias_hh[2 * len(bias_hh) // 3:]} if gru else {})


def translator_gradients(model):
    """The gradients of a TorchRNNSearch after backward(), by the names of numpy_attention's RNNSearch."""
    def g(parameter):
        return parameter.grad.numpy()

    E = model.target_embedding.embedding_dim
    named = {"W_s": g(model.start.weight).T, "b_s": g(model.start.bias),
             "source_embedding.E": g(model.source_embedding.weight),
             "target_embedding.E": g(model.target_embedding.weight),
             "attention.W_a": g(model.W_a.weight).T, "attention.U_a": g(model.U_a.weight).T,
             "attention.v_a": g(model.v_a),
             "deep_output.b": g(model.deep_output.bias),
             "output.words.E": g(model.output.weight), "output.b": g(model.output.bias)}
    H = model.decoder.hidden_size
    cuts = np.split(g(model.deep_output.weight).T, [H, H + E])
    named |= {f"deep_output.{name}": cut for name, cut in zip(("U_o", "V_o", "C_o"), cuts)}
    d = model.decoder
    named["C"] = g(d.weight_ih).T[E:]
    decoder = _cell(g(d.weight_ih)[:, :E], g(d.weight_hh), g(d.bias_ih), g(d.bias_hh), True)
    cells = {"decoder": decoder, "encoder.forward_cell": cell_gradients(model.encoder),
             "encoder.backward_cell": cell_gradients(model.encoder, "l0_reverse")}
    return named | {f"{cell}.{name}": array for cell, arrays in cells.items() for name, array in arrays.items()}
