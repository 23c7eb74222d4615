"""The kind `uses`: what a finding is, that the catalogue's calls are right, and a sample of it."""

import numpy as np
import pytest
from hostility import uses
from hostility.judge import alike
from hostility.kinds import whole
from hostility.outcome import REFUSED, RIGHT

from numpy_attention.shapes import expect_whole


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(size):
    expect_whole("size", size, 1)
    return size


@pytest.mark.parametrize("call, given, verdict", [
    (checked, 0.5, REFUSED), (checked, 7, RIGHT), (lambda size: size, 0.5, "silence"),
    (lambda size: list(range(size)), 0.5, "traceback"), (lambda size: 1 / 0, 7, "traceback"),
])
def test_what_a_hostile_value_ends_in(call, given, verdict, folder):
    found = uses._wrong(call, {"size": whole(3)}, folder, {"size": lambda folder: given})
    assert found.verdict == verdict


def test_a_right_call_that_is_refused_is_found(folder):
    assert uses._right(checked, {"size": whole(3)}, folder).verdict == RIGHT
    found = uses._right(checked, {"size": whole(0)}, folder)
    assert found.verdict == "silence" and "the right call is refused" in found.text


def test_a_refusal_that_writes_is_found(folder):
    def write_first(size):
        (folder / "half").write_text("x")
        checked(size)

    found = uses._wrong(write_first, {"size": whole(3)}, folder, {"size": lambda folder: 0})
    assert found.verdict == "silence" and "wrote" in found.text


def test_the_same_in_another_form_gives_the_same(folder):
    found = uses._same(lambda size: type(size).__name__, {"size": whole(3)}, folder, "size",
                       "np.int64(3)")
    assert found.verdict == "silence" and "'int64', not 'int'" in found.text
    assert uses._same(checked, {"size": whole(3)}, folder, "size", "np.int64(3)").verdict == RIGHT


def test_an_attempt_is_made_again_by_its_numbers(folder):
    for i in range(30):
        one, other = (uses.attempt(np.random.default_rng([1, 1, i]), folder) for _ in range(2))
        assert one.what == other.what and "\n" not in one.what


def test_alike():
    assert alike({"a": [np.ones(2), 1.0]}, {"a": [np.ones(2), 1.0 + 1e-9]})
    assert not alike([np.ones(2)], [np.ones(3)]) and not alike({"a": 1}, {"b": 1})
    assert alike(np.nan, np.nan) and not alike("a", "b")
