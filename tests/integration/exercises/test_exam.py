"""The exam of the exercises runs: campaigns/exercises/exam.py."""

import subprocess
import sys
from pathlib import Path

import pytest

from numpy_attention.course.exercises.catalogue import EXERCISES

EXAM = Path(__file__).parents[3] / "campaigns" / "exercises" / "exam.py"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="its data is TOML")
def test_one_exercise():
    counts = "| all |" + f" {len(EXERCISES['dot'].mistakes)} |" * 3
    for words in ((), ("--correct",)):
        done = subprocess.run([sys.executable, EXAM, *words, "dot"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert counts in done.stdout or "all correct solutions pass" in done.stdout
