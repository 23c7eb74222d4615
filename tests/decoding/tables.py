"""A translator that reads probabilities from a table, so that searches can be enumerated."""

import itertools
from dataclasses import dataclass

import numpy as np

from numpy_attention.data.vocabulary import EOS
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy

V = 7


@dataclass
class TableState:
    place: np.ndarray

    def take(self, rows):
        return TableState(self.place[rows])


class Table:
    """p(next | previous) from a table, with a separate table for each sentence."""

    def __init__(self, rng, sentences):
        logits = 2 * rng.standard_normal((sentences, V, V))
        logits[:, :, :2] = 30                       # <pad> and <s> must never be chosen
        self.log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        self.weights = np.zeros((1, 4))             # one array for all steps

    def start(self, source, mask):
        return TableState(np.arange(source.shape[1]))

    def next(self, tokens, state):
        self.weights += 1
        log_p = self.log_p[state.place, tokens]
        log_p.flags.writeable = False               # a search copies what it changes or keeps
        return log_p, np.broadcast_to(self.weights, (len(tokens), 4)), state


def every_translation(table, b, longest):
    """Yield (ids, log p) of all translations that end in </s> or have the maximum length."""
    for length in range(1, longest + 1):
        for ids in itertools.product(range(2, V), repeat=length):
            if EOS in ids[:-1] or (ids[-1] != EOS and length < longest):
                continue
            yield list(ids), sum(table.log_p[b, p, t] for p, t in zip((1,) + ids, ids))


def greedy_and_beam(model, source, max_length=None):
    """Return the hypotheses of greedy search and the best ones of beam search."""
    beams = beam_search(model, source, source > 0, 3, max_length=max_length)
    return greedy(model, source, source > 0, max_length), [best[0] for best in beams]
