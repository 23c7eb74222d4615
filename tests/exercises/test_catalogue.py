"""Every exercise: solvable, blank at first, and its curated mistakes caught and named."""

import pytest

from numpy_attention.exercises.catalogue import EXERCISES
from numpy_attention.exercises.checking import check
from numpy_attention.exercises.mistakes import MISTAKES
from numpy_attention.exercises.source import BLANK

every = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
WRITTEN = [one for one in EXERCISES.values() if one.planted is None]
CURATED = [(one, *slip) for one in WRITTEN for slip in MISTAKES[one.name]]


def verdict(exercise, text, folder):
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return check(exercise, path)


@every
def test_its_solution_passes(exercise, tmp_path):
    found = verdict(exercise, exercise.solution, tmp_path)
    assert found.passed, found.message


@every
def test_it_begins_with_work_to_do(exercise, tmp_path):
    found = verdict(exercise, exercise.start, tmp_path)
    assert not found.passed
    assert found.blank is (exercise.planted is None)
    assert exercise.start.count(BLANK) == len(exercise.blanks)
    assert max(map(len, exercise.start.splitlines())) <= 100


@every
def test_it_needs_nothing_that_comes_after_it(exercise):
    names = list(EXERCISES)
    for needed in exercise.needs:
        assert names.index(needed) < names.index(exercise.name)


@every
def test_its_hints_are_told_by_and_by(exercise):
    assert len(exercise.hints) == 3
    assert all(len(hint.split()) > 2 for hint in exercise.hints)
    assert exercise.why and exercise.text


@pytest.mark.parametrize("exercise, right, wrong, said", CURATED,
                         ids=[f"{one.name}-{said[:40]}" for one, _, _, said in CURATED])
def test_a_curated_mistake_is_caught_and_named(exercise, right, wrong, said, tmp_path):
    text = exercise.solution
    assert text.count(right) == 1
    found = verdict(exercise, text.replace(right, wrong), tmp_path)
    assert found.stage in ("values", "gradients", "laws")
    assert said in found.mistakes


@pytest.mark.parametrize("exercise", [one for one in EXERCISES.values() if one.planted],
                         ids=[one.name for one in EXERCISES.values() if one.planted])
def test_of_a_planted_mistake_no_line_is_told(exercise, tmp_path):
    found = verdict(exercise, exercise.start, tmp_path)
    _, wrong = exercise.planted
    assert wrong not in found.message
    assert "line" not in found.message
    assert found.mistakes == []
