"""Sampling: a language model writes on, or a translator writes, drawing one token after another."""

import math
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

from numpy_attention.data.vocabulary import BOS, EOS, PAD, UNK
from numpy_attention.decoding.hypothesis import forbid
from numpy_attention.decoding.protocols import LanguageModel
from numpy_attention.module import Array


class Reading(NamedTuple):
    """Where a model stands after a text: log p of what follows, what was looked at, the state."""

    log_probabilities: Array            # (V,)
    weights: list[Array | None]         # one for each step read, as a Choice has them
    state: Any


class Choice(NamedTuple):
    """One token written: its id, the model's own log p of it, what was looked at to choose it."""

    id: int
    log_probability: float
    weights: Array | None   # (S,)  over the states remembered, oldest first, or over the source


def read(model: LanguageModel, ids: Sequence[int], state: Any = None) -> Reading:
    """Walk a model through ids, of which the first is usually </s>. ValueError: no ids."""
    if not len(ids):
        raise ValueError("no ids to read: expected at least one, usually </s>, "
                         "after which a text begins")
    seen = []
    for id in ids:
        log_probs, weights, state = _next(model, id, state)
        seen.append(weights)
    return Reading(log_probs, seen, state)


def sample(model: LanguageModel, start: Reading, rng: np.random.Generator, length: int = 60,
           sentences: int | None = None, temperature: float = 1.0, top_k: int | None = None,
           top_p: float | None = None, never: Sequence[int] = (UNK,),
           reset: bool = False) -> Iterator[Choice]:
    """Write on from a Reading, one Choice a step.

    The next token is drawn from softmax(log p / temperature), cut down to the `top_k` most probable
    tokens, then to the nucleus: the fewest most probable tokens whose probabilities add up to at
    least `top_p` (Holtzman et al. 2020, section 3.1). Temperature 0 takes the most probable token.
    <pad>, <s> and the ids in `never` are never chosen.

    Ends after `length` tokens, or with the </s> of so many `sentences`. reset: the state is empty
    again after each </s>, for a model that was trained on sentences one by one. One random number a
    step is drawn from rng.

    TypeError: rng is no Generator. ValueError, at once: settings out of range. ArithmeticError: log
    p is not a number, or nothing is left to choose from.
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng is {type(rng).__name__}: pass numpy.random.default_rng(seed)")
    _check(length, sentences, temperature, top_k, top_p)

    def choices() -> Iterator[Choice]:
        log_probs, seen, state = start
        weights = seen[-1]
        ended = 0
        chosen: int | None = None
        for _ in range(length):
            if chosen is not None:
                before = None if reset and chosen == EOS else state
                log_probs, weights, state = _next(model, chosen, before)
            log_p = np.array(log_probs, np.float64)
            forbid(log_p, [PAD, BOS, *never])
            chosen = choose(log_p, rng, temperature, top_k, top_p)
            yield Choice(chosen, float(log_p[chosen]), weights)
            ended += chosen == EOS
            if ended == sentences:
                return

    return choices()


def _next(model: LanguageModel, id: int, state: Any) -> tuple[Array, Array | None, Any]:
    """One step of one row → log p (V,), weights (S,) or None, state."""
    log_probs, weights, state = model.next(np.array([id], np.int64), state)
    return log_probs[0], None if weights is None else weights[0].copy(), state


def choose(log_p: Array, rng: np.random.Generator, temperature: float = 1.0,
           top_k: int | None = None, top_p: float | None = None) -> int:
    """Draw one id from log p (V,), which need not add up to 1; −inf is never drawn."""
    if temperature == 0:
        return int(log_p.argmax())
    with np.errstate(over="ignore"):
        # the most probable has 1, so that none overflows
        p = np.exp((log_p - log_p.max()) / temperature)                     # (V,)
    ids = np.argsort(-p, kind="stable")[:top_k]
    total = np.cumsum(p[ids])
    if top_p is not None:
        nucleus = np.searchsorted(total, top_p * total[-1]) + 1
        total = total[:nucleus]
    drawn = rng.random() * total[-1]                                        # below the total
    return int(ids[np.searchsorted(total, drawn, side="right")])


def _check(length: int, sentences: int | None, temperature: float, top_k: int | None,
           top_p: float | None) -> None:
    for name, value in (("length", length), ("sentences", sentences), ("top_k", top_k)):
        if value is not None and not value >= 1:
            raise ValueError(f"{name} {value}: expected at least 1")
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature {temperature}: expected a number of at least 0; "
                         "0 takes the most probable token")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p {top_p}: expected a share above 0 and at most 1")
