"""Sampling: a language model or a translator writes by drawing one token after another."""

from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

from numpy_attention.data.vocabulary import EOS, UNK
from numpy_attention.decoding.hypothesis import forbid, never_chosen
from numpy_attention.decoding.protocols import LanguageModel
from numpy_attention.module import Array
from numpy_attention.validation.arguments import (
    as_integers,
    check_flags,
    check_generator,
    check_kind,
    check_methods,
    check_number,
)
from numpy_attention.validation.arrays import at_least, check_array, check_shape, check_whole
from numpy_attention.validation.messages import typed_repr


class Reading(NamedTuple):
    """The result of reading a text: log p of the next token, attention weights and state."""

    log_probabilities: Array            # (V,)
    weights: list[Array | None]         # for each id read, its attention weights, as in Choice
    state: Any


class Choice(NamedTuple):
    """A chosen token: its id, log p of this id under the model, and the attention weights."""

    id: int
    log_probability: float
    weights: Array | None   # (S,)  over the states remembered, oldest first, or over the source


def read(model: LanguageModel, ids: Sequence[int], state: Any = None) -> Reading:
    """Feed ids to a model, starting from `state` (None: the initial state); return a Reading.

    The first id of a text is usually </s>. Raises ValueError if ids is empty.
    """
    check_methods("model", model, "a language model", "next")
    as_integers("ids", ids)
    if not len(ids):
        raise ValueError("ids is empty; expected at least one id. The id of </s> starts a new text")
    seen = []
    for id in ids:
        log_probs, weights, state = _next(model, id, state)
        seen.append(weights)
    return Reading(log_probs, seen, state)


def sample(model: LanguageModel, start: Reading, rng: np.random.Generator, length: int = 60,
           sentences: int | None = None, temperature: float = 1.0, top_k: int | None = None,
           top_p: float | None = None, never: Sequence[int] = (UNK,),
           reset: bool = False) -> Iterator[Choice]:
    """Sample tokens after `start`, a Reading. Return an iterator with one Choice per token.

    The next token is drawn from softmax(log p / temperature), restricted to the `top_k` most
    probable tokens and then to the nucleus: the smallest set of most probable tokens whose share
    of the remaining probability is at least `top_p` (Holtzman et al. 2020, section 3.1).
    Temperature 0 takes the most probable token. <pad>, <s> and the ids in `never` are never chosen.

    Sampling ends after `length` tokens, or after the `sentences`-th </s> if it comes first. reset:
    whether to clear the state after each </s>, for a model that was trained on single sentences.
    Each step draws one random number from rng, unless temperature is 0.

    Raises TypeError if rng is not a Generator, ValueError for settings out of range, and
    ArithmeticError if log p is not a number or nothing is left to choose from.
    """
    check_methods("model", model, "a language model", "next")
    check_kind("start", start, Reading, "a Reading, as returned by `read`")
    check_generator(rng)
    check_flags(reset=reset)
    check_whole("length", length, 1)
    at_least(1, sentences=sentences)
    check_array("start.log_probabilities", start.log_probabilities)
    never = never_chosen(never, len(start.log_probabilities))
    _check(temperature, top_k, top_p)

    def choices() -> Iterator[Choice]:
        log_probs, seen, state = start
        weights = seen[-1]
        ended = 0
        chosen: int | None = None
        for _ in range(length):
            if chosen is not None:
                before = None if reset and chosen == EOS else state
                log_probs, weights, state = _next(model, chosen, before)
            log_p = forbid(log_probs, never, np.float64)
            chosen = choose(log_p, rng, temperature, top_k, top_p)
            yield Choice(chosen, float(log_p[chosen]), weights)
            ended += chosen == EOS
            if ended == sentences:
                return

    return choices()


def _next(model: LanguageModel, id: int, state: Any) -> tuple[Array, Array | None, Any]:
    """Run one step for one token → log p (V,), weights (S,) or None, state."""
    log_probs, weights, state = model.next(np.array([id], np.int64), state)
    return log_probs[0], None if weights is None else weights[0].copy(), state


def choose(log_p: Array, rng: np.random.Generator, temperature: float = 1.0,
           top_k: int | None = None, top_p: float | None = None) -> int:
    """Draw an id from the distribution log_p (V,). An id with log p = −inf is never drawn.

    The probabilities need not sum to 1. For the other arguments and the exceptions, see `sample`.
    """
    if not isinstance(log_p, np.ndarray) or log_p.dtype.kind != "f":
        raise TypeError(f"log_p is {typed_repr(log_p)}; expected an array of floats of shape (V,)")
    check_shape("log_p", log_p, (None,), "(V,)", "pass one row of log-probabilities")
    check_generator(rng)
    _check(temperature, top_k, top_p)
    if not len(log_p):
        raise ValueError("log_p is empty; expected the log-probability of at least one token")
    if not (log_p.max(initial=-np.inf) > -np.inf):      # the largest of one with a NaN is NaN
        what = "contains NaN" if np.isnan(log_p).any() else "is −inf for every token"
        raise ArithmeticError(f"log_p {what}; did training diverge?")
    if temperature == 0:
        return int(log_p.argmax())
    with np.errstate(over="ignore"):
        # the largest value is 1, so none overflows
        p = np.exp((log_p - log_p.max()) / float(temperature))              # (V,)
    ids = np.argsort(-p, kind="stable")[:top_k]
    total = np.cumsum(p[ids])
    if top_p is not None:
        nucleus = np.searchsorted(total, top_p * total[-1]) + 1
        total = total[:nucleus]
    drawn = rng.random() * total[-1]                                        # below the total
    return int(ids[np.searchsorted(total, drawn, side="right")])


def _check(temperature: float, top_k: int | None, top_p: float | None) -> None:
    check_number("temperature", temperature, 0,
                 expected="a number of at least 0; 0 takes the most probable token")
    at_least(1, top_k=top_k)
    if top_p is not None:
        check_number("top_p", top_p, np.nextafter(0, 1), 1, "a fraction above 0 and at most 1")
