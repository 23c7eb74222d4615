"""The signatures of known mistakes: computed once, kept in a file, computed again when stale."""

import ast
import json
import threading
from dataclasses import replace

import numpy as np
import pytest

from numpy_attention.course.exercises import catalogue, signatures
from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.signatures import known_mistakes

DOT = EXERCISES["dot"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache; nothing is remembered from other tests."""
    monkeypatch.setenv("NUMPY_ATTENTION_CACHE", str(tmp_path))
    monkeypatch.setattr(signatures, "PACKAGED", tmp_path / "package")
    known_mistakes.cache_clear()
    yield tmp_path / "mistake_signatures"
    known_mistakes.cache_clear()


@pytest.fixture
def computed(monkeypatch):
    """The names of the exercises whose signatures are computed."""
    found = []
    whole = signatures.computed
    monkeypatch.setattr(signatures, "computed",
                        lambda exercise: found.append(exercise.name) or whole(exercise))
    return found


def again(exercise=DOT):
    known_mistakes.cache_clear()
    return known_mistakes(exercise)


def test_they_are_computed_at_first_use_and_kept(folder, computed):
    first = known_mistakes(DOT)
    assert [one.curated for one in first[:len(DOT.mistakes)]] == [True] * len(DOT.mistakes)
    assert len(first) > 20
    assert [file.name for file in folder.iterdir()] == ["dot.json"]
    kept = again()
    assert [one.description for one in kept] == [one.description for one in first]
    assert all(signatures.agree(one.numbers, other.numbers) for one, other in zip(kept, first))
    assert computed == ["dot"]


def other_cases(rng, its):
    return DOT.cases(np.random.default_rng(5), its)


@pytest.mark.parametrize("change", [{"mistakes": DOT.mistakes[1:]}, {"blanks": DOT.blanks[:-1]},
                                    {"cases": other_cases}], ids=lambda change: next(iter(change)))
def test_an_exercise_that_has_changed_is_computed_again(folder, computed, change):
    known_mistakes(DOT)
    again(replace(DOT, **change))
    assert computed == ["dot", "dot"]


def test_a_damaged_file_is_computed_again(folder, computed):
    known_mistakes(DOT)
    for damage in ("", "[]", '{"digest": 3}', (folder / "dot.json").read_text()[:-9]):
        (folder / "dot.json").write_text(damage)
        assert len(again()) > 20
    assert len(computed) == 5


def test_a_comment_a_docstring_or_a_layout_changes_no_digest():
    text = "def f(x):\n    y = x * 2\n    return y\n"
    same = 'def f(x):\n    """Twice."""\n    y = (x *  # as much\n         2)\n    return y\n'
    outline = signatures.outline(ast.parse(text))
    assert signatures.outline(ast.parse(same)) == outline
    assert signatures.outline(ast.parse(text.replace("2", "3"))) != outline


def test_those_of_the_package_come_first(folder, computed, monkeypatch, capsys):
    monkeypatch.setattr(catalogue, "EXERCISES", {"dot": DOT})
    signatures.main()
    assert "dot" in capsys.readouterr().out
    assert len(again()) > 20
    assert computed == ["dot"]
    assert not folder.exists()


def test_a_folder_that_cannot_be_written(folder, computed, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMPY_ATTENTION_CACHE", "/dev/null/none")
    monkeypatch.setattr(signatures.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    known_mistakes(DOT)
    again()
    assert computed == ["dot"]
    file, = (tmp_path / "temporary").rglob("*.json")
    assert json.loads(file.read_text())["digest"] == signatures.digest(DOT)


def test_nothing_is_computed_where_no_loop_can_be_ended(folder):
    found = []
    thread = threading.Thread(target=lambda: found.append(known_mistakes(DOT)))
    thread.start()
    thread.join()
    assert found == [[]]
    assert not folder.exists()


def test_a_curated_mistake_that_changes_nothing():
    right = DOT.mistakes[0][0]
    with pytest.raises(ValueError, match="the mistake 'none' changes no number, or raises"):
        signatures.computed(replace(DOT, mistakes=((right, right, "none"),)))
