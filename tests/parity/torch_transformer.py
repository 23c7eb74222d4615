"""The Transformer in PyTorch, eager, of its own layers: normalisation first, target table tied with the output."""

import math
import warnings

import torch
from torch import nn


class TorchTransformer(nn.Module):
    """numpy_attention.models.transformer with pre_norm=True, without dropout, built from nn.Transformer."""

    def __init__(self, source_vocabulary, target_vocabulary, size, layers, heads, inner):
        super().__init__()
        self.source_embedding = nn.Embedding(source_vocabulary, size)
        self.target_embedding = nn.Embedding(target_vocabulary, size)
        for table in (self.source_embedding, self.target_embedding):
            nn.init.normal_(table.weight, std=size**-0.5)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "enable_nested_tensor")                   # of no use with norm_first
            self.stack = nn.Transformer(size, heads, layers, layers, inner, dropout=0.0, batch_first=True, norm_first=True)
        self.bias = nn.Parameter(torch.zeros(target_vocabulary))

    def positions(self, length, size):
        steps = torch.exp(torch.arange(0, size, 2, dtype=torch.float64) * (-math.log(10000.0) / size))
        place = torch.arange(length, dtype=torch.float64)[:, None] * steps
        return torch.stack([torch.sin(place), torch.cos(place)], 2).reshape(length, size)

    def embed(self, table, ids):
        x = table(ids.T) * math.sqrt(table.embedding_dim)
        return x + self.positions(len(ids), x.shape[2]).to(x.dtype)

    def forward(self, source, target_in):
        """→ y (B, T, D)."""
        padding = (source == 0).T
        future = torch.ones(len(target_in), len(target_in), dtype=torch.bool).triu(1)
        return self.stack(self.embed(self.source_embedding, source), self.embed(self.target_embedding, target_in),
                          tgt_mask=future, src_key_padding_mask=padding, memory_key_padding_mask=padding,
                          tgt_key_padding_mask=(target_in == 0).T)

    def loss(self, source, target_in, target_out):
        logits = self.forward(source, target_in) @ self.target_embedding.weight.T + self.bias
        return nn.functional.cross_entropy(logits.transpose(0, 1).flatten(0, 1), target_out.flatten(), ignore_index=0,
                                           reduction="sum")
