"""Gradient checks of planted mistakes. Each runs once, and all tests share its report."""

from functools import cache

import exam
import numpy as np
import pytest
from planting import SETS, plant

from numpy_attention.gradcheck import GradientError, gradcheck

MISTAKES = {one.name: one for mistakes in SETS.values() for one in mistakes}


def check(mistake):
    """Run the check of a mistake and return its GradientError."""
    target, inputs, forward, backward = plant(mistake).case(np.random.default_rng(0))
    with pytest.raises(GradientError) as caught, np.errstate(all="ignore"):
        gradcheck(target, *inputs, rng=np.random.default_rng(1), forward=forward,
                  backward=backward, causal=exam.CAUSAL.get(mistake.file))
    return caught.value


@cache
def failure(name):
    return check(MISTAKES[name])


def report_of(name):
    return failure(name).report
