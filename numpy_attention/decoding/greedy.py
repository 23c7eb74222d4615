"""Greedy search: the most probable word at every step."""

import numpy as np

from numpy_attention.data.vocabulary import BOS, EOS
from numpy_attention.decoding.hypothesis import Hypothesis, forbid, longest


def greedy(model, source, source_mask, max_length=None):
    """Translate a batch.   source (S, B) ids with </s>, source_mask (S, B) → a Hypothesis for each sentence.

    Stops at </s>, after max_length words, and in any case after twice the source's length and 10 more. <pad> and <s> are never
    chosen. Sentences that have ended leave the batch. ValueError: an empty sentence, max_length below 1; ArithmeticError:
    log p is not a number.
    """
    limit, lengths = longest(source_mask, max_length), source_mask.sum(0)
    state, running = model.start(source, source_mask), np.arange(source.shape[1])
    found = [Hypothesis([], 0.0, []) for _ in running]
    tokens = np.full(len(running), BOS)
    while len(running):
        log_probs, weights, state = model.next(tokens, state)
        forbid(log_probs)
        tokens = log_probs.argmax(1)
        for i, b in enumerate(running):
            found[b].ids.append(int(tokens[i]))
            found[b].log_probability += float(log_probs[i, tokens[i]])
            found[b].weights.append(weights[i, :lengths[b]].copy())
        stay = np.array([found[b].ids[-1] != EOS and len(found[b].ids) < limit[b] for b in running])
        running, tokens, state = running[stay], tokens[stay], state.take(np.flatnonzero(stay))
    for hypothesis in found:
        hypothesis.weights = np.array(hypothesis.weights)
    return found
