"""Language models in PyTorch, eager, with and without attention over their own history. For parity tests and benchmarks."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class TorchLanguageModel(nn.Module):
    """The same equations as numpy_attention.models.language_model, with PyTorch's own cells and cross-entropy."""

    def __init__(self, vocabulary, hidden, layers=2, cell="lstm", embedding=None, tied=False, dropout=0.0, reader=None):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding or hidden)
        self.cells = CELLS[cell](embedding or hidden, hidden, layers, dropout=dropout)
        self.reader = reader
        self.output = nn.Linear(reader.W_x.out_features if reader else hidden, vocabulary)
        if tied:
            self.output.weight = self.embedding.weight
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs, state=None):
        """inputs (T, B), 0 is padding → what the output layer reads (T, B, K), weights (T, B, M + T) or None, state."""
        cells, memory = state or (None, None)
        mask, x = inputs != 0, self.dropout(self.embedding(inputs))
        if mask.all():
            h, cells = self.cells(x, cells)
        else:
            h, cells = self.cells(pack_padded_sequence(x, mask.sum(0), enforce_sorted=False), cells)
            h, _ = pad_packed_sequence(h, total_length=len(x))
        y, weights = h, None
        if self.reader is not None:
            y, weights, memory = self.reader(h, mask, memory)
        return self.dropout(y), weights, (detached(cells), detached(memory))

    def loss(self, inputs, targets, state=None):
        """Σ −log p over the targets that are no padding, and the state to carry on, without its history."""
        y, _, state = self(inputs, state)
        logits = self.output(y.flatten(0, 1))
        return nn.functional.cross_entropy(logits, targets.flatten(), ignore_index=0, reduction="sum"), state


def detached(state):
    """A state that gradients do not leave: a tensor, a tuple of them, or None."""
    if isinstance(state, tuple):
        return tuple(map(detached, state))
    return None if state is None else state.detach()


class TorchReader(nn.Module):
    """numpy_attention's KeyValueReader; the scores of all steps in one array of (pairs of steps, B, n).

    PyTorch is fastest with the pairs t > s alone: forward and backward take three quarters of the time of broadcasting
    over all (T, T, B, n), 11 against 16 ms for T = B = 20, n = 200 in one thread, and less than a loop over t.
    """

    def __init__(self, hidden, outputs, roles=1, score="combined", window=None, carried=0, bias=False):
        super().__init__()
        size = hidden // roles
        self.W_s = nn.Linear(size, size, bias=False)
        self.W_q = nn.Linear(size, size, bias=False) if score == "combined" else None
        self.v = nn.Parameter(torch.empty(size).uniform_(-0.1, 0.1))
        self.W_x, self.W_r = nn.Linear(size, outputs, bias=bias), nn.Linear(size, outputs, bias=False)
        self.roles, self.window, self.carried = roles, window, carried

    def forward(self, h, mask, memory=None):
        """h (T, B, H), mask (T, B), memory (states (M, B, H), mask (M, B)) → y, weights (T, B, M + T), memory."""
        states, known = (h, mask) if memory is None else (torch.cat([memory[0], h]), torch.cat([memory[1], mask]))
        T, S, n = len(h), len(states), self.W_s.in_features
        key, value = states[..., :n], states[..., (self.roles > 1) * n:][..., :n]
        distance = torch.arange(S - T, S)[:, None] - torch.arange(S)
        near = (distance > 0) & (distance <= (self.window or S))                         # (T, S)
        keys = self.W_s(key)                                                             # (S, B, n)
        if self.W_q is None:
            scores = (torch.tanh(keys) @ self.v).expand(T, S, -1)
        else:
            t, s = near.nonzero(as_tuple=True)
            scores = h.new_zeros(T, S, h.shape[1])
            scores[t, s] = torch.tanh(self.W_q(h[..., :n])[t] + keys[s]) @ self.v
        # a step that sees nothing gets weights 0, and no gradient
        visible = near[..., None] & known
        weights = scores.masked_fill(~visible, torch.finfo(h.dtype).min).softmax(1) * visible
        r = (weights.permute(2, 0, 1) @ value.transpose(0, 1)).transpose(0, 1)
        y = torch.tanh(self.W_x(h[..., (self.roles - 1) * n:]) + self.W_r(r))
        return y, weights.transpose(1, 2), (states[-self.carried:], known[-self.carried:]) if self.carried else None


class TorchNGram(nn.Module):
    """numpy_attention's NGramReader."""

    def __init__(self, hidden, outputs, order=4, carried=False):
        super().__init__()
        self.W_x = nn.Linear(hidden, outputs, bias=False)
        self.order, self.carried = order, carried

    def forward(self, h, mask, memory=None):
        T, reach = len(h), self.order - 2
        states = h * mask[..., None]
        states = torch.cat([h.new_zeros(reach, *h.shape[1:]) if memory is None else memory, states])
        parts = states.chunk(self.order - 1, -1)
        read = torch.cat([part[reach - i:reach - i + T] for i, part in enumerate(parts)], -1)
        return torch.tanh(self.W_x(read)), None, states[T:] if self.carried else None


def named(model, of):
    """{name in numpy_attention: of(parameter) in its layout}; of gives a parameter's data, or its gradient."""
    arrays = {"embedding.E": of(model.embedding.weight), "output.b": of(model.output.bias)}
    if model.output.weight is not model.embedding.weight:
        arrays["output.words.E"] = of(model.output.weight)
    for i in range(model.cells.num_layers):
        weight, recurrent, bias, second = (getattr(model.cells, f"{name}_l{i}") for name in (
            "weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        arrays |= {f"cells.cells.{i}.W": of(weight).T, f"cells.cells.{i}.U": of(recurrent).T,
                   f"cells.cells.{i}.b": of(bias)}
        if isinstance(model.cells, nn.GRU):
            arrays[f"cells.cells.{i}.b_n"] = of(second)[2 * model.cells.hidden_size:]
    reader = model.reader
    if isinstance(reader, TorchNGram):
        arrays["reader.W"] = of(reader.W_x.weight).T
    elif reader is not None:
        arrays |= {"reader.W_x": of(reader.W_x.weight).T, "reader.W_r": of(reader.W_r.weight).T,
                   "reader.attention.W_s": of(reader.W_s.weight).T, "reader.attention.v": of(reader.v)}
        if reader.W_q is not None:
            arrays["reader.attention.W_q"] = of(reader.W_q.weight).T
        if reader.W_x.bias is not None:
            arrays["reader.b"] = of(reader.W_x.bias)
    return arrays


def copy_weights(model, torch_model):
    """Load a numpy_attention model's parameters; the second biases of the cells, which it does not have, become 0."""
    for name, parameter in torch_model.cells.named_parameters():
        if name.startswith("bias_hh"):
            parameter.data.zero_()
    places, arrays = named(torch_model, lambda parameter: parameter.data), dict(model.named_parameters())
    assert places.keys() == arrays.keys()
    for name, place in places.items():
        place.copy_(torch.from_numpy(arrays[name]))
    return torch_model
