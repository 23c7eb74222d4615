"""Fixtures for the tests of searches: translators and a batch."""

import numpy as np
import pytest

from numpy_attention.data.batching import pair_batch
from numpy_attention.gradcheck import randomize
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.rnnsearch import RNNSearch


@pytest.fixture(params=[RNNSearch, EncoderDecoder])
def model(request, rng):
    model = request.param.create(rng, 11, 12, embedding=4, hidden=5, maxout=3, dtype=np.float64)
    return randomize(model, rng, 1.0)


@pytest.fixture
def batch(rng):
    return pair_batch([list(rng.integers(4, 11, n)) for n in (3, 7, 1, 5)], [[4]] * 4)
