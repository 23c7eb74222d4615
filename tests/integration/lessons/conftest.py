"""Fixture: the names that the derivation of a lesson defines."""

import re

import pytest
from lesson_files import TEXTS, derivation


@pytest.fixture(scope="module")
def lesson(request):
    """The names defined by the lesson with the number of the test file."""
    number = re.search(r"test_lesson_(\d\d)", request.module.__name__)[1]
    name, = (name for name in TEXTS if name.startswith(number))
    return derivation(name)
