"""Sampling: a language model writes on, or a translator writes, one token after another drawn at random."""

import math
from typing import NamedTuple

import numpy as np

from numpy_attention.data.vocabulary import BOS, EOS, PAD, UNK
from numpy_attention.decoding.hypothesis import forbid
from numpy_attention.module import Array


class Reading(NamedTuple):
    """Where a model stands after a text: log p of what follows (V,), each step's attention weights, the state."""

    log_probabilities: Array
    weights: list       # of arrays (M,) over the M states remembered, oldest first, or the source; None without attention
    state: object


class Choice(NamedTuple):
    """One token written: its id, the model's own log p of it, and what was looked at to choose it, (M,) or None."""

    id: int
    log_probability: float
    weights: Array | None


def read(model, ids, state=None):
    """Walk a model through ids, of which the first is usually </s> → Reading. ValueError: no ids.

    model: anything with next(tokens (B,), state) → log p (B, V), weights (B, M) or None, state.
    """
    if not len(ids):
        raise ValueError("no ids to read: expected at least one, usually </s>, after which a text begins")
    seen = []
    for id in ids:
        log_probs, weights, state = model.next(np.array([id], np.int64), state)
        seen.append(None if weights is None else weights[0].copy())
    return Reading(log_probs[0], seen, state)


def sample(model, start, rng, length=60, sentences=None, temperature=1.0, top_k=None, top_p=None, never=(UNK,), reset=False):
    """Write on from a Reading; → a generator of Choices, one a step.

    The next token is drawn from softmax(log p / temperature), cut down to the `top_k` most probable tokens, then to the
    nucleus: the fewest most probable tokens whose probabilities add up to at least `top_p` (Holtzman et al. 2020,
    section 3.1). Temperature 0 takes the most probable token. <pad>, <s> and the ids in `never` are never chosen.

    Ends after `length` tokens, or with the </s> of so many `sentences`. reset: the state is empty again after each
    </s>, for a model that was trained on sentences one by one. One random number a step is drawn from rng.

    TypeError: rng is no Generator. ValueError, at once: settings out of range. ArithmeticError: log p is not a number,
    or nothing is left to choose from.
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng is {type(rng).__name__}: pass numpy.random.default_rng(seed)")
    _check(length, sentences, temperature, top_k, top_p)
    return _sample(model, start, rng, length, sentences, temperature, top_k, top_p, [PAD, BOS, *never], reset)


def _sample(model, start, rng, length, sentences, temperature, top_k, top_p, never, reset):
    log_probs, (*_, weights), state = start
    chosen, ended = None, 0
    for step in range(length):
        if step:
            log_probs, weights, state = model.next(np.array([chosen]), None if reset and chosen == EOS else state)
            log_probs, weights = log_probs[0], None if weights is None else weights[0].copy()
        log_p = np.array(log_probs, np.float64)
        forbid(log_p, never)
        chosen = choose(log_p, rng, temperature, top_k, top_p)
        yield Choice(chosen, float(log_p[chosen]), weights)
        ended += chosen == EOS
        if ended == sentences:
            return


def choose(log_p, rng, temperature=1.0, top_k=None, top_p=None):
    """Draw one id from log p (V,), which need not add up to 1; −inf is never drawn."""
    if temperature == 0:
        return int(log_p.argmax())
    with np.errstate(over="ignore", under="ignore"):
        p = np.exp((log_p - log_p.max()) / temperature)                 # of the most probable: 1, so that none overflows
    ids = np.argsort(-p, kind="stable")[:top_k]
    total = np.cumsum(p[ids])
    if top_p is not None:
        ids = ids[:np.searchsorted(total, top_p * total[-1]) + 1]
        total = total[:len(ids)]
    return int(ids[np.searchsorted(total, rng.random() * total[-1], side="right")])     # the product is below the total


def _check(length, sentences, temperature, top_k, top_p):
    for name, value in (("length", length), ("sentences", sentences), ("top_k", top_k)):
        if value is not None and not value >= 1:
            raise ValueError(f"{name} {value}: expected at least 1")
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature {temperature}: expected a number of at least 0; 0 takes the most probable token")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p {top_p}: expected a share above 0 and at most 1")
