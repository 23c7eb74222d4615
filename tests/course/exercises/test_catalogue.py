"""Every exercise: solvable, blank at first, and its curated mistakes caught and named."""

import re

import pytest

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.checking import check
from numpy_attention.course.exercises.mistakes import MISTAKES
from numpy_attention.course.lessons import CHECKOUT as LESSONS
from numpy_attention.course.exercises.source import BLANK

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


def before(name):
    """All that an exercise goes on from."""
    return {one for needed in EXERCISES[name].needs for one in (needed, *before(needed))}


@pytest.mark.parametrize("exercise", [one for one in WRITTEN if "_backward" in str(one.blanks)
                                      or ".backward" in str(one.blanks)], ids=lambda one: one.name)
def test_what_its_derivation_is_made_of_comes_before_it(exercise):
    text = exercise.source.text()
    for pattern, name in ((" @ ", "linear"), (r"\b(tanh|sigmoid)\(", "squash"),
                          (r"= softmax\(", "softmax")):
        if re.search(pattern, text) and name != exercise.name:
            assert name in before(exercise.name)


def test_every_exercise_is_named_in_its_lesson_in_this_order():
    found = [(path.stem, name) for path in sorted(LESSONS.glob("[0-9]*.py"))
             for name in re.findall("numpy-attention exercise start ([a-z-]+)", path.read_text())]
    assert found == [(one.lesson, one.name) for one in EXERCISES.values()]


def test_no_lesson_names_an_exercise_that_is_none():
    files = [*LESSONS.glob("*.py"), *LESSONS.glob("**/*.md")]
    named = {name for path in files for name in
             re.findall(r"numpy-attention exercise [a-z]+ ([a-z-]+)", path.read_text())}
    assert named == set(EXERCISES)


def test_questions_that_are_exercises_name_those_of_their_lesson():
    found = {}
    for path in sorted(LESSONS.glob("[0-9]*.py")):
        questions = path.read_text().partition("# ## Questions")[2].replace("\n#", " ")
        for names in re.findall(r"\(Exercises? ([^:]+): write it there, and +check", questions):
            found[path.stem] = re.findall("`([a-z-]+)`", names)
    assert found == {"03_lstm": ["lstm"], "06_additive_attention": ["additive"],
                     "07_luong_attention": ["dot", "general", "concat", "location", "local-p"],
                     "11_attentive_language_model": ["causal"]}
    assert all(EXERCISES[name].lesson == lesson for lesson in found for name in found[lesson])


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
