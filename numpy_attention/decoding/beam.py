"""Beam search with length normalization."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from numpy_attention.data.vocabulary import BOS
from numpy_attention.decoding.hypothesis import (
    Hypothesis,
    Prefix,
    check_penalty,
    check_sources,
    forbid,
    longest,
    never_chosen,
)
from numpy_attention.decoding.protocols import Translator
from numpy_attention.kernels import largest as kernels
from numpy_attention.module import Array
from numpy_attention.products import fixed_weights
from numpy_attention.validation.arrays import check_whole

WIDEST = 10_000     # hypotheses that a beam may keep


@fixed_weights()
def beam_search(model: Translator, source: Array, source_mask: Array, beam: int = 5,
                length_penalty: float = 1.0,
                max_length: int | None = None,
                never: Sequence[int] = ()) -> list[list[Hypothesis]]:
    """Translate a batch of sentences; return a list of hypotheses for each, best first.

    source (S, B), source_mask (S, B). source holds ids, with </s> at the end of each sentence. For
    each sentence, the search keeps the `beam` most probable prefixes. A prefix that ends in </s> is
    finished, and the search then keeps one prefix fewer. The search ends when `beam` hypotheses
    have finished, at max_length tokens, or at twice the source length (with </s>) plus 10 tokens.
    Hypotheses are ranked by log p / ((5 + length) / 6)^length_penalty. Beam 1 is greedy search. The
    result for a sentence does not depend on the rest of its batch. <pad>, <s> and the ids in
    `never` are never chosen.

    Raises ValueError for an empty sentence, a beam outside 1 … 10,000, max_length below 1, a
    length_penalty outside −100 … 100, or ids outside the vocabulary. Raises ArithmeticError
    if log p is not a number, or −∞ for every token.
    """
    check_sources(model, source, source_mask)
    check_whole("beam", beam, 1, WIDEST)
    check_penalty(length_penalty)
    limit = longest(source_mask, max_length)                        # (B,)
    lengths = source_mask.sum(0)                                    # (B,)
    state = model.start(source, source_mask)
    running = [Prefix(b) for b in range(len(lengths))]              # one row of the state each
    ended: list[list[Hypothesis]] = [[] for _ in running]
    tokens = np.full(len(running), BOS)
    while running:
        log_probs, weights, state = model.next(tokens, state)       # (rows, V), (rows, S)
        log_probs = forbid(log_probs, never_chosen(never, log_probs.shape[1]))
        rows = []
        survivors = []
        start = 0                                                   # a sentence's rows are adjacent
        for b, group in groupby(running, lambda prefix: prefix.sentence):
            prefixes = list(group)
            so_far = np.array([prefix.log_probability for prefix in prefixes])
            its_own = log_probs[start:start + len(prefixes)]
            for i, token, total in _largest(so_far, its_own, beam - len(ended[b])):
                row = start + i
                after = prefixes[i].followed_by(token, total, weights[row, :lengths[b]])
                if after.ends(limit):
                    ended[b].append(after.hypothesis())
                else:
                    rows.append(row)
                    survivors.append(after)
            start += len(prefixes)
        running = survivors
        state = state.take(np.array(rows, np.int64))
        tokens = np.array([prefix.ids[-1] for prefix in running], np.int64)
    for hypotheses in ended:
        hypotheses.sort(key=lambda hypothesis: -hypothesis.score(length_penalty))
    return ended


def _largest(so_far: Array, log_probs: Array, count: int) -> list[tuple[int, int, float]]:
    """Return (row, token, sum) for the `count` largest sums of so_far (N,) and log_probs (N, V).

    so_far: log p of each prefix. The largest comes first, and ties keep their order. No sum is −∞.
    """
    if log_probs.dtype not in (np.float32, np.float64):
        log_probs = log_probs.astype(np.float64)        # other dtypes are not compiled
    count = min(count, log_probs.size)
    rows, tokens = np.empty((2, count), np.int64)
    totals = np.empty(count)
    found = kernels.largest(so_far, log_probs, rows, tokens, totals)
    return list(zip(rows[:found].tolist(), tokens[:found].tolist(), totals[:found].tolist()))
