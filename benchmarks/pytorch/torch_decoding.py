"""Batched greedy and beam search in PyTorch, as an experienced user would write it.

A searcher has two methods. Each sentence has a row in `memory`, and each hypothesis has a row in
`state`. Both are tuples of tensors with rows on the first axis.

    memory, state = searcher.start(source)                  source (S, B)
    logits, state = searcher.next(tokens, memory, state)    tokens (B,) → logits (B, V)

The searches do the same as numpy_attention.decoding. A sentence ends at </s>, or after 2 · (length
of its source) + 10 words. <pad> and <s> are never chosen.
"""

import torch

from numpy_attention.data.vocabulary import BOS, EOS, PAD


class RNNSearcher:
    """The searcher of a TorchRNNSearch. The state is (s,)."""

    def __init__(self, model):
        self.model = model

    def start(self, source):
        *memory, s = self.model.encode(source)
        return tuple(memory), (s,)

    def next(self, tokens, memory, state):
        y = self.model.target_embedding(tokens)
        context, _ = self.model.attend(*state, *memory)
        s = self.model.decoder(torch.cat([y, context], 1), *state)
        return self.model.output(self.model.read_out(s, y, context)), (s,)


class LuongSearcher:
    """The searcher of a one-layer TorchLuong without U_a. The state is (h̃, h, c)."""

    def __init__(self, model):
        self.model = model

    def start(self, source):
        annotations, mask, [(h, c)] = self.model.encode(source)
        return (annotations, mask), (torch.zeros_like(h), h, c)

    def next(self, tokens, memory, state):
        annotations, mask = memory
        fed, h, c = state
        y = self.model.target_embedding(tokens)
        fed, [(h, c)], _ = self.model.step(y, [(h, c)], fed, annotations, None, mask)
        return self.model.output(fed), (fed, h, c)


def limits_of(source):
    """Return the largest number of words of each translation (B,).   source (S, B)."""
    return 2 * (source != PAD).sum(0) + 10


def rows_of(parts, rows):
    return tuple(part[rows] for part in parts)


@torch.no_grad()
def greedy(searcher, source):
    """Return a list of ids per sentence. Finished sentences leave the batch.   source (S, B)."""
    memory, state = searcher.start(source)
    limits = limits_of(source)
    sentences = torch.arange(source.shape[1])
    tokens = torch.full_like(sentences, BOS)
    found = [[] for _ in sentences]
    length = 0
    while len(sentences):
        logits, state = searcher.next(tokens, memory, state)
        logits[:, [PAD, BOS]] = -torch.inf
        tokens = logits.argmax(1)
        length += 1
        for b, token in zip(sentences.tolist(), tokens.tolist()):
            found[b].append(token)
        going = (tokens != EOS) & (length < limits[sentences])
        if not going.all():
            memory, state = rows_of(memory, going), rows_of(state, going)
            sentences, tokens = sentences[going], tokens[going]
    return found


@torch.no_grad()
def beam_search(searcher, source, beam=5):
    """Return the best ids of each sentence by log p / ((5 + length) / 6).   source (S, B).

    Each sentence always has `beam` rows; unused rows have a log p of −inf. Finished hypotheses keep
    their place in the beam, so a search continues for `left` others. States are gathered at every
    step, the memory only when sentences leave.
    """
    memory, state = searcher.start(source)
    memory, state = ([part.repeat_interleave(beam, 0) for part in parts]
                     for parts in (memory, state))
    limits = limits_of(source)
    sentences = torch.arange(source.shape[1])
    places = torch.arange(beam)
    left = torch.full_like(sentences, beam)
    totals = torch.full((len(sentences), beam), -torch.inf)
    totals[:, 0] = 0
    tokens = torch.full((len(sentences), beam), BOS)
    ids = tokens[..., None][..., :0]                                    # (B, beam, length)
    ended = [[] for _ in sentences]
    while len(sentences):
        logits, state = searcher.next(tokens.flatten(), memory, state)
        log_p = logits.log_softmax(1)
        log_p[:, [PAD, BOS]] = -torch.inf
        V = log_p.shape[1]
        scores = (totals.flatten()[:, None] + log_p).view(len(sentences), -1)
        totals, chosen = scores.topk(beam, 1)                           # (B, beam)
        before = chosen // V
        tokens = chosen % V
        ids = torch.cat([ids.gather(1, before[..., None].expand_as(ids)), tokens[..., None]], 2)
        length = ids.shape[2]
        counts = places < left[:, None]
        over = counts & ((tokens == EOS) | (length >= limits[sentences])[:, None])
        for b, k in over.nonzero().tolist():
            score = totals[b, k].item() / ((5 + length) / 6)
            ended[sentences[b]].append((score, ids[b, k].tolist()))
        totals[over | ~counts] = -torch.inf
        left = left - over.sum(1)
        rows = beam * torch.arange(len(sentences))[:, None] + before
        going = left > 0
        if not going.all():
            memory = rows_of(memory, going.repeat_interleave(beam))
            sentences, left, rows = sentences[going], left[going], rows[going]
            totals, tokens, ids = totals[going], tokens[going], ids[going]
        state = rows_of(state, rows.flatten())
    return [max(hypotheses, key=lambda pair: pair[0])[1] for hypotheses in ended]
