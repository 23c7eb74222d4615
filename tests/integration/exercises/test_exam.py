"""campaigns/exercises/exam.py runs on one exercise."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAM = Path(__file__).parents[3] / "campaigns" / "exercises" / "exam.py"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="its data is TOML")
def test_one_exercise():
    for words in ((), ("--correct",)):
        done = subprocess.run([sys.executable, EXAM, *words, "dot"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"\| all \| (\d+) \| \1 \| \1 \||all correct solutions pass", done.stdout)
