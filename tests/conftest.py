"""What all tests share: a Generator of their own, seeded by nothing but this file."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20150909)
