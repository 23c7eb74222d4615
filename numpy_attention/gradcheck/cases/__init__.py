"""Gradient checks of every layer, cell, attention and model, at tiny sizes that all differ.

    report = CHECKS["GRU before new"](np.random.default_rng(0))

Equal sizes could hide a missing transpose, and a bias of 0 could hide that the bias is forgotten.
So parameters, inputs and upstream gradients are random. The sequences in a batch differ in length,
and words repeat. CASES is {name: build}. Each build(rng, dtype) returns a Case: the arguments of
one call to `gradcheck`. With the same seed, a float32 Case has the float64 numbers, rounded.
"""

from functools import partial
from typing import Any

import numpy as np

from numpy_attention.gradcheck import Report, gradcheck
from numpy_attention.gradcheck.cases import attention, cells, layers, models
from numpy_attention.validation.arguments import check_generator, check_name

CASES: dict[str, Any] = layers.CASES | cells.CASES | attention.CASES | models.CASES


def check(name: str, rng: np.random.Generator) -> Report:
    """Run the gradient check `name` in float64; return a Report, or raise GradientError."""
    check_name("name", name, CASES)
    check_generator(rng)
    case = CASES[name](rng, np.float64)
    return gradcheck(case.target, *case.inputs, rng=rng, forward=case.forward,
                     backward=case.backward, title=name, causal=case.causal)


CHECKS = {name: partial(check, name) for name in CASES}
