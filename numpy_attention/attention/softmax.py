"""Softmax over what may be seen, for scores of any number of axes."""

import numpy as np

from numpy_attention.kernels import softmax as kernels
from numpy_attention.validation.arrays import check_like, check_mask, check_real, as_rows


def masked_softmax(scores, visible):
    """α = softmax(e) over the last axis where it is visible, else 0.

    scores, visible (…, S) → weights (…, S). ValueError, TypeError: of another shape or dtype.
    """
    check_real("scores", scores)
    check_mask(visible, scores.shape, "(…, S)", "visible")
    weights = np.empty_like(scores, order="C")      # of transposed weights `flat` would be a copy
    kernels.masked_softmax(as_rows(scores), as_rows(visible), as_rows(weights))
    return weights


def masked_softmax_backward(dweights, weights):
    """de_j = α_j (dα_j − Σ_k α_k dα_k); 0 where α is.   dweights, weights (…, S) → (…, S)."""
    check_real("weights", weights)
    check_like("dweights", dweights, weights, "the weights")
    dscores = np.empty_like(weights, order="C")
    kernels.masked_softmax_backward(as_rows(dweights), as_rows(weights), as_rows(dscores))
    return dscores
