"""Measure whether the roles of a hidden state pull the state in different directions.

A state of an attentive language model may serve as query, key and value, and predict a word.
Daniluk et al. 2017 (abstract, sections 2.2 and 2.3) use separate vectors for key, value and
prediction, because one vector has too much to do. The backward pass of a readout has a term for
each role, the gradient ∂L/∂h_t through that role. If two terms point in opposite directions, a step
that serves one role harms the other.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from numpy_attention.bootstrap import Interval, mean_interval
from numpy_attention.data.vocabulary import PAD
from numpy_attention.experiments.analysis.losses import check_texts, in_order, name_of, sums
from numpy_attention.module import Array
from numpy_attention.validation.arguments import check_generator, check_methods

# roles of a state: query, key and value (both for later steps), and prediction
ROLES = ("query", "key", "value", "predict")
PAIRS = tuple(combinations(ROLES, 2))


@dataclass
class Roles:
    """The part of ∂L/∂h_t that reaches a state h_t in each role (query, key, value, predict).

    norms: {role: interval} for the root mean square of the gradient's norm over the positions t, or
    None if a state does not have the role, such as "query" in the readout `single`. cosines: {pair
    of roles: interval} for the mean cosine of the two gradients at positions where neither is 0, or
    None if there is no such position, or if the two roles read different parts of a state.
    """

    norms: dict[str, Interval | None]
    cosines: dict[tuple[str, str], Interval | None]


def role_gradients(model: Any, batches: Any, rng: np.random.Generator) -> Roles:
    """Measure how much each role of a state h_t contributes to the gradient ∂L/∂h_t.

    L = Σ −log p, without dropout. batches: TextBatches or DocumentBatches. The gradient stays
    within a batch, as in training, so the last state of a batch is never a key or a value. The
    confidence intervals are those of `mean_interval` over the rows of the batches. Raises
    ValueError for a model without attention over its past.
    """
    check_methods("model", model, "a language model", "forward", "predict_and_grad")
    reader: Any = getattr(model, "reader", None)
    if not hasattr(reader, "roles_backward"):
        raise ValueError(f"{name_of(model)} has no attention over its history; pass a model "
                         "trained with attention = 'single', 'combined' or 'key-value'")
    check_texts(batches)
    check_generator(rng)
    squares: dict[str, list[Array]] = {role: [] for role in ROLES}
    shared = [pair for pair in PAIRS if reader.read_by[pair[0]] == reader.read_by[pair[1]]]
    cosines: dict[tuple[str, str], list[Array]] = {pair: [] for pair in shared}
    positions = []
    for terms, mask in _terms(model, batches):
        positions.append(mask)
        lengths = {role: np.sqrt(dots(term, term)) for role, term in terms.items()}
        for role, length in lengths.items():
            squares[role].append(length**2)
        for one, other in shared:
            if one in terms:
                both = lengths[one] * lengths[other]
                with np.errstate(invalid="ignore"):             # 0 / 0: no direction
                    cosines[one, other].append(dots(terms[one], terms[other]) / both)
    return Roles({role: _root(squares[role], positions, rng) for role in ROLES},
                 {pair: _mean(cosines.get(pair, []), rng) for pair in PAIRS})


def dots(a: Array, b: Array) -> Array:
    """Return the dot products (T, B), in float64, of the vectors in `a` and `b` (T, B, n)."""
    return np.einsum("tbn,tbn->tb", a, b, dtype=np.float64)


def _terms(model: Any, batches: Any) -> Any:
    """For each batch, yield {role: ∂L/∂h (T, B, n)}, and a mask (T, B) of inputs that are words."""
    grads = model.zeros_like()
    state = None
    for batch, carried in in_order(batches):
        y, state, cache = model.forward(batch, state if carried else None)
        _, dy = model.predict_and_grad(y, batch.targets, 1.0, grads)
        dy = model.dropout.backward(dy, cache.dropped)
        terms = model.reader.roles_backward(dy, None, cache.reader, grads.reader)
        yield ({role: term for role, term in terms._asdict().items() if term is not None},
               batch.inputs != PAD)


def _mean(values: list[Array], rng: np.random.Generator) -> Interval | None:
    """Return the Interval of the mean of all values that are not NaN, or None if all are NaN."""
    known = [~np.isnan(one) for one in values]
    if not any(one.any() for one in known):
        return None
    totals = sums([np.where(there, one, 0) for there, one in zip(known, values)])
    return mean_interval(totals, sums(known), rng)


def _root(squares: list[Array], positions: list[Array],
          rng: np.random.Generator) -> Interval | None:
    """Return the Interval of √(Σ squares / Σ positions), or None if `squares` is empty."""
    if not squares:
        return None
    return Interval(*np.sqrt(mean_interval(sums(squares), sums(positions), rng)).tolist())
