"""A training killed at random moments, even in a write, ends as one that was not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test forks")
def test_killed_twenty_times_and_resumed_is_bit_identical(tmp_path):
    script = Path(__file__).with_name("kill.py")
    run = subprocess.run([sys.executable, str(script), str(tmp_path), "20"], capture_output=True,
                         text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "20 kills" in run.stdout and "bit-identical" in run.stdout
    assert " 0 of them while" not in run.stdout, run.stdout
