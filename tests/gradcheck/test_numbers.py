"""Passes with loops over single elements: scalars are followed like arrays without axes."""

import numpy as np
import pytest
from planting import run

from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.gradcheck.locate.contributions import Contributions
from numpy_attention.gradcheck.locate.localize import nested
from numpy_attention.gradcheck.report.kinds import array_kinds

RNN = """
import numpy as np


def forward(x, W, U):
    T, I = x.shape
    H = len(U)
    hs = np.zeros((T + 1, H))
    for t in range(T):
        for j in range(H):
            a = 0
            for i in range(I):
                a += x[t, i] * W[i, j]
            for k in range(H):
                a += hs[t, k] * U[k, j]
            hs[t + 1, j] = np.tanh(a)
    return hs[1:], (x, W, U, hs)


def backward(dhs, cache, grads):
    x, W, U, hs = cache
    T, I = x.shape
    H = len(U)
    dx, dW, dU, dh = np.zeros_like(x), np.zeros_like(W), np.zeros_like(U), np.zeros(H)
    for t in reversed(range(T)):
        dprevious = np.zeros(H)
        for j in range(H):
            da = (dhs[t, j] + dh[j]) * (1 - hs[t + 1, j]**2)
            for i in range(I):
                dx[t, i] += da * W[i, j]
                dW[i, j] += da * x[t, i]
            for k in range(H):
                dprevious[k] += da * U[k, j]
                dU[k, j] += da * hs[t, k]
        dh = dprevious
    return dx, dW, dU
"""

SOFTMAX = """
import numpy as np


def forward(q, h):
    T, D = h.shape
    e = np.zeros(T)
    for t in range(T):
        s = 0.0
        for d in range(D):
            s = s + q[d] * h[t, d]
        e[t] = s
    top = max(e)
    z = 0.0
    a = np.zeros(T)
    for t in range(T):
        a[t] = np.exp(e[t] - top)
        z += a[t]
    for t in range(T):
        a[t] = a[t] / z
    return a, (q, h, a)


def backward(da, cache, grads):
    q, h, a = cache
    T, D = h.shape
    mean = 0.0
    for t in range(T):
        mean += da[t] * a[t]
    dq = np.zeros_like(q)
    dh = np.zeros_like(h)
    for t in range(T):
        ds = a[t] * (da[t] - mean)
        for d in range(D):
            dq[d] += ds * h[t, d]
            dh[t, d] += ds * q[d]
    return dq, dh
"""
SHAPES = {RNN: ((4, 3), (3, 2), (2, 2)), SOFTMAX: ((3,), (5, 3))}


DOUBT = "no small change to this line corrects it"


def report_of(source, folder, old="", new=""):
    """Return the Report of the failing check of a source with one change."""
    assert old in source
    module = run(source.replace(old, new, 1), "loops", folder)
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape) for shape in SHAPES[source]]
    with pytest.raises(GradientError) as caught:
        gradcheck(None, *inputs, rng=rng, forward=module.forward, backward=module.backward)
    return caught.value.report


@pytest.mark.parametrize("source", [RNN, SOFTMAX])
def test_correct_loops_pass(source, tmp_path):
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        report_of(source, tmp_path)


@pytest.mark.parametrize("source, old, new", [
    (RNN, "(1 - hs[t + 1, j]**2)", "(1 - hs[t + 1, j])"),
    (RNN, "dprevious[k] += da * U[k, j]", "dprevious[k] += da * U[j, k]"),
    (RNN, "dU[k, j] += da * hs[t, k]", "dU[k, j] += da * hs[t + 1, k]"),
    (RNN, "dx[t, i] += da", "dx[t, i] = da"),
    (SOFTMAX, "dq[d] += ds", "dq[d] -= ds"),
])
def test_edit_in_a_loop_is_found(source, old, new, tmp_path):
    report = report_of(source, tmp_path, old, new)
    assert report.is_explained
    assert new in str(report).splitlines()[2]


@pytest.mark.parametrize("source, old, new, name", [
    (RNN, "(1 - hs[t + 1, j]**2)", "(0.4 - hs[t + 1, j]**3)", "da"),
    (RNN, "dhs[t, j] + dh[j]", "dhs[t, j]", "da"),
    (SOFTMAX, "(da[t] - mean)", "(da[t])", "ds"),
    (SOFTMAX, "a[t] * (da[t] - mean)", "0.7 * a[t] * da[t] + 0.1 * (da[t] - mean)", "ds"),
])
def test_wrong_number_is_printed_with_the_correct_one(source, old, new, name, tmp_path):
    """In nested loops the values are matched with those of the variable, in either direction."""
    report = report_of(source, tmp_path, old, new)
    first = report.findings[0]
    assert (first.edit, first.name, first.follows) == (None, name, report.wrong)
    assert new in str(report).splitlines()[2]
    assert first.right.shape == ()
    assert str(report).count(DOUBT) == 1
    assert f"found {first.found:.8g}, right {first.right:.8g}" in str(report)


def test_single_number_is_not_reported_as_a_factor():
    one = np.array(0.7)
    assert array_kinds(np.array(0.2), one) == []
    assert [kind.name for kind in array_kinds(-one, one)] == ["sign"]
    assert [kind.name for kind in array_kinds(np.array(0.0), one)] == ["missing term"]


@pytest.mark.parametrize("shapes, expected", [
    ([(4, 6)], "place"), ([(3, 6)], "block"), ([(2, 2, 4, 3)], "block"), ([(2, 3)], "place")])
def test_blocks_of_gates_and_heads(shapes, expected):
    right = np.random.default_rng(1).standard_normal((4, 6))
    found = right.copy()
    found[:, :3] += 1
    assert [kind.name for kind in array_kinds(found, right, shapes=shapes)] == [expected]


def test_orders_of_nested_loops():
    orders = list(nested(6, 6))
    assert [3, 4, 5, 0, 1, 2] in orders         # the outer loop over 2, reversed
    assert [2, 1, 0, 5, 4, 3] in orders         # the inner loop over 3, reversed
    assert [0, 3, 1, 4, 2, 5] in orders         # loops exchanged
    assert all(sorted(order) == list(range(6)) for order in orders)
    assert list(nested(6, 2)) == [[2, 5], [5, 2]]       # the last of three each
    assert list(nested(5, 2)) == []


LISTS = """
import numpy as np


def forward(x, w):
    y = [np.tanh(x[j] * w[j]) for j in range(len(x))]
    return np.array(y), (x, w, y)


def backward(dy, cache, grads):
    x, w, y = cache
    dx = [0.0] * len(x)
    dw = [0.0] * len(x)
    for j in range(len(x)):
        da = dy[j] * (0.4 - y[j]**3)
        dx[j] += da * w[j]
        dw[j] += da * x[j]
    return np.array(dx), np.array(dw)
"""


def test_numbers_in_lists_have_no_proven_line(tmp_path):
    """Lists of numbers are not followed, but wrong gradients are reported."""
    SHAPES[LISTS] = (3,), (3,)
    report = report_of(LISTS, tmp_path)
    assert report.wrong == ["input[0]", "input[1]"]
    assert not any(one.is_proven for one in report.findings)
    assert not report.findings or DOUBT in str(report)


class Known(Contributions):
    """Contributions with given gradients."""

    def __init__(self, gradients, directions):
        self.gradients = gradients
        self.directions = directions
        self.shape = gradients.shape[1:]

    def parts(self):
        parts = [(0, (n,)) for n in range(len(self.gradients))]
        return parts, self.gradients @ self.directions.T, self.directions


def test_underdetermined_contributions_must_be_complete(rng):
    """Any array of 2 elements is a linear combination of 2 others."""
    gradients = rng.standard_normal((2, 3))
    directions = rng.standard_normal((6, 3))
    odd = [0.3, 1.7]
    _, coefficients = Known(gradients, directions).coefficients(odd @ gradients)
    np.testing.assert_allclose(coefficients, odd)       # 3 elements determine 2 coefficients
    few = Known(gradients[:, :2], directions[:, :2])
    assert few.coefficients(odd @ gradients[:, :2]) is None
    _, coefficients = few.coefficients(gradients[0, :2])
    np.testing.assert_allclose(coefficients, [1, 0], atol=1e-9)
    number = Known(gradients[:1, 0], directions[:, 0])
    assert number.coefficients(np.array(1.0)) is None
