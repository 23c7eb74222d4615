"""Smaller reruns of a check: one output, a full mask, size 1 along an axis."""

import numpy as np
import pytest

from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.gradcheck.check import Check
from numpy_attention.gradcheck.locate.reruns import cut, cut_around, is_right, reruns, sizes

WRONG = ["input[0]"]
MASK = np.array([[True, True, False], [True, False, False], [True, True, True], [True] * 3])


def check_of(forward, backward, *inputs):
    check = Check(None, list(inputs), forward, backward, "it")
    check.draw(np.random.default_rng(1))
    return check


def two(x):
    return np.tanh(x), x**2, x


def only_first(dy, dz, x, grads):
    return dy * (1 - np.tanh(x)**2)


def both(dy, dz, x, grads):
    return dy * (1 - np.tanh(x)**2) + 2 * x * dz


def test_ignored_output_is_reported(rng):
    x = rng.standard_normal((2, 3))
    assert reruns(check_of(two, only_first, x), WRONG)[0] == (
        "all gradients are right if the loss reads only output[0]; look on the path back from "
        "output[1]")
    assert is_right(check_of(two, both, x))


def test_output_that_is_none_is_ignored(rng):
    x = rng.standard_normal((2, 3))
    forward = lambda x: (np.tanh(x), None, x)
    backward = lambda dy, _, x, grads: dy * (1 - np.tanh(x))
    assert not any("output" in text for text in reruns(check_of(forward, backward, x), WRONG))


def masked(x, mask):
    return np.where(mask, np.tanh(x), 0), (x, mask)


def without_mask(dy, cache, grads):
    x, _ = cache
    return dy * (1 - np.tanh(x)**2), None


def test_missing_mask_is_reported_and_the_mask_is_restored(rng):
    mask = MASK.copy()
    lines = reruns(check_of(masked, without_mask, rng.standard_normal((4, 3)), mask), WRONG)
    assert lines[0].startswith("right with a full mask")
    assert np.array_equal(mask, MASK)


def test_mask_in_a_closure(rng):
    mask = MASK.copy()
    check = check_of(lambda x: masked(x, mask),
                     lambda dy, cache, grads: without_mask(dy, cache, grads)[0],
                     rng.standard_normal((4, 3)))
    assert reruns(check, WRONG)[0].startswith("right with a full mask")
    assert np.array_equal(mask, MASK)


def product(x, W):
    return x @ W, (x, W)


def one_row_only(dy, cache, grads):
    x, W = cache
    return dy @ W.T, np.outer(x[0], dy[0])


def test_missing_sum_over_the_batch(rng):
    lines = reruns(check_of(product, one_row_only, rng.standard_normal((4, 3)),
                           rng.standard_normal((3, 2))), WRONG)
    assert lines == ["everything is right with size 1 in place of 4 along axis 0 of input[0]; look "
                     "for a sum over this size, an index, = in place of +=, a state that is passed "
                     "from step to step, or a factor that depends on 4"]


def test_zero_gradient_at_size_1_is_not_reported(rng):
    """With one word the weight is always 1, so its score has no gradient."""
    def softmax(e):
        p = np.exp(e) / np.exp(e).sum(1, keepdims=True)
        return p, p

    assert reruns(check_of(softmax, lambda dp, p, grads: p * (dp - (p * dp).sum(1)[:, None]) * 2,
                           rng.standard_normal((3, 4))), WRONG) == []


@pytest.mark.parametrize("shown", [[1], [1, 0]])
def test_softmax_over_one_element_is_not_reported(shown, rng):
    """Not even with a sentence that is hidden, whose weights are 0."""
    def attend(e, v):
        p = np.exp(e) / np.exp(e).sum() * np.c_[shown]
        return p @ v, (p, v)

    def diagonal(dc, cache, grads):
        p, v = cache
        return (p * (1 - p) * (dc @ v.T)).sum(0), p.T @ dc

    assert reruns(check_of(attend, diagonal, rng.standard_normal(4), rng.standard_normal((4, 3))),
                  ["input[0]", "input[1]"]) == []


def test_nothing_is_reported_if_smaller_sizes_fail_too(rng):
    wrong = lambda dy, cache, grads: tuple(2 * one for one in one_row_only(dy, cache, grads))
    inputs = rng.standard_normal((4, 3)), rng.standard_normal((3, 2))
    assert reruns(check_of(product, wrong, *inputs), WRONG) == []


def test_sizes_exclude_square_arrays_and_outputs(rng):
    check = check_of(product, one_row_only, np.ones((4, 3)), np.ones((3, 3)))
    arrays = {"input[0]": check.inputs[0], "input[1]": check.inputs[1]}
    assert sizes(check, arrays) == [4]


def test_cut():
    pair = cut((np.ones((4, 3)), [np.ones((2, 4))], 4), 4)
    assert pair[0].shape == (1, 3) and pair[1][0].shape == (2, 1) and pair[2] == 4
    mask = MASK.copy()
    check = check_of(lambda x: masked(x, mask), lambda *_: None, np.ones((4, 3)))
    with cut_around(check, 4):
        assert mask.shape == (1, 3)
    assert mask.shape == (4, 3)


def test_inputs_are_restored(rng):
    x = rng.standard_normal((2, 3))
    check = check_of(two, only_first, x)
    before = x.copy()
    reruns(check, WRONG)
    assert np.array_equal(x, before)


def test_report_includes_reruns_if_no_line_is_proven(rng):
    """Code from exec has no source, so no line can be named."""
    namespace = {}
    exec("def forward(x):\n    return x * x, x\n"
         "def backward(dy, x, grads):\n    return 2 * x[0] * dy\n", namespace)
    with pytest.raises(GradientError) as caught:
        gradcheck(None, rng.standard_normal((4, 3)), rng=rng, forward=namespace["forward"],
                  backward=namespace["backward"])
    assert "with size 1 in place of 4 along axis 0 of input[0]" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 15
