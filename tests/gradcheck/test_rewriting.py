"""Names of the functions in which a reader's code stops."""

import sys
from types import SimpleNamespace

import pytest

from numpy_attention.custom.code import qualname_of


class Base:
    def backward(self):
        return qualname_of(sys._getframe())


class Tanh(Base):
    pass


def test_a_function_is_named_with_the_class_that_defines_it():
    assert Tanh().backward() == "Base.backward"


@pytest.mark.parametrize("names, expected", [
    ({"self": Tanh()}, "Base.backward"), ({"self": 3}, "backward"), ({}, "backward")])
def test_the_qualname_of_code_that_knows_only_its_name(names, expected):
    frame = SimpleNamespace(f_code=SimpleNamespace(co_name="backward"), f_locals=names)
    assert qualname_of(frame) == expected
