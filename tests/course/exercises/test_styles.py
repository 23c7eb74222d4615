"""What is right passes in any style, and what is wrong is caught whoever wrote it."""

import re

import pytest
import styles
import styles_of_models
import unseen
import unseen_models
from unseen import text_of

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.checking import check

EINSUM = [*styles.EINSUM, *styles_of_models.EINSUM]
LOOPS = [*styles.LOOPS, *styles_of_models.LOOPS]
UNSEEN = [*unseen.UNSEEN, *unseen_models.UNSEEN]
WRITTEN = [one.name for one in EXERCISES.values() if one.planted is None]
SUMS = r"@|\b(dot|inner|matmul|mean|outer|sum|tensordot)\("


def verdict(one, folder):
    path = folder / "mine.py"
    path.write_text(text_of(one), encoding="utf-8")
    return check(EXERCISES[one.exercise], path)


def ids(ones):
    """The exercise's name, and a number where it has more than one."""
    return [f"{one.exercise}-{number}" for number, one in enumerate(ones)]


@pytest.mark.parametrize("one", EINSUM, ids=ids(EINSUM))
def test_einsum_passes(one, tmp_path):
    assert not re.search(SUMS, "".join(one.body))
    found = verdict(one, tmp_path)
    assert found.passed, found.message


@pytest.mark.parametrize("one", LOOPS, ids=ids(LOOPS))
def test_loops_pass(one, tmp_path):
    assert not re.search(f"{SUMS}|einsum", "".join(one.body))
    found = verdict(one, tmp_path)
    assert found.passed, found.message


@pytest.mark.parametrize("one", UNSEEN, ids=ids(UNSEEN))
def test_a_mistake_that_nobody_foresaw_is_caught(one, tmp_path):
    found = verdict(one, tmp_path)
    assert found.stage in ("values", "gradients", "laws"), found.message


def test_every_exercise_is_there_in_both_styles():
    assert sorted(one.exercise for one in EINSUM) == sorted(WRITTEN)
    assert sorted(one.exercise for one in LOOPS) == sorted(WRITTEN)


@pytest.mark.parametrize("name", WRITTEN)
def test_every_exercise_has_mistakes_that_nobody_foresaw(name):
    assert sum(one.exercise == name for one in UNSEEN) >= 3
