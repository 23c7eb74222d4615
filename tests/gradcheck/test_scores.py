"""Σ_k de_k = 0 of scores before a softmax: reported where it is broken, and only there."""

import numpy as np
import pytest
from planted import report_of

from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.gradcheck.laws.softmax import is_softmax, largest_sum


def laws_of(inputs, forward, backward):
    with pytest.raises(GradientError) as caught:
        gradcheck(None, *inputs, rng=np.random.default_rng(1), forward=forward, backward=backward)
    return of_scores(caught.value.report)


def of_scores(report):
    return [one for one in report.laws if one.kind == "jacobian"]


def softmax(e):
    alpha = np.exp(e - e.max(1, keepdims=True))
    return alpha / alpha.sum(1, keepdims=True)


def attends(x, values):
    e = x * 2                                               # (B, S)
    alpha = softmax(e)
    return alpha * values, (alpha, values)


def attends_backward(dy, cache, grads):
    alpha, values = cache
    dalpha = dy * values
    de = alpha**1.5 * (dalpha - 3 * (dalpha * alpha).sum(1, keepdims=True))
    return 2 * de, dy * alpha


def attends_and_returns(x, values):
    e = x * 2
    alpha = softmax(e)
    return alpha * values, e, (alpha, values)


def attends_and_returns_backward(dy, dscores, cache, grads):
    alpha, values = cache
    dalpha = dy * values
    de = alpha**1.5 * (dalpha - 3 * (dalpha * alpha).sum(1, keepdims=True)) + dscores
    return 2 * de, dy * alpha


def test_the_scores_gradient_does_not_sum_to_nothing(rng):
    inputs = rng.standard_normal((2, 3, 4))
    laws = laws_of(inputs, attends, attends_backward)
    line = attends_backward.__code__.co_firstlineno + 3
    assert len(laws) == 1
    assert laws[0].text.startswith("Σ de along axis 1 must be 0, because adding "
                                   "one number to all of e changes nothing; after line "
                                   f"{line} it is up to ")


def test_of_scores_that_are_an_output_too_nothing_is_asked(rng):
    inputs = rng.standard_normal((2, 3, 4))
    assert not laws_of(inputs, attends_and_returns, attends_and_returns_backward)


def test_it_is_reported_next_to_the_line():
    laws = of_scores(report_of("heads: softmax's sum forgotten"))
    assert [one.text.split(",")[0] for one in laws] == [
        "Σ dE along axis 3 must be 0"]


@pytest.mark.parametrize("name", ["heads: d without its root",
                                  "local: state's way to the output forgotten"])
def test_what_is_wrong_and_sums_to_nothing_breaks_no_law(name):
    assert not of_scores(report_of(name))


def test_what_a_softmax_is():
    e = np.array([[0.5, 2, -1], [0, 0, 3]])
    assert is_softmax(softmax(e), e, 1) and not is_softmax(softmax(e), e, 0)
    masked = softmax(np.where(np.array([[1, 1, 0], [1, 1, 1]]), e, -np.inf))
    assert is_softmax(masked, e, 1)
    assert not is_softmax(softmax(2 * e), e, 1)
    assert not is_softmax(np.exp(e), e, 1)


def test_rounding_is_no_sum():
    assert largest_sum([np.array([[1, -1 + 1e-12]])], 1) == 0
    assert largest_sum([np.array([[1, -1]]), np.array([[1, -0.5]])], 1) == 0.5
