"""What the tests of exercises share: a check of a text, with the curated mistakes alone known.

A test that needs the mutations, too, asks for the fixture `mutations`.
"""

import functools

import pytest

from numpy_attention.course.exercises import recognition
from numpy_attention.course.exercises.checking import check
from numpy_attention.course.exercises.signatures import Mistake, numbers_of


@functools.cache
def curated(exercise):
    return [Mistake(description, numbers_of(exercise, exercise.changed(right, wrong)), True)
            for right, wrong, description in exercise.mistakes]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory, monkeypatch):
    """The cache of signatures is a folder of these tests, not the user's."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("NUMPY_ATTENTION_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def curated_alone(request, monkeypatch):
    if "mutations" not in request.fixturenames:
        monkeypatch.setattr(recognition, "known_mistakes", curated)


@pytest.fixture
def mutations():
    """The mutations of a solution are known mistakes as well."""


@pytest.fixture
def verdict(tmp_path):
    """verdict(exercise, text) → the Verdict on a file with this text."""
    def checked(exercise, text):
        path = tmp_path / f"{exercise.name.replace('-', '_')}.py"
        path.write_text(text, encoding="utf-8")
        return check(exercise, path)
    return checked
