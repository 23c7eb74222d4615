"""Central differences against a hand-written backward pass, and a report of where it goes wrong."""

from numpy_attention.gradcheck.check import (
    EPSILON, TOLERANCE, GradientError, Report, expect_epsilon, gradcheck, numeric_gradient,
    protocol, randomize, relative_errors)

__all__ = ["EPSILON", "GradientError", "Report", "TOLERANCE", "expect_epsilon", "gradcheck",
           "numeric_gradient", "protocol", "randomize", "relative_errors"]
