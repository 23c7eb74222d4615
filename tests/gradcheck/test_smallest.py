"""The smallest input for which a check still fails."""

import numpy as np
import pytest

from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.gradcheck.check import Check
from numpy_attention.gradcheck.locate.smallest import smallest


def product(x, W):
    return x @ W, (x, W)


def check_of(backward, *inputs):
    check = Check(None, list(inputs), product, backward, "product")
    check.draw(np.random.default_rng(1))
    return check


def test_general_mistake_fails_with_one_row(rng):
    inputs = rng.standard_normal((4, 3)), rng.standard_normal((3, 2))
    check = check_of(lambda dy, cache, grads: (dy @ cache[1].T, 2 * cache[0].T @ dy), *inputs)
    found = smallest(check, ["input[1]"])
    assert found.shapes == {"input[0]": (1, 1), "input[1]": (1, 1)}
    assert np.allclose(found.found, 2 * found.right, rtol=1e-6)
    assert [one.shape for one in check.inputs] == [(4, 3), (3, 2)]


def test_axis_that_is_needed_is_kept(rng):
    inputs = rng.standard_normal((4, 3)), rng.standard_normal((3, 2))
    check = check_of(lambda dy, cache, grads: (dy @ cache[1].T, np.outer(cache[0][0], dy[0])),
                     *inputs)
    assert smallest(check, ["input[1]"]).shapes == {"input[0]": (4, 1), "input[1]": (1, 1)}


def test_square_inputs_are_not_reduced(rng):
    inputs = rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    check = check_of(lambda dy, cache, grads: (dy @ cache[1], cache[0].T @ dy), *inputs)
    assert smallest(check, ["input[0]"]) is None


def test_only_the_full_report_contains_it(rng):
    inputs = rng.standard_normal((4, 3)), rng.standard_normal((3, 2))
    with pytest.raises(GradientError) as caught:
        gradcheck(None, *inputs, rng=rng, forward=product,
                  backward=lambda dy, cache, grads: (dy @ cache[1].T, 2 * cache[0].T @ dy))
    assert "the smallest input that still fails: input[0] (1, 1)" in caught.value.full
    assert "the smallest" not in str(caught.value)
