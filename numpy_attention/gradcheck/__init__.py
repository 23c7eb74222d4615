"""Central differences against a hand-written backward pass, and a report of where it goes wrong.

Beside them the laws that differences cannot see (`laws`).
"""

import sys
from types import ModuleType

from numpy_attention.gradcheck.check import gradcheck
from numpy_attention.gradcheck.differences import (
    EPSILON, TOLERANCE, check_epsilon, numeric_gradient, relative_errors)
from numpy_attention.gradcheck.drive import protocol, randomize
from numpy_attention.gradcheck.faults import NotAParameter
from numpy_attention.gradcheck.report import GradientError, Report

__all__ = ["EPSILON", "GradientError", "NotAParameter", "Report", "TOLERANCE", "check_epsilon",
           "gradcheck", "numeric_gradient", "protocol", "randomize", "relative_errors"]


class _CallableModule(ModuleType):
    """This package, also as the function: `na.gradcheck(layer, x, rng=rng)`."""

    def __call__(self, *arguments, **options):
        return gradcheck(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
