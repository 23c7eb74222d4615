"""Axis letters in the report of a wrong shape."""

import numpy as np
import pytest

from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.gradcheck.locate.rewriting import Place
from numpy_attention.gradcheck.report.axis_letters import (
    lettered,
    letters_of_input,
    letters_of_line,
)


def forward(h, W):
    """h (B, H), W: (H, A) → e (B, A), cache."""
    e = h @ W                           # (B, A)
    return np.tanh(e), (h, W, e)


def transposed(dy, cache, grads):
    h, W, e = cache
    de = dy * (1 - np.tanh(e)**2)
    return W @ de.T, h.T @ de


def place(line):
    return Place("forward", __file__, forward.__code__.co_firstlineno + line, "assign", "e", "")


def test_letters_of_a_line():
    assert letters_of_line(place(2)) == ("B", "A")
    assert letters_of_line(place(3)) == ()


def test_letters_of_inputs():
    assert letters_of_input(forward, "input[0]") == ("B", "H")
    assert letters_of_input(forward, "input[1]") == ("H", "A")
    for name in ("input[2]", "input[0][1]", "W"):
        assert letters_of_input(forward, name) == ()
    assert letters_of_input(transposed, "input[0]") == ()


@pytest.mark.parametrize("shape, text", [
    ((2, 3), "(2, 3) or (A, H)"), ((3, 2), "(3, 2) or (H, A)"), ((2,), "(2,) or (A,)"),
    ((5, 3), "(5, 3) or (5, H)"), ((5, 7), "(5, 7)")])
def test_shape_in_letters(shape, text):
    assert lettered(shape, (3, 2), ("H", "A")) == text


def test_ambiguous_letters_are_omitted():
    assert lettered((3, 3), (3, 3), ("H", "A")) == "(3, 3)"
    assert lettered((3, 2), (3, 2), ("H",)) == "(3, 2)"


def test_report_contains_letters_of_both_shapes(rng):
    with pytest.raises(GradientError) as caught:
        gradcheck(None, rng.standard_normal((4, 3)), rng.standard_normal((3, 2)), rng=rng,
                  forward=forward, backward=transposed)
    assert "has shape (3, 4) or (H, B); expected (4, 3) or (B, H). " in str(caught.value)
