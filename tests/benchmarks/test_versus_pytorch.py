"""Processes that take turns, and the ratio of their times; the sides here are made up."""

import json

import pytest
import versus_pytorch
from versus_pytorch import Side, main, measure, measure_memory

CODE = """
import os
import time

MODELS = {{"e": {{"seconds": {seconds}}}}}


def ours(size, threads, built):
    built()
    print("no answer")

    def step():
        time.sleep(size["seconds"])
        return threads + float(os.environ.get("MORE", 0))
    return step


theirs = ours
"""


@pytest.fixture
def checkout(tmp_path):
    """checkout(name, seconds) → a folder whose benchmarks sleep so long."""
    def make(name, seconds, code=CODE):
        folder = tmp_path / name / "benchmarks"
        folder.mkdir(parents=True)
        (folder / "sides.py").write_text(code.format(seconds=seconds))
        (folder / "floor.py").write_text("from sides import ours as floor\n")
        return tmp_path / name
    return make


def test_the_sides_run_the_code_of_their_own_checkout(checkout):
    sides = [Side("slow", "ours", checkout("one", 0.05)), Side("fast", "ours", checkout("two", 0))]
    seconds = measure(sides, "e", rounds=3, threads=1)
    assert [len(times) for times in seconds.values()] == [3, 3]
    assert (seconds["slow"] >= 0.05).all()
    assert (seconds["fast"] < 0.05).all()


def test_a_loss_that_is_not_finite_ends_it(checkout):
    side = Side("theirs", "theirs", checkout("one", 0), {"MORE": "nan"})
    with pytest.raises(AssertionError, match="theirs: loss nan"):
        measure([side], "e", rounds=1, threads=1)


def test_a_process_that_fails_is_named(checkout, capfd):
    broken = checkout("one", 0, "MODELS = {{'e': {{}}}}\n")
    with pytest.raises(RuntimeError, match="the process of ours ended"):
        measure([Side("ours", "ours", broken)], "e", rounds=1, threads=1)
    assert "has no attribute 'ours'" in capfd.readouterr().err


def test_memory_of_the_steps_alone(checkout):
    step, whole = measure_memory(Side("ours", "ours", checkout("one", 0)), "e", threads=1)
    assert 0 <= step < whole


def test_against_another_checkout(checkout, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(versus_pytorch, "ROOT", checkout("now", 0.05))
    before = checkout("then", 0.1)
    file = tmp_path / "figures.jsonl"
    main(["--models", "e", "--rounds", "3", "--against", str(before), "--json", str(file)])
    line = json.loads(file.read_text())
    assert (line["model"], line["against"]) == ("e", "then")
    assert 0.4 < line["ratio_low"] <= line["ratio"] <= line["ratio_high"] < 0.9
    out = capsys.readouterr().out
    assert out.startswith("e: ours ") and ", before 1" in out


def test_beside_pytorch_there_is_a_floor(checkout, monkeypatch, capsys):
    monkeypatch.setattr(versus_pytorch, "ROOT", checkout("now", 0.05))
    main(["--models", "e", "--rounds", "2"])
    shown, line = capsys.readouterr().out.splitlines()
    assert "2 threads, PyTorch's allocator tuned" in shown
    assert json.loads(line)["floor_share"] == pytest.approx(1, abs=0.5)


@pytest.mark.parametrize("arguments, message", [
    (["--models", "a,z"], "unknown model 'z': expected a, b20"),
    (["--against", "nowhere"], "there is no benchmarks/sides.py in it"),
])
def test_bad_arguments(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err
