"""Formatting of values in error messages."""

import numpy as np
import pytest

from numpy_attention.validation.messages import LONGEST, cut, plural, short_repr, typed_repr


@pytest.mark.parametrize("value, text", [
    (7, "7"), ("a\nb", r"'a\nb'"), (np.zeros((2, 2)), "array([[0., 0.], [0., 0.]])"),
    ("x" * 100, "'" + "x" * 57 + "…'"), ("\ud800", r"'\ud800'"),
])
def test_short_repr(value, text):
    assert short_repr(value) == text and len(text) <= LONGEST


def test_short_repr_of_a_huge_integer():
    assert short_repr(10**5000) == "a int"


def test_typed_repr():
    assert typed_repr(7) == "7, of type int" and typed_repr(None) == "None"


@pytest.mark.parametrize("number, text", [
    (0, "0 epochs"), (1, "1 epoch"), (2, "2 epochs"), (1000, "1,000 epochs"),
])
def test_plural(number, text):
    assert plural(number, "epoch") == text


def test_cut():
    assert cut("abc", 3) == "abc" and cut("abcd", 3) == "abc…"
