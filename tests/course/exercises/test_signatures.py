"""Signatures of known mistakes: computed once, cached in a file, and recomputed when outdated."""

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
    """An empty cache folder, with nothing cached in memory."""
    monkeypatch.setenv("NUMPY_ATTENTION_CACHE", str(tmp_path))
    monkeypatch.setattr(signatures, "PACKAGED", tmp_path / "package")
    known_mistakes.cache_clear()
    yield tmp_path / "mistake_signatures"
    known_mistakes.cache_clear()


@pytest.fixture
def computed(monkeypatch):
    """The names of the exercises whose signatures have been computed."""
    found = []
    original = signatures.computed
    monkeypatch.setattr(signatures, "computed",
                        lambda exercise: found.append(exercise.name) or original(exercise))
    return found


def reload(exercise=DOT):
    known_mistakes.cache_clear()
    return known_mistakes(exercise)


def test_signatures_are_computed_once(folder, computed):
    first = known_mistakes(DOT)
    assert [one.curated for one in first[:len(DOT.mistakes)]] == [True] * len(DOT.mistakes)
    assert len(first) > 20
    assert [file.name for file in folder.iterdir()] == ["dot.json"]
    kept = reload()
    assert [one.description for one in kept] == [one.description for one in first]
    assert all(signatures.agree(one.numbers, other.numbers) for one, other in zip(kept, first))
    assert computed == ["dot"]


def other_cases(rng, its):
    return DOT.cases(np.random.default_rng(5), its)


@pytest.mark.parametrize("change", [{"mistakes": DOT.mistakes[1:]}, {"blanks": DOT.blanks[:-1]},
                                    {"cases": other_cases}], ids=lambda change: next(iter(change)))
def test_changed_exercise_is_recomputed(folder, computed, change):
    known_mistakes(DOT)
    reload(replace(DOT, **change))
    assert computed == ["dot", "dot"]


def test_damaged_file_is_recomputed(folder, computed):
    known_mistakes(DOT)
    for damage in ("", "[]", '{"digest": 3}', (folder / "dot.json").read_text()[:-9]):
        (folder / "dot.json").write_text(damage)
        assert len(reload()) > 20
    assert len(computed) == 5


def test_digest_ignores_comments_docstrings_and_layout():
    text = "def f(x):\n    y = x * 2\n    return y\n"
    same = 'def f(x):\n    """Twice."""\n    y = (x *  # as much\n         2)\n    return y\n'
    outline = signatures.outline(ast.parse(text))
    assert signatures.outline(ast.parse(same)) == outline
    assert signatures.outline(ast.parse(text.replace("2", "3"))) != outline


def test_packaged_signatures_come_first(folder, computed, monkeypatch, capsys):
    monkeypatch.setattr(catalogue, "EXERCISES", {"dot": DOT})
    signatures.main()
    assert "dot" in capsys.readouterr().out
    assert len(reload()) > 20
    assert computed == ["dot"]
    assert not folder.exists()


def test_unwritable_folder(folder, computed, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMPY_ATTENTION_CACHE", "/dev/null/none")
    monkeypatch.setattr(signatures.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    known_mistakes(DOT)
    reload()
    assert computed == ["dot"]
    file, = (tmp_path / "temporary").rglob("*.json")
    assert json.loads(file.read_text())["digest"] == signatures.digest(DOT)


def test_nothing_is_computed_outside_the_main_thread(folder):
    found = []
    thread = threading.Thread(target=lambda: found.append(known_mistakes(DOT)))
    thread.start()
    thread.join()
    assert found == [[]]
    assert not folder.exists()


def test_curated_mistake_without_effect_raises():
    right = DOT.mistakes[0][0]
    with pytest.raises(ValueError, match="the mistake 'none' must change the result"):
        signatures.computed(replace(DOT, mistakes=((right, right, "none"),)))
