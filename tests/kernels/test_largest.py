"""The few largest of many sums."""

import numpy as np
import pytest

from numpy_attention.kernels.largest import largest


def found(so_far, log_p, count):
    """[(row, token, sum)] as the kernel leaves them."""
    rows = np.full(count, -1)
    tokens = np.full(count, -1)
    totals = np.full(count, np.nan)
    n = largest(so_far, log_p, rows, tokens, totals)
    assert (rows[n:] == -1).all() and (tokens[n:] == -1).all()
    return list(zip(rows[:n], tokens[:n], totals[:n]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 7, 400])
def test_they_are_those_of_a_stable_sort(rng, dtype, count):
    so_far = rng.standard_normal(4)
    log_p = rng.standard_normal((4, 300)).astype(dtype)
    totals = so_far[:, None] + log_p
    order = np.argsort(-totals.ravel(), kind="stable")[:count]
    wanted = [(n // 300, n % 300, totals.ravel()[n]) for n in order]
    assert found(so_far, log_p, count) == wanted


def test_the_sum_is_in_float64():
    """Two of these sums are equal in float32."""
    log_p = np.array([[-1e-9, -2e-9]], np.float32)
    assert [token for _, token, _ in found(np.array([-100.0]), log_p[:, ::-1].copy(), 2)] == [1, 0]


@pytest.mark.parametrize("left_out", [-np.inf, np.inf, np.nan])
def test_what_is_not_finite_is_not_among_them(left_out):
    log_p = np.array([[left_out, -3.0, left_out, -1.0]])
    assert found(np.array([-1.0]), log_p, 3) == [(0, 3, -2.0), (0, 1, -4.0)]
    assert found(np.array([-1.0]), np.full((1, 3), left_out), 2) == []
