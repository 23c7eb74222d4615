"""Every exercise: its solution passes, its start does not, and curated mistakes are recognized."""

import re
from dataclasses import replace

import pytest

from numpy_attention.course.exercises.catalogue import EXERCISES, add, register
from numpy_attention.course.exercises.recognition import recognized
from numpy_attention.course.exercises.signatures import agree, numbers_of, signature
from numpy_attention.course.exercises.source import BLANK
from numpy_attention.course.lessons import CHECKOUT as LESSONS

every = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
TO_WRITE = [one for one in EXERCISES.values() if one.planted is None]
PLANTED = [one for one in EXERCISES.values() if one.planted]


@every
def test_solution_passes(exercise, verdict):
    found = verdict(exercise, exercise.solution)
    assert found.passed, found.message


@every
def test_start_is_incomplete(exercise, verdict):
    found = verdict(exercise, exercise.start)
    assert not found.passed
    assert found.blank is (exercise.planted is None)
    assert exercise.start.count(BLANK) == len(exercise.blanks)
    assert max(map(len, exercise.start.splitlines())) <= 100
    assert len(exercise.hints) == 3
    assert all(len(hint.split()) > 2 for hint in exercise.hints)
    assert exercise.why and exercise.text


to_write = pytest.mark.parametrize("exercise", TO_WRITE, ids=[one.name for one in TO_WRITE])


@to_write
def test_curated_mistakes_are_recognized(exercise):
    solved = signature(exercise, exercise.right)        # no time limit: imports may take long
    for right, wrong, description in exercise.mistakes:
        numbers = numbers_of(exercise, exercise.changed(right, wrong))
        assert not agree(numbers, solved), description
        assert description in recognized(exercise, numbers, set())


@to_write
def test_curated_mistake_is_reported(exercise, verdict):
    """Test the first mistake; `campaigns/exercises/exam.py` checks all of them."""
    right, wrong, description = exercise.mistakes[0]
    found = verdict(exercise, exercise.head + exercise.changed(right, wrong))
    assert found.stage in ("shapes", "values", "gradients", "laws")
    assert description in found.mistakes


@pytest.mark.parametrize("exercise", PLANTED, ids=[one.name for one in PLANTED])
def test_line_of_a_planted_mistake_is_not_reported(exercise, verdict):
    found = verdict(exercise, exercise.start)
    _, wrong = exercise.planted
    assert wrong not in found.message
    assert "line" not in found.message
    assert found.mistakes == []


@pytest.mark.parametrize("exercise, blank", [(one, blank) for one in TO_WRITE
                                             for blank in one.blanks if len(one.blanks) > 1])
def test_every_function_is_required(exercise, blank, verdict):
    others = [one for one in exercise.blanks if one != blank]
    found = verdict(exercise, exercise.head + exercise.source.text(others))
    assert (found.stage, found.blank) == ("runs", True)
    assert found.message == f"{others[0]} is not implemented yet"


# ---- order and lessons --------------------------------------------------------------------------


@every
def test_exercise_follows_its_prerequisites(exercise):
    names = list(EXERCISES)
    for needed in exercise.needs:
        assert names.index(needed) < names.index(exercise.name)


def before(name):
    """Return all exercises that an exercise builds on."""
    return {one for needed in EXERCISES[name].needs for one in (needed, *before(needed))}


@pytest.mark.parametrize("exercise", [one for one in TO_WRITE if "backward" in str(one.blanks)],
                         ids=lambda one: one.name)
def test_derivatives_in_a_solution_are_prerequisites(exercise):
    text = exercise.source.text()
    for pattern, name in ((" @ ", "linear"), (r"\b(tanh|sigmoid)\(", "squash"),
                          (r"= softmax\(", "softmax")):
        if re.search(pattern, text) and name != exercise.name:
            assert name in before(exercise.name)


def test_lessons_name_their_exercises_in_order():
    found = [(path.stem, name) for path in sorted(LESSONS.glob("[0-9]*.py"))
             for name in re.findall("numpy-attention exercise start ([a-z-]+)", path.read_text())]
    named = {name for _, name in found}
    assert found == [(one.lesson, one.name) for one in EXERCISES.values() if one.name in named]
    assert {lesson for lesson, _ in found} == {one.lesson for one in EXERCISES.values()}


def test_questions_name_exercises_of_their_lesson():
    for path in sorted(LESSONS.glob("[0-9]*.py")):
        questions = path.read_text().partition("# ## Questions")[2].replace("\n#", " ")
        for names in re.findall(r"\(Exercises? ([^:]+): write it there, and +check", questions):
            for name in re.findall("`([a-z-]+)`", names):
                assert EXERCISES[name].lesson == path.stem


def test_duplicate_name_raises():
    with pytest.raises(ValueError, match="already an exercise named softmax; choose another"):
        register(replace(EXERCISES["softmax"], title="another"))


def test_file_without_an_exercise_raises(tmp_path):
    file = tmp_path / "empty.py"
    file.write_text("x = 1\n")
    with pytest.raises(ValueError, match="empty.py defines no Exercise"):
        add(file)


@pytest.mark.parametrize("name", ["fresh", "styles"])
def test_exam_has_every_exercise(name):
    text = (LESSONS.parent / "campaigns" / "exercises" / f"{name}.toml").read_text("utf-8")
    assert {*re.findall('^exercise = "(.+)"', text, re.M)} == {one.name for one in TO_WRITE}
