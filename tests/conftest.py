"""What all tests share: a Generator of their own, seeded by nothing but this file."""

import signal
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


@pytest.fixture(autouse=True, scope="session")
def signals_as_in_a_terminal():
    """Whatever started the tests, `nohup` or a shell in the background, ignored."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL,
                signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def close_figures():
    """Figures belong to pyplot where a test has imported it, and pyplot keeps them."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
