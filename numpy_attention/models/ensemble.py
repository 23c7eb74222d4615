"""Ensembles, which predict with the mean of the probabilities of several models."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Sequence

import numpy as np

from numpy_attention.module import Array
from numpy_attention.validation.arguments import check_list, check_methods


class EnsembleState(NamedTuple):
    """The state of each translator in an ensemble, between two target words."""

    states: tuple

    def take(self, rows):
        """Return the states of the given rows of the batch, in the given order."""
        return EnsembleState(tuple(state.take(rows) for state in self.states))


@dataclass(eq=False)
class Ensemble:
    """Ensemble of K models of one kind, with the same vocabularies: p(y_t) = Σ_k p_k(y_t) / K.

    An ensemble can be evaluated, searched and sampled like a single model, but not trained. Its
    attention weights are the mean of the models' weights, or None if a model has no weights or the
    shapes differ. For language models, the state is a list of their states.
    """

    models: Sequence[Any]

    def __post_init__(self):
        check_list("models", self.models, "models")
        if len(self.models) < 2:
            raise ValueError(f"models has length {len(self.models)}; expected at least 2 models")
        for k, model in enumerate(self.models):
            check_methods(f"models[{k}]", model, "a model", "losses", "next")

    @property
    def size(self):
        """The total number of parameters of the K models."""
        return sum(model.size for model in self.models)

    @property
    def vector(self):
        """The parameters of all models, concatenated into one vector."""
        return np.concatenate([model.vector for model in self.models])

    def losses(self, batch, state=None):
        """Return (losses, state). losses (T, B): −log p of each target, and 0 at padding."""
        found = [model.losses(batch, before) for model, before in zip(self.models, self._of(state))]
        logs = -np.stack([losses for losses, _ in found])                       # (K, T, B)
        together = np.where(logs.any(0), -self._mean(logs), 0)
        return together, [after for _, after in found]

    def loss(self, batch, state=None):
        """Return Σ −log p of the batch's targets, and the state."""
        losses, state = self.losses(batch, state)
        return float(losses.sum()), state

    def weights(self, batch, *state):
        """Return the mean attention weights. Language models also take and return a state."""
        if not state:
            return np.mean([model.weights(batch) for model in self.models], axis=0)
        found = [model.weights(batch, before)
                 for model, before in zip(self.models, self._of(*state))]
        return mean_weights([weights for weights, _ in found]), [after for _, after in found]

    def start(self, source, mask):
        """Return the state before the first target word.   source (S, B), mask (S, B)."""
        return EnsembleState(tuple(model.start(source, mask) for model in self.models))

    def next(self, tokens, state=None):
        """Predict the next word: tokens (B,) → log p (B, V), weights (B, S) or None, state."""
        translates = isinstance(state, EnsembleState)
        before = state.states if translates else self._of(state)
        found = [model.next(tokens, one) for model, one in zip(self.models, before)]
        log_p = self._mean(np.stack([one for one, _, _ in found]))              # (B, V)
        after = [one for _, _, one in found]
        return (log_p, mean_weights([one for _, one, _ in found]),
                EnsembleState(tuple(after)) if translates else after)

    def _of(self, state):
        return [None] * len(self.models) if state is None else state

    def _mean(self, logs):
        """Return log (Σ_k exp(logs_k) / K).   logs (K, …) → (…)."""
        mean = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
        return mean.astype(logs.dtype)


def mean_weights(weights: Sequence[Array | None]) -> Array | None:
    """Return the mean of arrays of weights, or None if an item is None or the shapes differ."""
    known = [one for one in weights if one is not None]
    if len(known) < len(weights) or len({one.shape for one in known}) > 1:
        return None
    return np.mean(known, axis=0)
