"""Qualified names of the functions in which user code raises."""

import sys
from types import SimpleNamespace

import pytest

from numpy_attention.custom.code import qualname_of


class Base:
    def backward(self):
        return qualname_of(sys._getframe())


class Tanh(Base):
    pass


def test_method_is_named_with_its_defining_class():
    assert Tanh().backward() == "Base.backward"


@pytest.mark.parametrize("names, expected", [
    ({"self": Tanh()}, "Base.backward"), ({"self": 3}, "backward"), ({}, "backward")])
def test_qualname_without_co_qualname(names, expected):
    frame = SimpleNamespace(f_code=SimpleNamespace(co_name="backward"), f_locals=names)
    assert qualname_of(frame) == expected
