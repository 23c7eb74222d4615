"""Beam search with length normalisation."""

import numpy as np

from numpy_attention.data.vocabulary import BOS, EOS
from numpy_attention.decoding.hypothesis import Hypothesis, forbid, longest


def beam_search(model, source, source_mask, beam=5, length_penalty=1.0, max_length=None):
    """Translate a batch.   source (S, B) ids with </s>, source_mask (S, B) → for each sentence its hypotheses, best first.

    Keeps, for each sentence, the `beam` most probable prefixes; a prefix that ends in </s> leaves the beam and frees no
    place. The search of a sentence ends when `beam` hypotheses have ended, at max_length words, and in any case at twice
    the source's length and 10 more; the result is ranked by log p / ((5 + length) / 6)^length_penalty. Beam 1 is greedy
    search. A sentence's result does not depend on the others in the batch. ValueError: an empty sentence, beam or
    max_length below 1; ArithmeticError: log p is not a number.
    """
    if beam < 1:
        raise ValueError(f"beam {beam}: expected at least 1")
    limit, lengths = longest(source_mask, max_length), source_mask.sum(0)
    state = model.start(source, source_mask)
    running = [(b, Hypothesis([], 0.0, [])) for b in range(source.shape[1])]       # one row of the state each
    ended = [[] for _ in running]
    tokens = np.full(len(running), BOS)
    while running:
        log_probs, weights, state = model.next(tokens, state)
        forbid(log_probs)
        rows, survivors, start = [], [], 0
        while start < len(running):
            b = running[start][0]
            stop = start
            while stop < len(running) and running[stop][0] == b:
                stop += 1
            totals = np.array([h.log_probability for _, h in running[start:stop]])[:, None] + log_probs[start:stop]
            for row, token, total in _largest(totals, beam - len(ended[b])):
                before = running[start + row][1]
                after = Hypothesis(before.ids + [token], total, before.weights + [weights[start + row, :lengths[b]]])
                if token == EOS or len(after.ids) >= limit[b]:
                    ended[b].append(after)
                else:
                    rows.append(start + row)
                    survivors.append((b, after))
            start = stop
        running, state = survivors, state.take(np.array(rows, np.int64))
        tokens = np.array([h.ids[-1] for _, h in running], np.int64)
    for hypotheses in ended:
        hypotheses.sort(key=lambda h: -h.score(length_penalty))
        for hypothesis in hypotheses:
            hypothesis.weights = np.array(hypothesis.weights)
    return ended


def _largest(totals, count):
    """(row, token, total) of the `count` largest entries, largest first, the earlier one where two are equal."""
    flat = totals.ravel()
    count = min(count, int(np.isfinite(flat).sum()))
    top = np.argpartition(-flat, count - 1)[:count] if count < len(flat) else np.arange(len(flat))
    top = np.flatnonzero(flat >= flat[top].min())
    top = top[np.argsort(-flat[top], kind="stable")][:count]
    return [(int(i // totals.shape[1]), int(i % totals.shape[1]), float(flat[i])) for i in top]
