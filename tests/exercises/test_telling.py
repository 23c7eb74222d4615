"""Exercises in a notebook, or a script: functions in place of a file."""

import numpy as np
import pytest

from numpy_attention.exercises.telling import check


def softmax_backward(dalpha, cache, grad):
    return cache * (dalpha - np.einsum("bs,bs->b", cache, dalpha)[:, None])


def test_a_function_is_checked(capsys):
    assert check("softmax", softmax_backward).passed
    assert capsys.readouterr().out == "softmax: passed\n"


def test_a_wrong_one_is_named(capsys):
    def softmax_backward(dalpha, cache, grad):
        return cache * dalpha
    found = check("softmax", softmax_backward)
    assert found.stage == "gradients"
    assert "the softmax's Jacobian is not diagonal" in capsys.readouterr().out


@pytest.mark.parametrize("mine, error, said", [
    ((), ValueError, "softmax is checked with softmax_backward: given nothing"),
    ((test_a_function_is_checked,), ValueError, "given test_a_function_is_checked"),
])
def test_what_is_refused(mine, error, said):
    with pytest.raises(error, match=said):
        check("softmax", *mine)


def test_an_unknown_exercise():
    with pytest.raises(ValueError, match="did you mean softmax"):
        check("sofmax", softmax_backward)


def test_a_function_without_a_source():
    names = {}
    exec("def softmax_backward(dalpha, cache, grad): return dalpha", names)
    with pytest.raises(TypeError, match="has no source that could be read"):
        check("softmax", names["softmax_backward"])
