"""Luong's translator in PyTorch, eager: stacked LSTMs, a score over all positions, input feeding. Parity and benchmarks."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class TorchLuong(nn.Module):
    """The equations of numpy_attention.models.luong with PyTorch's cells; score "dot", "general" or "concat"."""

    def __init__(self, source_vocabulary, target_vocabulary, embedding, hidden, layers=1, score="dot", feeding=True,
                 bidirectional=False):
        super().__init__()
        self.source_embedding = nn.Embedding(source_vocabulary, embedding)
        self.target_embedding = nn.Embedding(target_vocabulary, embedding)
        self.encoder = nn.LSTM(embedding, hidden // (1 + bidirectional), layers, bidirectional=bidirectional)
        self.decoder = nn.ModuleList(nn.LSTMCell((embedding + feeding * hidden) if layer == 0 else hidden, hidden)
                                     for layer in range(layers))
        self.W_a = nn.Linear(hidden, hidden, bias=False) if score != "dot" else None
        self.U_a = nn.Linear(hidden, hidden, bias=False) if score == "concat" else None
        self.v_a = nn.Parameter(torch.empty(hidden)) if score == "concat" else None
        self.W_c = nn.Linear(2 * hidden, hidden, bias=False)
        self.output = nn.Linear(hidden, target_vocabulary)
        self.score, self.feeding, self.hidden = score, feeding, hidden

    def encode(self, source):
        """source (S, B) ids → annotations (B, S, H), mask (B, S), a state (h, c) for each layer."""
        mask = source != 0
        x = pack_padded_sequence(self.source_embedding(source), mask.sum(0), enforce_sorted=False)
        annotations, last = self.encoder(x)
        annotations, _ = pad_packed_sequence(annotations, total_length=len(source))
        if self.encoder.bidirectional:
            last = [torch.cat([part[::2], part[1::2]], 2) for part in last]
        return annotations.transpose(0, 1), mask.T, list(zip(*last))

    def scores(self, h, annotations, projected):
        if self.score == "concat":
            return torch.tanh(self.W_a(h)[:, None] + projected) @ self.v_a
        query = h if self.W_a is None else self.W_a(h)
        return torch.bmm(annotations, query[:, :, None])[:, :, 0]

    def forward(self, source, target_in):
        """→ h̃ (T, B, H), weights (T, B, S)."""
        annotations, mask, states = self.encode(source)
        projected = self.U_a(annotations) if self.U_a is not None else None
        y, fed = self.target_embedding(target_in), annotations.new_zeros(source.shape[1], self.hidden)
        attentional, looked = [], []
        for y_t in y:
            x = torch.cat([y_t, fed], 1) if self.feeding else y_t
            for layer, cell in enumerate(self.decoder):
                states[layer] = cell(x, states[layer])
                x = states[layer][0]
            weights = torch.softmax(self.scores(x, annotations, projected).masked_fill(~mask, -torch.inf), 1)
            context = torch.bmm(weights[:, None], annotations)[:, 0]
            fed = torch.tanh(self.W_c(torch.cat([context, x], 1)))
            attentional.append(fed)
            looked.append(weights)
        return torch.stack(attentional), torch.stack(looked)

    def loss(self, source, target_in, target_out):
        """Σ −log p of the target words."""
        attentional, _ = self(source, target_in)
        return nn.functional.cross_entropy(self.output(attentional).flatten(0, 1), target_out.flatten(), ignore_index=0,
                                           reduction="sum")


def copy_weights(ours, theirs):
    """The weights of a LuongTranslator of LSTMs, transposed, into a TorchLuong; its second biases are 0."""
    put = lambda parameter, array: parameter.copy_(torch.from_numpy(array.copy()))
    with torch.no_grad():
        put(theirs.source_embedding.weight, ours.source_embedding.E)
        put(theirs.target_embedding.weight, ours.target_embedding.E)
        for name, cell in encoder_cells(ours):
            put(getattr(theirs.encoder, f"weight_ih_{name}"), cell.W.T)
            put(getattr(theirs.encoder, f"weight_hh_{name}"), cell.U.T)
            put(getattr(theirs.encoder, f"bias_ih_{name}"), cell.b)
            getattr(theirs.encoder, f"bias_hh_{name}").zero_()
        for layer, (mine, cell) in enumerate(zip(ours.decoder.cells, theirs.decoder)):
            E = len(mine.W)
            put(cell.weight_ih[:, :E], mine.W.T)
            if layer == 0 and ours.F is not None:
                put(cell.weight_ih[:, E:], ours.F.T)
            put(cell.weight_hh, mine.U.T)
            put(cell.bias_ih, mine.b)
            cell.bias_hh.zero_()
        if theirs.score == "concat":
            put(theirs.U_a.weight, ours.attention.U_a.T)
            put(theirs.v_a, ours.attention.v_a)
        if theirs.W_a is not None:
            put(theirs.W_a.weight, ours.attention.W_a.T)
        put(theirs.W_c.weight[:, :len(ours.C)], ours.C.T)
        put(theirs.W_c.weight[:, len(ours.C):], ours.W.T)
        put(theirs.output.weight, ours.output.words.E)
        put(theirs.output.bias, ours.output.b)
    return theirs


def encoder_cells(ours):
    """(PyTorch's suffix, cell) of every cell of the encoder."""
    for layer, cell in enumerate(ours.encoder.cells):
        if hasattr(cell, "backward_cell"):
            yield f"l{layer}", cell.forward_cell
            yield f"l{layer}_reverse", cell.backward_cell
        else:
            yield f"l{layer}", cell
