"""`largest`: the few largest of many sums, in order."""

import numpy as np
import pytest

from numpy_attention.kernels.largest import largest


def select(so_far, log_p, count):
    """Return [(row, token, sum)] in the order of the kernel."""
    rows = np.full(count, -1)
    tokens = np.full(count, -1)
    totals = np.full(count, np.nan)
    n = largest(so_far, log_p, rows, tokens, totals)
    assert (rows[n:] == -1).all() and (tokens[n:] == -1).all()
    return list(zip(rows[:n], tokens[:n], totals[:n]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 7, 400])
def test_matches_a_stable_sort(rng, dtype, count):
    so_far = rng.standard_normal(4)
    log_p = rng.standard_normal((4, 300)).astype(dtype)
    totals = so_far[:, None] + log_p
    order = np.argsort(-totals.ravel(), kind="stable")[:count]
    wanted = [(n // 300, n % 300, totals.ravel()[n]) for n in order]
    assert select(so_far, log_p, count) == wanted


def test_sums_are_in_float64():
    """The two sums are equal in float32."""
    log_p = np.array([[-1e-9, -2e-9]], np.float32)
    assert [token for _, token, _ in select(np.array([-100.0]), log_p[:, ::-1].copy(), 2)] == [1, 0]


@pytest.mark.parametrize("nonfinite", [-np.inf, np.inf, np.nan])
def test_nonfinite_values_are_skipped(nonfinite):
    log_p = np.array([[nonfinite, -3.0, nonfinite, -1.0]])
    assert select(np.array([-1.0]), log_p, 3) == [(0, 3, -2.0), (0, 1, -4.0)]
    assert select(np.array([-1.0]), np.full((1, 3), nonfinite), 2) == []
