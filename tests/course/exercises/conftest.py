"""Fixtures for the tests of exercises. By default only the curated mistakes are known.

Tests that also need the mutations request the fixture `mutations`.
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
    """Use a temporary cache of signatures instead of the user's."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("NUMPY_ATTENTION_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def only_curated(request, monkeypatch):
    if "mutations" not in request.fixturenames:
        monkeypatch.setattr(recognition, "known_mistakes", curated)


@pytest.fixture
def mutations():
    """Also treat mutations of a solution as known mistakes."""


@pytest.fixture
def verdict(tmp_path):
    """verdict(exercise, text): return the Verdict on a file with this text."""
    def check_text(exercise, text):
        path = tmp_path / f"{exercise.name.replace('-', '_')}.py"
        path.write_text(text, encoding="utf-8")
        return check(exercise, path)
    return check_text
