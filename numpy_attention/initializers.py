"""Initializers: init(rng, shape, dtype) returns an array drawn from a numpy Generator.

The shape of weights is (inputs, outputs).
"""

from typing import Callable, NamedTuple

import numpy as np

from numpy_attention.registry import INITIAL_VALUES
from numpy_attention.validation.arguments import check_function, check_generator, check_number
from numpy_attention.validation.arrays import check_floating
from numpy_attention.validation.messages import short_repr

FINITE = "a finite number of at least 0"
HIGHEST = float(np.finfo(np.float32).max)


def uniform(bound):
    """Return an initializer U(−bound, bound), as in Zaremba et al. 2014 and Luong et al. 2015.

    Raises ValueError unless bound is a finite number of at least 0.
    """
    check_number("initial values from U(−b, b) with b", bound, 0, HIGHEST, FINITE)

    def init(rng, shape, dtype=np.float32):
        return rng.uniform(-bound, bound, shape).astype(dtype)
    return init


def normal(deviation):
    """Return an initializer N(0, deviation²), as in Bahdanau et al. 2015, appendix B.1.

    Raises ValueError unless deviation is a finite number of at least 0.
    """
    check_number("initial values from N(0, σ²) with σ", deviation, 0, HIGHEST, FINITE)

    def init(rng, shape, dtype=np.float32):
        return (deviation * rng.standard_normal(shape)).astype(dtype)
    return init


def glorot(rng, shape, dtype=np.float32):
    """Draw weights from U(−r, r) with r = √(6 / (inputs + outputs)) (Glorot & Bengio 2010).

    This keeps the variances of activations and of gradients similar in all layers.
    """
    bound = np.sqrt(6 / (shape[0] + shape[-1]))
    return uniform(bound)(rng, shape, dtype)


def orthogonal(rng, shape, dtype=np.float32):
    """Draw recurrent weights W (H, G) as orthogonal blocks (H, H) side by side (Saxe et al. 2014).

    G must be a multiple of H, or smaller than H. If it is smaller, W is part of one block.
    """
    H = shape[0]
    blocks = []
    for _ in range(max(1, shape[1] // H)):
        q, r = np.linalg.qr(rng.standard_normal((H, H)))
        blocks.append(q * np.sign(np.diag(r)))
    return np.concatenate(blocks, axis=1)[:, :shape[1]].astype(dtype)


class InitialValues(NamedTuple):
    """The initializers of a model's parameters. Biases are 0."""

    weights: Callable
    recurrent: Callable     # weights of a cell from state to state
    table: Callable         # embeddings of words


def initial_values(init, paper):
    """Return the InitialValues that `init` names.

    init: "paper" for the InitialValues in the argument `paper`; "modern" for `glorot`, `orthogonal`
    and, for embeddings, N(0, 0.1²); or a number b for U(−b, b) everywhere. Raises ValueError for
    any other value.
    """
    if not isinstance(init, str):
        return InitialValues(uniform(init), uniform(init), uniform(init))
    if init not in INITIAL_VALUES:
        raise ValueError(f"init={short_repr(init)}; expected 'paper', 'modern' or a number b to "
                         "draw from U(−b, b)")
    return paper if init == "paper" else InitialValues(glorot, orthogonal, normal(0.1))


def check_initial(rng, dtype, *inits):
    """Check the arguments with which `create` draws weights: a Generator, a dtype, initializers.

    Raises TypeError if rng is not a Generator, the dtype is neither float32 nor float64, or an
    initializer is not a function.
    """
    check_generator(rng)
    check_floating(dtype)
    for init in inits:
        check_function("init", init, "a function init(rng, shape, dtype), such as glorot")
