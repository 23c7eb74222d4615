"""Hard attention: the context is the value at one sampled position (Xu et al. 2015, 4.1)."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.attention.memory import Memory, dot_scores, sum_of_values
from numpy_attention.attention.softmax import masked_softmax, masked_softmax_backward
from numpy_attention.kernels.rows import mix
from numpy_attention.module import Array, Module
from numpy_attention.validation.arguments import check_number
from numpy_attention.validation.arrays import type_name

SOFT_STEP = 2**31       # no target word has this number


@dataclass
class SampledMemory(Memory):
    """A Memory for training, which makes `HardAttention` sample positions.

    Its random numbers are hashes of key, sentence id and step, so they do not depend on how a batch
    is split. key: a random integer. row_ids: the ids of the sentences in the training data. `take`,
    which decoding calls, returns a plain Memory, with which HardAttention does not sample.
    """

    key: int = 0
    row_ids: Array = field(default_factory=lambda: np.zeros(0, int))    # (B,)

    def uniform(self, step):
        """Return pseudorandom numbers (B,) in [0, 1), which depend only on key, row id and step."""
        drawn = [mix(mix(np.uint32(row & 0xFFFFFFFF) ^ np.uint32(self.key)) ^ np.uint32(step))
                 for row in self.row_ids.tolist()]
        return np.array(drawn) / 2**32


class Cache(NamedTuple):
    memory: Memory
    weights: Array      # (B, S)    α
    chosen: Array       # (B, S)    1 at the position that was read; in a soft row, α
    soft: Array         # (B,)      whether a row is soft
    scored: Any         # the cache of `score`


def hard_weights(scores, visible):
    """Return 1 at the largest visible score, and 0 elsewhere.   scores, visible (…, S)."""
    return _one_hot(masked_softmax(scores, visible).argmax(-1), scores, visible)


def sampled_weights(weights, visible, uniform):
    """Return 1 at a position sampled from the weights, 0 elsewhere.   weights, visible (…, S).

    uniform (…): a random number in [0, 1) for each row of weights.
    """
    totals = weights.cumsum(-1)
    below = uniform[..., None] * totals[..., -1:]
    # the first position whose sum exceeds the draw
    return _one_hot((totals > below).argmax(-1), weights, visible)


def _one_hot(chosen, like, visible):
    """Return 1 at each row's chosen position, 0 elsewhere. A row with no visible position is 0."""
    one_hot = np.zeros_like(like)
    some = visible.any(-1, keepdims=True).astype(like.dtype)
    np.put_along_axis(one_hot, chosen[..., None], some, -1)
    return one_hot


@dataclass(eq=False)
class HardAttention(Module):
    """Hard attention: read one position, chosen by the weights of a wrapped softmax attention.

        α   = softmax(score(q, h_j))
        j   ~ α          with a SampledMemory; otherwise, as in evaluation, j = argmax α
        c   = h_j

    The choice has no derivative. Let e be the scores, and L a loss that is a sum over words. The
    score-function estimator (Williams 1992; Xu et al. 2015, equation 11) of ∂E[L]/∂e is

        (R − b) ∂log α_j/∂e = (R − b) (onehot(j) − α)

    where R is the loss of the words predicted after the choice, and b is a baseline that does not
    depend on the choice. The model passes (R − b) · onehot(j) to `step_backward` as dweights. In
    training, a random fraction `soft` of the sentences reads the expected value Σ_j α_j h_j
    instead, which has a derivative. For these sentences, dweights has no effect.

    Shapes: query q (B, Q), values h (B, S, D), mask (B, S) → context (B, D), weights α (B, S).
    """

    attention: Module
    soft: float = 0.0

    def __post_init__(self):
        if isinstance(self.attention, type) or not hasattr(self.attention, "score"):
            raise TypeError(f"attention is {type_name(self.attention)}; expected an instance with "
                            "a `score` method, such as AdditiveAttention.create(…)")
        check_number("soft", self.soft, 0, 1, "a number from 0 to 1")

    def read(self, values, mask):
        """Return the Memory of the wrapped attention.   values (B, S, D), mask (B, S)."""
        return self.attention.read(values, mask)

    def sampled(self, memory, rng, rows):
        """Return a SampledMemory with a key drawn from rng. rows (B,): the ids of the sentences."""
        key = int(rng.integers(2**32))
        return SampledMemory(memory.values, memory.keys, memory.mask, key, rows)

    def step(self, query, memory, t):
        """Read one position in step t: query (B, Q) → context (B, D), weights (B, S), cache."""
        scores, scored = self.attention.score(query, memory)                    # (B, S)
        weights = masked_softmax(scores, memory.mask)
        if isinstance(memory, SampledMemory):
            soft = memory.uniform(SOFT_STEP) < self.soft                        # (B,)
            chosen = sampled_weights(weights, memory.mask, memory.uniform(t))
            chosen[soft] = weights[soft]
        else:
            soft = np.zeros(len(weights), bool)
            chosen = self.attention_weights(scores, memory.mask)
        context = sum_of_values(chosen, memory)
        return context, weights, Cache(memory, weights, chosen, soft, scored)

    def attention_weights(self, scores, visible):
        """Return 1 at the largest visible score, else 0 (B, S). `ablate` replaces this method."""
        return hard_weights(scores, visible)

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        """Backpropagate dcontext (B, D) → dquery (B, Q), or None if dweights is None.

        dweights (B, S) is R − b (see the class) at the chosen position and 0 elsewhere. If dweights
        is None, choices and weights are treated as constants, and only the values have a gradient.
        """
        memory, weights, chosen, soft, scored = cache
        # c = Σ_j chosen_j h_j
        dmemory.defer("values", chosen, dcontext)
        if dweights is None:
            return None
        # ∂log α_j/∂e = onehot(j) − α
        dscores = dweights - weights * dweights.sum(1, keepdims=True)           # (B, S)
        if soft.any():
            dalpha = dot_scores(dcontext, memory)
            dscores[soft] = masked_softmax_backward(dalpha, weights)[soft]
        return self.attention.score_backward(dscores, scored, memory, dmemory, grads.attention)

    def read_backward(self, memory, dmemory, grads):
        """Return dvalues (B, S, D); add the gradients of the wrapped attention to grads."""
        return self.attention.read_backward(memory, dmemory, grads.attention)
