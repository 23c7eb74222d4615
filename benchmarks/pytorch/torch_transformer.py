"""The Transformer in PyTorch, eager: pre-norm, with tied target embeddings."""

import math
import warnings

import torch
from torch import nn


class TorchTransformer(nn.Module):
    """numpy_attention.models.transformer with nn.Transformer, pre-norm, without dropout."""

    def __init__(self, source_vocabulary, target_vocabulary, size, layers, heads, inner):
        super().__init__()
        self.source_embedding = nn.Embedding(source_vocabulary, size)
        self.target_embedding = nn.Embedding(target_vocabulary, size)
        for table in (self.source_embedding, self.target_embedding):
            nn.init.normal_(table.weight, std=size**-0.5)
        with warnings.catch_warnings():
            # PyTorch does not support it with norm_first
            warnings.filterwarnings("ignore", "enable_nested_tensor")
            self.stack = nn.Transformer(
                size, heads, layers, layers, inner, dropout=0.0, batch_first=True, norm_first=True)
        self.bias = nn.Parameter(torch.zeros(target_vocabulary))

    def positions(self, length, size):
        exponents = torch.arange(0, size, 2, dtype=torch.float64)
        steps = torch.exp(exponents * (-math.log(10000.0) / size))
        place = torch.arange(length, dtype=torch.float64)[:, None] * steps
        return torch.stack([torch.sin(place), torch.cos(place)], 2).reshape(length, size)

    def embed(self, table, ids):
        """Return embeddings (B, T, D) plus positions.   ids (T, B)."""
        x = table(ids.T) * math.sqrt(table.embedding_dim)
        return x + self.positions(len(ids), x.shape[2]).to(x.dtype)

    def forward(self, source, target_in):
        """Return y (B, T, D).   source (S, B), target_in (T, B)."""
        T = len(target_in)
        padding = (source == 0).T
        return self.stack(
            self.embed(self.source_embedding, source),
            self.embed(self.target_embedding, target_in),
            tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_key_padding_mask=(target_in == 0).T,
        )

    def loss(self, source, target_in, target_out):
        """Return Σ −log p of the target words."""
        logits = self(source, target_in) @ self.target_embedding.weight.T + self.bias
        logits = logits.transpose(0, 1).flatten(0, 1)
        return nn.functional.cross_entropy(
            logits, target_out.flatten(), ignore_index=0, reduction="sum")
