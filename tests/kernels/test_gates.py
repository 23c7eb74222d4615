"""Gates of one step against their equations in plain NumPy and central differences."""

import numpy as np
import pytest

from numpy_attention.gradcheck import gradcheck
from numpy_attention.kernels import gates as kernels

B, H = 3, 4

both_updates = pytest.mark.parametrize("new", [False, True])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def update(z, n, h, new):
    return z * n + (1 - z) * h if new else (1 - z) * n + z * h


def like(*arrays):
    """Return arrays filled so that elements a kernel does not write are visible."""
    return [np.full_like(array, np.nan) for array in arrays]


# ---- each kernel and its backward as a pair of functions ----------------------------------------


def elman(a, u):
    h_next, = like(a)
    kernels.elman(a, u, h_next)
    return h_next, h_next


def elman_backward(dnext, h_next, grads):
    da, = like(h_next)
    kernels.elman_backward(0.3 * dnext, 0.7 * dnext, h_next, da)
    return da, da


def lstm(a, u, c):
    gates, h_next, c_next = like(a, c, c)
    kernels.lstm(a, u, c, gates, h_next, c_next)
    return h_next, c_next, (gates, c, c_next)


def lstm_backward(dnext, dc_next, cache, grads):
    gates, c, c_next = cache
    da, dc = like(gates, c)
    kernels.lstm_backward(0.3 * dnext, 0.7 * dnext, dc_next, gates, c, c_next, da, dc)
    return da, da, dc


def gru(new):
    def forward(a, u, b_n, h):
        gates, s, h_next = like(a, h, h)
        kernels.gru(a, u, b_n, h, new, gates, s, h_next)
        return h_next, (gates, s, h)

    def backward(dnext, cache, grads):
        gates, s, h = cache
        da, du, dh = like(gates, gates, h)
        kernels.gru_backward(0.3 * dnext, 0.7 * dnext, gates, s, h, new, da, du, dh)
        return da, du, du[:, 2 * H:].sum(0), dh

    return forward, backward


def gru_before(new):
    """Combine both kernels with the product u_n = s U_n between them."""
    def forward(a, u, U_n, h):
        gates, s, h_next = like(a, h, h)
        kernels.gru_reset(a, u, h, gates, s)
        kernels.gru_update(a, s @ U_n, h, new, gates, h_next)
        return h_next, (gates, s, U_n, h)

    def backward(dnext, cache, grads):
        gates, s, U_n, h = cache
        da, dh = like(gates, h)
        kernels.gru_update_backward(0.3 * dnext, 0.7 * dnext, gates, h, new, da, dh)
        du_n = da[:, 2 * H:]
        kernels.gru_reset_backward(du_n @ U_n.T, gates, h, da, dh)
        return da, da[:, :2 * H].copy(), s.T @ du_n, dh

    return forward, backward


DRIVERS = {
    "elman": (elman, elman_backward, [(B, H), (B, H)]),
    "lstm": (lstm, lstm_backward, [(B, 4 * H), (B, 4 * H), (B, H)]),
    "gru old": (*gru(False), [(B, 3 * H), (B, 3 * H), (H,), (B, H)]),
    "gru new": (*gru(True), [(B, 3 * H), (B, 3 * H), (H,), (B, H)]),
    "gru before old": (*gru_before(False), [(B, 3 * H), (B, 2 * H), (H, H), (B, H)]),
    "gru before new": (*gru_before(True), [(B, 3 * H), (B, 2 * H), (H, H), (B, H)]),
}
each = pytest.mark.parametrize("name", DRIVERS)


@each
def test_gradients(rng, name):
    forward, backward, shapes = DRIVERS[name]
    inputs = [rng.standard_normal(shape) for shape in shapes]
    report = gradcheck(None, *inputs, rng=rng, forward=forward, backward=backward)
    assert len(report.errors) == len(inputs)


@each
def test_float32_agrees_with_float64(rng, name):
    forward, backward, shapes = DRIVERS[name]
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    results = []
    for dtype in (np.float32, np.float64):
        *outputs, cache = forward(*(array.astype(dtype) for array in inputs))
        results.append(outputs + list(backward(*outputs, cache, None)))
    for single, double in zip(*results):
        assert single.dtype == np.float32 and double.dtype == np.float64
        np.testing.assert_allclose(single, double, atol=2e-6)


# ---- the equations ------------------------------------------------------------------------------


def test_elman(rng):
    a, u = rng.standard_normal((2, B, H))
    np.testing.assert_allclose(elman(a, u)[0], np.tanh(a + u), atol=1e-14)


def test_lstm(rng):
    a, u = rng.standard_normal((2, B, 4 * H))
    c = rng.standard_normal((B, H))
    h_next, c_next, (gates, _, _) = lstm(a, u, c)
    i, f, g, o = np.split(a + u, 4, axis=1)
    all_gates = np.concatenate([sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)], axis=1)
    np.testing.assert_allclose(gates, all_gates, atol=1e-14)
    wanted = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    np.testing.assert_allclose(c_next, wanted, atol=1e-14)
    np.testing.assert_allclose(h_next, sigmoid(o) * np.tanh(wanted), atol=1e-14)


@both_updates
def test_gru(rng, new):
    a, u = rng.standard_normal((2, B, 3 * H))
    b_n = rng.standard_normal(H)
    h = rng.standard_normal((B, H))
    forward, _ = gru(new)
    h_next, (gates, s, _) = forward(a, u, b_n, h)
    r, z, n = np.split(gates, 3, axis=1)
    np.testing.assert_allclose(gates[:, :2 * H], sigmoid(a + u)[:, :2 * H], atol=1e-14)
    np.testing.assert_allclose(s, u[:, 2 * H:] + b_n, atol=1e-14)
    np.testing.assert_allclose(n, np.tanh(a[:, 2 * H:] + r * s), atol=1e-14)
    np.testing.assert_allclose(h_next, update(z, n, h, new), atol=1e-14)


@both_updates
def test_gru_before(rng, new):
    a = rng.standard_normal((B, 3 * H))
    u = rng.standard_normal((B, 2 * H))
    U_n = rng.standard_normal((H, H))
    h = rng.standard_normal((B, H))
    forward, _ = gru_before(new)
    h_next, (gates, s, _, _) = forward(a, u, U_n, h)
    r, z, n = np.split(gates, 3, axis=1)
    np.testing.assert_allclose(gates[:, :2 * H], sigmoid(a[:, :2 * H] + u), atol=1e-14)
    np.testing.assert_allclose(s, r * h, atol=1e-14)
    np.testing.assert_allclose(n, np.tanh(a[:, 2 * H:] + (r * h) @ U_n), atol=1e-14)
    np.testing.assert_allclose(h_next, update(z, n, h, new), atol=1e-14)


# ---- masked rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masked_rows_keep_their_state(rng, dtype):
    before, after = rng.standard_normal((2, B, H)).astype(dtype)
    mask = np.array([True, False, True])
    wanted = np.where(mask[:, None], after, before)
    kernels.keep(mask, before, after)
    assert (after == wanted).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masked_rows_pass_the_gradient_on(rng, dtype):
    dy, dh_next, dh = rng.standard_normal((3, B, H)).astype(dtype)
    da, du = rng.standard_normal((2, B, 3 * H)).astype(dtype)
    da[1] = np.nan                                                      # must be overwritten
    mask = np.array([True, False, True])
    kept = mask[:, None]
    wanted = [np.where(kept, da, 0), np.where(kept, du, 0), np.where(kept, dh, dy + dh_next)]
    kernels.keep_backward(mask, dy, dh_next, da, du, dh)
    for given, array in zip((da, du, dh), wanted):
        assert (given == array).all()
