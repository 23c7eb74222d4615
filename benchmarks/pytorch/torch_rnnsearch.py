"""RNNsearch in PyTorch, eager: readout="current", reset="after"."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class TorchRNNSearch(nn.Module):
    """The equations of numpy_attention.models.rnnsearch, with PyTorch's GRU and cross-entropy."""

    def __init__(self, source_vocabulary, target_vocabulary, embedding, hidden, alignment, maxout,
                 dropout=0.0):
        super().__init__()
        self.source_embedding = nn.Embedding(source_vocabulary, embedding)
        self.target_embedding = nn.Embedding(target_vocabulary, embedding)
        self.encoder = nn.GRU(embedding, hidden, bidirectional=True)
        self.start = nn.Linear(hidden, hidden)
        self.W_a = nn.Linear(hidden, alignment, bias=False)
        self.U_a = nn.Linear(2 * hidden, alignment, bias=False)
        self.v_a = nn.Parameter(torch.zeros(alignment))
        self.decoder = nn.GRUCell(embedding + 2 * hidden, hidden)
        self.deep_output = nn.Linear(hidden + embedding + 2 * hidden, 2 * maxout)
        self.output = nn.Linear(maxout, target_vocabulary)
        self.dropout = nn.Dropout(dropout)

    def encode(self, source):
        """Return annotations (B, S, 2H), keys, mask (B, S) and s_0 (B, H).   source (S, B)."""
        mask = source != 0
        embedded = self.dropout(self.source_embedding(source))
        packed = pack_padded_sequence(embedded, mask.sum(0).cpu(), enforce_sorted=False)
        annotations, last = self.encoder(packed)
        annotations, _ = pad_packed_sequence(annotations, total_length=len(source))
        annotations = annotations.transpose(0, 1).contiguous()
        s = torch.tanh(self.start(last[1]))
        return annotations, self.U_a(annotations), mask.T.contiguous(), s

    def attend(self, s, annotations, keys, mask):
        """Return context (B, 2H) and weights (B, S) for one target word."""
        scores = torch.tanh(self.W_a(s)[:, None] + keys) @ self.v_a
        weights = scores.masked_fill(~mask, -torch.inf).softmax(1)
        return torch.bmm(weights[:, None], annotations)[:, 0], weights

    def read_out(self, s, y, context):
        t = self.deep_output(torch.cat([s, y, context], -1))
        return self.dropout(t.view(*t.shape[:-1], -1, 2).amax(-1))

    def forward(self, source, target_in):
        """Return t (T, B, maxout) and weights (T, B, S) with teacher forcing."""
        annotations, keys, mask, s = self.encode(source)
        embedded = self.dropout(self.target_embedding(target_in))
        states = []
        contexts = []
        all_weights = []
        for y in embedded:
            context, weights = self.attend(s, annotations, keys, mask)
            s = self.decoder(torch.cat([y, context], 1), s)
            states.append(s)
            contexts.append(context)
            all_weights.append(weights)
        t = self.read_out(torch.stack(states), embedded, torch.stack(contexts))
        return t, torch.stack(all_weights)

    def loss(self, source, target_in, target_out):
        """Return Σ −log p over target words. Only words that are not padding get logits."""
        t, _ = self(source, target_in)
        real = target_out != 0
        return nn.functional.cross_entropy(self.output(t[real]), target_out[real], reduction="sum")


def put(parameter, *arrays):
    """Copy arrays, concatenated along the last axis, into a parameter."""
    with torch.no_grad():
        parameter.copy_(torch.cat([torch.from_numpy(array.copy()) for array in arrays], -1))


def put_gru(cell, weight_ih, weight_hh, bias_ih, bias_hh, context=None):
    """Copy the weights of a GRU. context: the matrix of c_i, the last columns of weight_ih."""
    inputs = [cell.W.T] if context is None else [cell.W.T, context.T]
    put(weight_ih, *inputs)
    put(weight_hh, cell.U.T)
    put(bias_ih, cell.b)
    bias_hh.data.zero_()
    put(bias_hh[2 * cell.hidden_size:], cell.b_n)


def copy_weights(model, torch_model):
    """Copy the parameters of an RNNSearch with readout="current", reset="after", update="old"."""
    put(torch_model.source_embedding.weight, model.source_embedding.E)
    put(torch_model.target_embedding.weight, model.target_embedding.E)
    e = torch_model.encoder
    put_gru(model.encoder.forward_cell,
            e.weight_ih_l0, e.weight_hh_l0, e.bias_ih_l0, e.bias_hh_l0)
    put_gru(model.encoder.backward_cell,
            e.weight_ih_l0_reverse, e.weight_hh_l0_reverse,
            e.bias_ih_l0_reverse, e.bias_hh_l0_reverse)
    put(torch_model.start.weight, model.W_s.T)
    put(torch_model.start.bias, model.b_s)
    put(torch_model.W_a.weight, model.attention.W_a.T)
    put(torch_model.U_a.weight, model.attention.U_a.T)
    put(torch_model.v_a, model.attention.v_a)
    d = torch_model.decoder
    put_gru(model.decoder, d.weight_ih, d.weight_hh, d.bias_ih, d.bias_hh, context=model.C)
    deep = model.deep_output
    put(torch_model.deep_output.weight, deep.U_o.T, deep.V_o.T, deep.C_o.T)
    put(torch_model.deep_output.bias, deep.b)
    put(torch_model.output.weight, model.output.words.E)
    put(torch_model.output.bias, model.output.b)
    return torch_model
