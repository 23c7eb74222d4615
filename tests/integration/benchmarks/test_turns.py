"""Processes that take turns; the sides here are made up."""

import time

import numpy as np
import pytest
from turns import Side, machine, measure, measure_memory, ratio
from worker import take_turn

CODE = """
import os
import time

MODELS = {"e": {"seconds": 0.05}}


def ours(size, threads, built):
    built()
    print("no answer")

    def step():
        time.sleep(size["seconds"])
        return threads + float(os.environ.get("MORE", 0)) + float(os.environ["NPROC"])
    return step
"""


@pytest.fixture
def checkout(tmp_path):
    """checkout(name, code) → a folder whose benchmarks are this."""
    def make(name, code=CODE):
        folder = tmp_path / name / "benchmarks"
        folder.mkdir(parents=True)
        (folder / "sides.py").write_text(code)
        return tmp_path / name
    return make


def test_the_sides_run_the_code_of_their_own_checkout(checkout):
    fast = checkout("two", CODE.replace("0.05", "0"))
    sides = [Side("slow", "sides.ours", checkout("one")), Side("fast", "sides.ours", fast)]
    first, seconds = measure(sides, "e", rounds=3, threads=1)
    assert [len(times) for times in seconds.values()] == [3, 3]
    assert (seconds["slow"] >= 0.05).all()
    assert (seconds["fast"] < 0.05).all()
    assert first["slow"] >= 3 * 0.05 > first["fast"]


def test_the_first_step_of_a_turn_is_not_counted():
    waits = [0.5] + 99 * [0.02]
    left = []

    def step():
        time.sleep(waits[len(left)])
        left.append(len(left))
        return left[-1]

    seconds, loss = take_turn(step)
    assert 0.02 <= seconds < 0.2
    assert loss == left[-1] > 1


def test_a_long_step_is_a_turn_by_itself(monkeypatch):
    monkeypatch.setattr("worker.LONG", 0.1)
    left = []
    seconds, loss = take_turn(lambda: time.sleep(0.15) or left.append(0) or 3)
    assert seconds >= 0.15
    assert (loss, len(left)) == (3.0, 1)


def test_a_size_may_be_none_of_the_models(checkout):
    side = Side("ours", "sides.ours", checkout("one"))
    _, seconds = measure([side], {"seconds": 0.2}, rounds=1, threads=1)
    assert seconds["ours"][0] >= 0.2


def test_a_loss_that_is_not_finite_ends_it(checkout):
    side = Side("theirs", "sides.ours", checkout("one"), {"MORE": "nan"})
    with pytest.raises(AssertionError, match="theirs: loss nan"):
        measure([side], "e", rounds=1, threads=1)


def test_a_process_that_fails_is_named(checkout, capfd):
    broken = checkout("one", "MODELS = {'e': {}}\n")
    with pytest.raises(RuntimeError, match="the process of ours ended"):
        measure([Side("ours", "sides.ours", broken)], "e", rounds=1, threads=1)
    assert "has no attribute 'ours'" in capfd.readouterr().err


def test_memory_of_the_steps_alone(checkout):
    """Whatever the process that asks has itself: here some 50 MB."""
    held = b"x" * (50 << 20)
    code = CODE.replace("        return threads", '        held = b"x" * (16 << 20)\n'
                        '        return len(held) and threads')
    step, whole = measure_memory(Side("ours", "sides.ours", checkout("one", code)), "e", threads=1)
    assert len(held) and 15 < step < 20
    assert step < whole < 50


def test_a_ratio_is_of_two_times_of_one_round():
    ours = np.array([1.0, 4.0, 3.0])
    assert ratio(ours, 2 * ours).tolist() == [0.5, 0.5, 0.5]
    assert ratio(ours, np.ones(3)).tolist() == [2.0, 3.0, 3.5]


def test_the_machine_is_told_with_what_is_installed(monkeypatch):
    monkeypatch.setattr("turns.LIBRARIES", ("numpy", "no-such-library"))
    assert machine().endswith(f"; numpy {np.__version__}")
    assert " processors, " in machine()
