"""Greedy search: the most probable word at every step."""

from collections.abc import Sequence

import numpy as np

from numpy_attention.data.vocabulary import BOS
from numpy_attention.decoding.hypothesis import (
    Hypothesis,
    Prefix,
    check_sources,
    forbid,
    longest,
    never_chosen,
)
from numpy_attention.decoding.protocols import Translator
from numpy_attention.module import Array
from numpy_attention.products import fixed_weights


@fixed_weights()
def greedy(model: Translator, source: Array, source_mask: Array,
           max_length: int | None = None, never: Sequence[int] = ()) -> list[Hypothesis]:
    """Translate a batch of sentences; return one Hypothesis for each.

    source (S, B), source_mask (S, B). source holds ids, with </s> at the end of each sentence. A
    translation ends with </s>, or at its maximum length: twice the source length (with </s>) plus
    10, or max_length if that is smaller. <pad>, <s> and the ids in `never` are never chosen. Raises
    ValueError for an empty sentence, max_length below 1 or ids outside the vocabulary, and
    ArithmeticError if log p is not a number, or −∞ for every token.
    """
    check_sources(model, source, source_mask)
    limit = longest(source_mask, max_length)                        # (B,)
    lengths = source_mask.sum(0)                                    # (B,)
    state = model.start(source, source_mask)
    running = [Prefix(b) for b in range(len(lengths))]              # one row of the state each
    ended: dict[int, Hypothesis] = {}
    tokens = np.full(len(running), BOS)
    while running:
        log_probs, weights, state = model.next(tokens, state)       # (rows, V), (rows, S)
        log_probs = forbid(log_probs, never_chosen(never, log_probs.shape[1]))
        best = log_probs.argmax(1)
        log_p_best = np.take_along_axis(log_probs, best[:, None], 1)[:, 0].tolist()
        rows = []
        survivors = []
        for row, (before, token, log_p) in enumerate(zip(running, best.tolist(), log_p_best)):
            after = before.followed_by(token, before.log_probability + log_p,
                                       weights[row, :lengths[before.sentence]])
            if after.ends(limit):
                ended[after.sentence] = after.hypothesis()
            else:
                rows.append(row)
                survivors.append(after)
        running = survivors
        state = state.take(np.array(rows, np.int64))
        tokens = np.array([prefix.ids[-1] for prefix in running], np.int64)
    return [ended[b] for b in range(len(lengths))]
