"""What all tests share: a Generator of their own, seeded by nothing but this file."""

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# few examples, the same at every run, and no clock
settings.register_profile("short", derandomize=True, max_examples=25, deadline=None, database=None,
                          suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.load_profile("short")


@pytest.fixture
def rng():
    return np.random.default_rng(20150909)


@pytest.fixture(autouse=True)
def close_figures():
    """Figures belong to pyplot where a test has imported it, and pyplot keeps them."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
