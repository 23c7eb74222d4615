"""Building blocks of gradient checks: sizes that all differ, random arrays, and masks."""

from dataclasses import dataclass
from typing import Callable

import numpy as np

from numpy_attention.gradcheck import GradientError
from numpy_attention.module import Module

T = 4               # number of target steps
B = 3               # number of sequences in a batch
I = 2               # size of an input    # noqa: E741
H = 5               # size of a state
S = 6               # number of source positions
D = 9               # size of a value
Q = 10              # size of a query
A = 7               # size of the hidden layer of an additive score
V = 11              # size of the vocabulary
SEED = 7            # seed of the dropout in a case, so that every call draws the same masks


@dataclass
class Case:
    """The arguments of one call to `gradcheck`: a Module, its inputs, two passes and `causal`."""

    target: Module
    inputs: tuple
    forward: Callable
    backward: Callable
    causal: int | None = None


def ragged(size, lengths):
    """Return a mask (size, len(lengths)): the first lengths[b] steps of sequence b are True."""
    return np.arange(size)[:, None] < np.asarray(lengths)


def array(rng, dtype, *shape):
    """Return an array of this shape with standard normal numbers."""
    return rng.standard_normal(shape).astype(dtype)


def plain(target, *inputs):
    """Return the Case of a layer, `target`, whose forward takes only `inputs`."""
    return Case(target, inputs, target.forward, target.backward)


def check_same_loss(*losses):
    """Raise GradientError unless all losses are equal. The first loss is from loss_and_grad."""
    if not np.allclose(losses, losses[-1], 1e-6):
        raise GradientError(f"the loss is {losses[0]} in loss_and_grad but {losses[-1]} in forward")
