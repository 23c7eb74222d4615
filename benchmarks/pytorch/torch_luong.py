"""Luong's translator in PyTorch, eager: stacked LSTMs, global attention, input feeding."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class TorchLuong(nn.Module):
    """The equations of numpy_attention.models.luong with PyTorch's cells.

    score: "dot", "scaled-dot", "general" or "concat"; query: "current" or "previous".
    """

    def __init__(self, source_vocabulary, target_vocabulary, embedding, hidden, layers=1,
                 score="dot", feeding=True, bidirectional=False, query="current"):
        super().__init__()
        self.source_embedding = nn.Embedding(source_vocabulary, embedding)
        self.target_embedding = nn.Embedding(target_vocabulary, embedding)
        directions = 2 if bidirectional else 1
        self.encoder = nn.LSTM(
            embedding, hidden // directions, layers, bidirectional=bidirectional)
        fed = hidden if feeding else 0
        inputs = [embedding + fed] + [hidden] * (layers - 1)
        self.decoder = nn.ModuleList(nn.LSTMCell(size, hidden) for size in inputs)
        self.W_a = nn.Linear(hidden, hidden, bias=False) if "dot" not in score else None
        self.U_a = nn.Linear(hidden, hidden, bias=False) if score == "concat" else None
        self.v_a = nn.Parameter(torch.empty(hidden)) if score == "concat" else None
        self.W_c = nn.Linear(2 * hidden, hidden, bias=False)
        self.output = nn.Linear(hidden, target_vocabulary)
        self.score = score
        self.feeding = feeding
        self.query = query
        self.hidden = hidden

    def encode(self, source):
        """Return annotations (B, S, H), mask (B, S), and (h, c) per layer.   source (S, B) ids."""
        mask = source != 0
        embedded = self.source_embedding(source)
        packed = pack_padded_sequence(embedded, mask.sum(0), enforce_sorted=False)
        annotations, last = self.encoder(packed)
        annotations, _ = pad_packed_sequence(annotations, total_length=len(source))
        if self.encoder.bidirectional:
            last = [torch.cat([part[::2], part[1::2]], 2) for part in last]
        return annotations.transpose(0, 1), mask.T, list(zip(*last))

    def scores(self, h, annotations, projected):
        """Return scores (B, S).   h (B, H), annotations (B, S, H)."""
        if self.score == "concat":
            return torch.tanh(self.W_a(h)[:, None] + projected) @ self.v_a
        query = h if self.W_a is None else self.W_a(h)
        scores = torch.bmm(annotations, query[:, :, None])[:, :, 0]
        return scores / self.hidden**0.5 if self.score == "scaled-dot" else scores

    def step(self, y_t, states, fed, annotations, projected, mask):
        """Return h̃_t, states, weights (B, S).   y_t (B, E), a state per layer, h̃_{t−1} (B, H)."""
        before = states[-1][0]
        x = torch.cat([y_t, fed], 1) if self.feeding else y_t
        after = []
        for state, cell in zip(states, self.decoder):
            after.append(cell(x, state))
            x = after[-1][0]
        query = before if self.query == "previous" else x
        scores = self.scores(query, annotations, projected)
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), 1)
        context = torch.bmm(weights[:, None], annotations)[:, 0]
        return torch.tanh(self.W_c(torch.cat([context, x], 1))), after, weights

    def forward(self, source, target_in):
        """Return h̃ (T, B, H) and weights (T, B, S)."""
        annotations, mask, states = self.encode(source)
        projected = self.U_a(annotations) if self.U_a is not None else None
        fed = annotations.new_zeros(source.shape[1], self.hidden)
        attentional = []
        all_weights = []
        for y_t in self.target_embedding(target_in):
            fed, states, weights = self.step(y_t, states, fed, annotations, projected, mask)
            attentional.append(fed)
            all_weights.append(weights)
        return torch.stack(attentional), torch.stack(all_weights)

    def loss(self, source, target_in, target_out):
        """Return Σ −log p of the target words."""
        attentional, _ = self(source, target_in)
        logits = self.output(attentional).flatten(0, 1)
        return nn.functional.cross_entropy(
            logits, target_out.flatten(), ignore_index=0, reduction="sum")


def put(parameter, array):
    """Copy an array into a parameter, or into a part of one."""
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(array.copy()))


def copy_weights(ours, theirs):
    """Copy the parameters of a LuongTranslator of LSTMs. The second biases of cells become 0."""
    put(theirs.source_embedding.weight, ours.source_embedding.E)
    put(theirs.target_embedding.weight, ours.target_embedding.E)
    for name, cell in encoder_cells(ours):
        put(getattr(theirs.encoder, f"weight_ih_{name}"), cell.W.T)
        put(getattr(theirs.encoder, f"weight_hh_{name}"), cell.U.T)
        put(getattr(theirs.encoder, f"bias_ih_{name}"), cell.b)
        getattr(theirs.encoder, f"bias_hh_{name}").data.zero_()
    for layer, (mine, cell) in enumerate(zip(ours.decoder.cells, theirs.decoder)):
        E = len(mine.W)
        put(cell.weight_ih[:, :E], mine.W.T)
        if layer == 0 and ours.F is not None:
            put(cell.weight_ih[:, E:], ours.F.T)
        put(cell.weight_hh, mine.U.T)
        put(cell.bias_ih, mine.b)
        cell.bias_hh.data.zero_()
    if theirs.W_a is not None:
        put(theirs.W_a.weight, ours.attention.W_a.T)
    if theirs.score == "concat":
        put(theirs.U_a.weight, ours.attention.U_a.T)
        put(theirs.v_a, ours.attention.v_a)
    D = len(ours.C)
    put(theirs.W_c.weight[:, :D], ours.C.T)
    put(theirs.W_c.weight[:, D:], ours.W.T)
    put(theirs.output.weight, ours.output.words.E)
    put(theirs.output.bias, ours.output.b)
    return theirs


def encoder_cells(ours):
    """Yield (PyTorch's suffix, cell) for every cell of the encoder."""
    for layer, cell in enumerate(ours.encoder.cells):
        if hasattr(cell, "backward_cell"):
            yield f"l{layer}", cell.forward_cell
            yield f"l{layer}_reverse", cell.backward_cell
        else:
            yield f"l{layer}", cell
