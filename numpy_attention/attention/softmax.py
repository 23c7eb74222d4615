"""Softmax over the visible positions, for scores with any number of axes."""

import numpy as np

from numpy_attention.kernels import softmax as kernels
from numpy_attention.validation.arrays import as_rows


def masked_softmax(scores, visible):
    """Return α = softmax(e) over the visible positions of the last axis, 0 elsewhere.

    scores, visible (…, S) → weights (…, S).
    """
    weights = np.empty_like(scores, order="C")      # so that `as_rows` does not copy
    kernels.masked_softmax(as_rows(scores), as_rows(visible), as_rows(weights))
    return weights


def masked_softmax_backward(dweights, weights):
    """Return the gradient of the scores, de_j = α_j (dα_j − Σ_k α_k dα_k), 0 where α_j = 0.

    dweights, weights (…, S) → (…, S).
    """
    dscores = np.empty_like(weights, order="C")
    kernels.masked_softmax_backward(as_rows(dweights), as_rows(weights), as_rows(dscores))
    return dscores
