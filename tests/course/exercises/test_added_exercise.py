"""An exercise is added by one file, and no other file is edited."""

import subprocess
import sys
from pathlib import Path

from numpy_attention.cli.main import main
from numpy_attention.course.exercises import catalogue, process
from numpy_attention.course.exercises.checking import check

TESTS = Path(__file__).parent
FILE = TESTS.parents[1] / "added" / "swish.py"
WITH_IT = """
import sys, pytest
from numpy_attention.course.exercises.catalogue import add
add(sys.argv[1])
sys.exit(pytest.main(["-n", "0", "-p", "no:cacheprovider", "-k", "swish", *sys.argv[2:]]))
"""


def test_it_passes_the_tests_that_every_exercise_passes():
    """In a separate process, since tests are collected for the existing exercises."""
    done = subprocess.run([sys.executable, "-c", WITH_IT, str(FILE), "test_catalogue.py",
                           "--rootdir", str(TESTS.parents[2])],
                          cwd=TESTS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "....." in done.stdout


def test_it_is_listed_started_and_checked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "ADDED", catalogue.ADDED.copy())
    monkeypatch.setattr(process, "ADDED", catalogue.ADDED)
    before = dict(catalogue.EXERCISES)
    try:
        exercise, = catalogue.add(FILE)
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
