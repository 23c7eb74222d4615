"""A new exercise needs one file and no edit of another file."""

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


def test_passes_the_tests_of_every_exercise():
    """Tests are collected for the existing exercises, so this runs in a separate process."""
    done = subprocess.run([sys.executable, "-c", WITH_IT, str(FILE), "test_catalogue.py",
                           "--rootdir", str(TESTS.parents[2])],
                          cwd=TESTS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "....." in done.stdout


def test_list_start_and_check(tmp_path, monkeypatch, capsys):
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
        assert found.mistakes == ["the gate depends on a as well: you left out its derivative"]
        assert main(["exercise", "check", "swish"]) == 1        # a new process, which adds it again
        assert "you left out its derivative" in capsys.readouterr().out
        mine.write_text(exercise.solution)
        assert check(exercise, mine).passed
    finally:
        catalogue.EXERCISES.clear()
        catalogue.EXERCISES.update(before)
