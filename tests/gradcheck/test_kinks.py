"""Inputs without a reliable numeric gradient: kinks, jumps, low precision, constant outputs."""

import warnings

import numpy as np
import pytest
from planting import run

from numpy_attention.gradcheck import GradientError, NotChecked, gradcheck

PART = np.array([0.0, 1.0, -1.0, 2.0])
TIE = np.array([1.0, 1.0, 0.5, 2.0])


def check(forward, backward, *inputs):
    """Return the Report and the text of the warnings."""
    with warnings.catch_warnings(record=True) as warned, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        report = gradcheck(None, *inputs, rng=np.random.default_rng(1), forward=forward,
                           backward=backward)
    return report, "".join(str(one.message) for one in warned if one.category is NotChecked)


def relu(x):
    return np.maximum(x, 0), x


@pytest.mark.parametrize("forward, backward, x, places", [
    (relu, lambda dy, x, _: dy * (x > 0), PART, [0]),
    (relu, lambda dy, x, _: dy * (x >= 0), PART, [0]),
    (relu, lambda dy, x, _: dy * (x > 0), PART + [1e-7, 0, 0, 0], [0]),
    (lambda x: (abs(x), x), lambda dy, x, _: dy * np.sign(x), PART, [0]),
    (lambda x: (np.clip(x, -1, 1) + x, x), lambda dy, x, _: dy * (1 + (abs(x) < 1)), PART,
     [1, 2]),
    (lambda x: (np.maximum(x[:2], x[2:][::-1]), x),
     lambda dy, x, _: np.concatenate([dy * [0, 1], dy[::-1] * [0, 1]]), np.array([1, 2, 0.5, 1]),
     [0, 3]),
    (lambda x: (np.sort(x), np.argsort(x, kind="stable")),
     lambda dy, order, _: dy[np.argsort(order)], TIE, [0, 1]),
    (lambda x: (np.sqrt(x), x), lambda dy, x, _: dy / (2 * np.sqrt(x)), abs(PART), [0]),
    (lambda x: (np.cbrt(x), x), lambda dy, x, _: dy / (3 * np.cbrt(x)**2), PART, [0]),
    (lambda x: ((x > 0) + x**2, x), lambda dy, x, _: 2 * dy * x, PART, [0]),
    (lambda x: (x * (x > 1), x), lambda dy, x, _: dy * (x > 1), PART, [1]),
])
def test_elements_on_kinks_are_skipped_with_a_warning(forward, backward, x, places):
    report, warned = check(forward, backward, x)
    assert [at for at, in report.kinks["input[0]"]] == places
    for text in (warned, repr(report)):
        assert f"{len(places)} of 4 elements of input[0], the first at [{places[0]}]" in text
        assert "Change input[0], for instance by adding 0.1" in text


@pytest.mark.parametrize("backward, wrong", [
    (lambda dy, x, _: dy * np.where(x == 0, -1.0, x > 0), 1),
    (lambda dy, x, _: dy * np.where(x == 0, 2.0, x > 0), 1),
    (lambda dy, x, _: dy * np.where(x == 0, np.nan, x > 0), 1),
    (lambda dy, x, _: dy * np.where(x == 0, np.inf, x > 0), 1),
    (lambda dy, x, _: 2 * dy * (x > 0), 2),
    (lambda dy, x, _: 0 * dy, 2),
])
def test_errors_at_or_near_a_kink_are_found(backward, wrong):
    with pytest.raises(GradientError, match=f"input.0.: {wrong} of 4 elements are wrong") as error:
        check(relu, backward, PART)
    kink = "kink at 1 of 4 elements of input[0], the first at [0] (slope 0 on the left, 0.346 on "
    text = str(error.value)
    if wrong == 1 and not np.isnan(backward(1.0, PART, None)).any():
        assert f"{kink}the right): a gradient there must be between" in text
        assert "suspect" not in text


@pytest.mark.parametrize("offset", [3e-7, 6.7e-7, 3e-5, 6.7e-5, 1.3e-4])
def test_smaller_steps_avoid_a_nearby_kink(offset):
    for x in (PART + [offset, 0, 0, 0], PART - [offset, 0, 0, 0]):
        assert check(relu, lambda dy, x, _: dy * (x > 0), x)[0].right
        if offset > 1e-5:
            with pytest.raises(GradientError, match="1 of 4 elements are wrong"):
                check(relu, lambda dy, x, _: dy * np.where(abs(x) < 1e-2, 0.5, x > 0), x)


def test_row_of_zeros_is_on_every_kink():
    def forward(x, W):
        y = np.maximum(x @ W, 0)
        return np.tanh(y @ np.ones((5, 1))), (x, W, y)

    def backward(do, cache, _, factor=1):
        x, W, y = cache
        o = np.tanh(y @ np.ones((5, 1)))
        da = (do * (1 - o**2)) @ np.ones((1, 5)) * (y > 0)
        return factor * da @ W.T, x.T @ da

    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, W = rng.standard_normal((3, 4)), rng.standard_normal((4, 5)) / 3
        x[1] = 0
        report, _ = check(forward, backward, x, W)
        assert {row for row, _ in report.kinks["input[0]"]} == {1}
        with pytest.raises(GradientError, match="8 of 12 elements are wrong"):
            check(forward, lambda *given: backward(*given, factor=1.001), x, W)


def test_steep_functions_are_measured_with_smaller_steps():
    x = np.array([0.1, 0.2])
    report, warned = check(lambda x: (np.sin(1e3 * x), x),
                           lambda dy, x, _: 1e3 * dy * np.cos(1e3 * x), x)
    assert report.worst < 1e-8 and not warned
    with pytest.raises(GradientError):
        check(lambda x: (np.exp(100 * x), x), lambda dy, x, _: 100.001 * dy * np.exp(100 * x), x)


@pytest.mark.parametrize("forward, x, words", [
    (relu, np.zeros((2, 2)), "kink at 4 of 4 elements of input.0."),
    (relu, -np.ones(3), "do not depend on input.0."),
    (lambda x: (np.ones(2), x), PART, "do not depend on input.0."),
    (lambda x: (np.floor(x).astype(int), x), PART + 0.5, "do not depend on input.0."),
    (lambda x: (1e9 + 1e-3 * x, x), PART, "rounding"),
    (lambda x: (x[:0], x), PART, "outputs of forward are empty or None, .*; return"),
    (lambda x: (None, x), PART, "outputs of forward are empty or None, so there is"),
])
def test_check_of_nothing_raises(forward, x, words):
    with pytest.raises(ValueError, match=f"(nothing (was|can be) checked.*|: the ){words}"):
        check(forward, lambda dy, x, _: 0 * x, x)


@pytest.mark.parametrize("inputs, words", [
    ([np.array([1, 2])], r"input\[0\] has dtype int64; convert it with astype\(np.float64\)"),
    ([np.array([True])], r"input\[0\] has dtype bool; .*astype"),
    ([[1.0, 2.0]], r"input\[0\] is a list .*np.array"), ([(1.0, 2.0)], r"input\[0\] is a tuple"),
    ([1.5], r"input\[0\] is 1.5, of type float; .*np.array"),
    ([np.array([1.0], object)], r"input\[0\] has dtype object; .*astype"),
    ([{"x": PART}], r"input\[0\] is .*, of type dict; pass float64 arrays"),
    ([np.array([1j])], r"input\[0\] has dtype complex128; .* real and imaginary parts"),
    ([PART, np.array([1j])], r"^input\[1\] has dtype complex128"),
    ([], "pass the arguments of forward"),
])
def test_invalid_inputs(inputs, words):
    with pytest.raises(TypeError, match=words):
        check(lambda *x: (np.ones(2), x), lambda *_: -99 * np.ones(2), *inputs)


def test_valid_inputs():
    square = lambda x: (x * x, x), lambda dy, x, _: 2 * dy * x
    fixed = PART + 0.5
    fixed.flags.writeable = False
    for x in (np.array(1.5), fixed, np.arange(1.0, 13).reshape(4, 3)[::2].T):
        assert check(*square, x)[0].right == ["input[0]"]
    with pytest.raises(GradientError, match="1 of 1 elements"):
        check(square[0], lambda dy, x, _: 3 * dy * x, np.array(1.5))
    ids = np.array([1, 0, 1])
    assert check(lambda x, ids: (x[ids[:2]], ids), lambda dy, ids, _: (
        np.stack([dy[1], dy[0]]), None), np.eye(2) + 1, ids)[0].right == ["input[0]"]


def test_float32_inside_the_forward_is_named_with_its_line(tmp_path):
    module = run("import numpy as np\n\n\ndef forward(x):\n    y = x.astype(np.float32)\n"
                 "    return np.tanh(y).astype(np.float64), y\n", "digits", tmp_path)
    with pytest.raises(TypeError, match="line 5 of digits.py, forward computes in float32"):
        check(module.forward, lambda dy, x, _: dy * (1 - np.tanh(x)**2), PART + 0.3)
    with pytest.raises(TypeError, match="float32"):
        check(lambda x: (np.float32(x)**2, x), lambda dy, x, _: 3 * dy * x, PART + 0.3)
