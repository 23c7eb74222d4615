"""An exercise in a file of its own: nothing else is edited, and everything knows it."""

import os
import subprocess
import sys
from pathlib import Path

from numpy_attention.cli.main import main
from numpy_attention.course.exercises import catalogue, process
from numpy_attention.course.exercises.checking import check

TESTS = Path(__file__).parent
FILE = '''
"""Exercise swish: a gate that opens itself."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise
from numpy_attention.course.exercises.source import Source


def swish(a):
    """a (B, H) → a σ(a), cache."""
    s = 1 / (1 + np.exp(-a))
    return a * s, (a, s)


def swish_backward(dy, cache, grads):
    """∂L/∂y (B, H) → ∂L/∂a (B, H)."""
    a, s = cache
    return dy * (s + a * s * (1 - s))


def cases(rng, its):
    yield Case(its.swish, (rng.standard_normal((3, 4)),), its.swish_backward)


EXERCISE = Exercise(
    "swish", "a gate that opens itself", "03_lstm", position=3, needs=("squash",),
    source=Source(__file__, ("swish", "swish_backward")), blanks=("swish_backward",), cases=cases,
    text="""
    y = a σ(a)

Given ∂L/∂y (B, H), return ∂L/∂a.
""",
    hints=("Where a is large, y is a.", "It is a product of two factors.",
           "y′ = σ(a) + a σ(a) (1 − σ(a))"),
    why="The gate and what goes through it depend on the same number.",
    mistakes=(
        ("dy * (s + a * s * (1 - s))", "dy * s",
         "the gate depends on a, too: its derivative is forgotten"),))
'''
WITH_IT = """
import sys, pytest
from numpy_attention.course.exercises.catalogue import add
add(sys.argv[1])
sys.exit(pytest.main(["-n", "0", "-p", "no:cacheprovider", "-k", "swish", *sys.argv[2:]]))
"""


def test_it_passes_the_tests_that_every_exercise_passes(tmp_path):
    """In a process of its own, since tests are collected for the exercises that there are."""
    file = tmp_path / "swish.py"
    file.write_text(FILE, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", WITH_IT, str(file), "test_catalogue.py",
                           "--rootdir", str(TESTS.parents[2])],
                          cwd=TESTS, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout
    assert "....." in done.stdout


def test_it_is_listed_started_and_checked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "ADDED", catalogue.ADDED.copy())
    monkeypatch.setattr(process, "ADDED", catalogue.ADDED)
    file = tmp_path / "swish.py"
    file.write_text(FILE, encoding="utf-8")
    before = dict(catalogue.EXERCISES)
    try:
        exercise, = catalogue.add(file)
        names = list(catalogue.EXERCISES)
        assert names[names.index("swish") - 1:][:3] == ["dropout", "swish", "masks"]
        assert main(["exercise", "list"]) == 0
        assert main(["exercise", "start", "swish"]) == 0
        assert "a gate that opens itself" in capsys.readouterr().out
        mine = tmp_path / "exercises" / "swish.py"
        mine.write_text(exercise.head + exercise.changed("dy * (s + a * s * (1 - s))", "dy * s"))
        found = check(exercise, mine)
        assert found.mistakes == ["the gate depends on a, too: its derivative is forgotten"]
        assert main(["exercise", "check", "swish"]) == 1        # in a process, which adds it again
        assert "its derivative is forgotten" in capsys.readouterr().out
        mine.write_text(exercise.solution)
        assert check(exercise, mine).passed
    finally:
        catalogue.EXERCISES.clear()
        catalogue.EXERCISES.update(before)
