"""Trainings of every kind, killed at random moments, end as those that were not; and it would tell.

In processes of their own, for the tool forks.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import kills
import numpy as np
import pytest
from killing import MOMENTS, differences, without_time
from trainings import TRAININGS

from numpy_attention.training import checkpoint

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the tool forks")
TOOLS = Path(kills.__file__).parent

# the early stopping's count, and the best epoch's loss, are lost on resume
PLANTED = f"""
import sys
sys.path.insert(0, {str(TOOLS)!r})
import kills
from numpy_attention.training import snapshot
snapshot.ATTRIBUTES = tuple(name for name in snapshot.ATTRIBUTES if name != "bad_epochs")
sys.exit(kills.main(["--kills", "8", "--only", "early stopping"]))
"""


def run(*words):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=600)


def test_every_kind_of_training_killed_and_resumed_is_bit_identical(tmp_path):
    """Each training is killed several times."""
    record = tmp_path / "record.jsonl"
    words = [str(TOOLS / "kills.py"), "--kills", "30", "--resume", str(record)]
    found = run(*words)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "every run bit-identical to the unbroken" in found.stdout
    lives = [json.loads(line) for line in record.read_text().splitlines()]
    assert [life["name"] for life in lives] == list(TRAININGS)
    assert all(life["kills"] for life in lives)
    assert {moment for life in lives for moment in life["kills"]} == set(MOMENTS)
    again = run(*words)                                     # nothing is tried again
    assert again.stdout == found.stdout and len(record.read_text().splitlines()) == len(lives)


def test_what_is_lost_on_resume_is_told():
    found = run("-c", PLANTED)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "early stopping, killed" in found.stdout and "runs differ" in found.stdout


def test_checkpoints_differ_in_a_bit_or_in_a_count_but_not_in_time(tmp_path):
    def saved(name, value=1.0, dtype=np.float32, step=3, **more):
        path = tmp_path / name
        arrays = {"parameters/W": np.full(2, value, dtype)} | more
        checkpoint.save(path, arrays, {"trainer": {"step": step, "seconds": id(more)}})
        return path
    whole = saved("whole.npz")
    assert differences(whole, saved("same.npz")) == []
    for other in (saved("a.npz", np.nextafter(np.float32(1), np.float32(2))),
                  saved("b.npz", -0.0), saved("c.npz", dtype=np.float64)):
        assert differences(whole, other) == ["array parameters/W differs"]
    assert "only once" in differences(whole, saved("d.npz", b=np.zeros(1)))[0]
    assert differences(whole, saved("e.npz", step=4)) == [
        "trainer is {'step': 3}, and after kills {'step': 4}"]


def test_times_alone_are_left_out():
    line = {"epoch": 1, "seconds": 2.0, "tokens_per_second": 5}
    assert without_time({"history": [line], "epoch_seconds": 1}) == {"history": [{"epoch": 1}]}
