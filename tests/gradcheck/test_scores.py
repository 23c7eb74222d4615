"""The law Σ_k de_k = 0 for scores before a softmax: reported if broken, and only then."""

import numpy as np
import pytest
from planted import report_of

from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.gradcheck.laws.softmax import is_softmax, largest_sum


def laws_of(inputs, forward, backward):
    with pytest.raises(GradientError) as caught:
        gradcheck(None, *inputs, rng=np.random.default_rng(1), forward=forward, backward=backward)
    return score_laws(caught.value.report)


def score_laws(report):
    return [one for one in report.laws if one.kind == "jacobian"]


def softmax(e):
    alpha = np.exp(e - e.max(1, keepdims=True))
    return alpha / alpha.sum(1, keepdims=True)


def attend(x, values):
    e = x * 2                                               # (B, S)
    alpha = softmax(e)
    return alpha * values, (alpha, values)


def attend_backward(dy, cache, grads):
    alpha, values = cache
    dalpha = dy * values
    de = alpha**1.5 * (dalpha - 3 * (dalpha * alpha).sum(1, keepdims=True))
    return 2 * de, dy * alpha


def attend_and_return_scores(x, values):
    e = x * 2
    alpha = softmax(e)
    return alpha * values, e, (alpha, values)


def attend_and_return_scores_backward(dy, dscores, cache, grads):
    alpha, values = cache
    dalpha = dy * values
    de = alpha**1.5 * (dalpha - 3 * (dalpha * alpha).sum(1, keepdims=True)) + dscores
    return 2 * de, dy * alpha


def test_gradient_of_scores_with_nonzero_sum(rng):
    inputs = rng.standard_normal((2, 3, 4))
    laws = laws_of(inputs, attend, attend_backward)
    line = attend_backward.__code__.co_firstlineno + 3
    assert len(laws) == 1
    assert laws[0].text.startswith("Σ de along axis 1 must be 0, because adding "
                                   "one number to all of e changes nothing; after line "
                                   f"{line} it is up to ")


def test_scores_that_are_also_an_output_are_skipped(rng):
    inputs = rng.standard_normal((2, 3, 4))
    assert not laws_of(inputs, attend_and_return_scores, attend_and_return_scores_backward)


def test_law_is_reported_with_the_line():
    laws = score_laws(report_of("heads: softmax's sum forgotten"))
    assert [one.text.split(",")[0] for one in laws] == [
        "Σ dE along axis 3 must be 0"]


@pytest.mark.parametrize("name", ["heads: d without its root",
                                  "local: state's way to the output forgotten"])
def test_wrong_gradient_that_sums_to_zero_breaks_no_law(name):
    assert not score_laws(report_of(name))


def test_is_softmax():
    e = np.array([[0.5, 2, -1], [0, 0, 3]])
    assert is_softmax(softmax(e), e, 1) and not is_softmax(softmax(e), e, 0)
    masked = softmax(np.where(np.array([[1, 1, 0], [1, 1, 1]]), e, -np.inf))
    assert is_softmax(masked, e, 1)
    assert not is_softmax(softmax(2 * e), e, 1)
    assert not is_softmax(np.exp(e), e, 1)


def test_rounding_errors_are_ignored():
    assert largest_sum([np.array([[1, -1 + 1e-12]])], 1) == 0
    assert largest_sum([np.array([[1, -1]]), np.array([[1, -0.5]])], 1) == 0.5
