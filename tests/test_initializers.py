"""Initializers: distribution, shape, dtype, and reproducibility from the caller's generator."""

import numpy as np
import pytest

from numpy_attention import initializers


@pytest.mark.parametrize("init", [
    initializers.uniform(0.1),
    initializers.normal(0.01),
    initializers.glorot,
    initializers.orthogonal,
])
def test_repeatable_with_requested_dtype(init):
    for dtype in (np.float32, np.float64):
        first, second = (init(np.random.default_rng(4), (5, 15), dtype) for _ in range(2))
        assert first.dtype == dtype and first.shape == (5, 15) and (first == second).all()
    assert init(np.random.default_rng(4), (5, 15)).dtype == np.float32
    # the same values, rounded
    np.testing.assert_allclose(init(np.random.default_rng(4), (5, 15)), first, atol=1e-6)


def test_scales(rng):
    shape = (200, 300)
    values = initializers.uniform(0.1)(rng, shape)
    assert 0.099 < values.max() <= 0.1 and -0.1 <= values.min() < -0.099
    assert abs(values.mean()) < 1e-3
    assert initializers.normal(0.01)(rng, shape).std() == pytest.approx(0.01, rel=0.02)
    bound = np.sqrt(6 / 500)
    assert np.abs(initializers.glorot(rng, shape)).max() == pytest.approx(bound, rel=1e-3)


def test_by_name(rng):
    paper = object(), object(), object()
    assert initializers.initial_values("paper", paper) is paper
    weights, recurrent, table = initializers.initial_values("modern", paper)
    assert weights is initializers.glorot and recurrent is initializers.orthogonal
    assert table(rng, (200, 300)).std() == pytest.approx(0.1, rel=0.02)
    for init in initializers.initial_values(0.3, paper):
        assert np.abs(init(rng, (200, 300))).max() == pytest.approx(0.3, rel=0.01)
    with pytest.raises(ValueError, match="init='moderm'; expected 'paper', 'modern' or a number b"):
        initializers.initial_values("moderm", paper)


def test_orthogonal_blocks(rng):
    W = initializers.orthogonal(rng, (6, 18), np.float64)
    for block in np.split(W, 3, axis=1):
        np.testing.assert_allclose(block.T @ block, np.eye(6), atol=1e-12)
    assert not np.allclose(W[:, :6], W[:, 6:12])
    narrow = initializers.orthogonal(rng, (6, 4), np.float64)
    np.testing.assert_allclose(narrow.T @ narrow, np.eye(4), atol=1e-12)


def test_orthogonal_blocks_have_positive_r_diagonal():
    """Q of A = QR with diag(R) > 0 is uniformly distributed over rotations and reflections."""
    A = np.random.default_rng(4).standard_normal((6, 6))
    Q = initializers.orthogonal(np.random.default_rng(4), (6, 6), np.float64)
    R = Q.T @ A
    np.testing.assert_allclose(R, np.triu(R), atol=1e-12)
    assert (np.diag(R) > 0.1).all() and (np.diag(np.linalg.qr(A)[1]) < 0).any()
