"""benchmarks/parts.py: kernels by a clock, put back afterwards, and a table that adds up."""

import numpy as np
import parts
import pytest
from parts import Clock, Timed, main, measured, table
from sides import MODELS, ours
from worker import tiny, warm

from numpy_attention.kernels import gates


def test_kernels_run_by_the_clock_and_are_put_back():
    step = ours(tiny(MODELS["a"]), 1, lambda: None)
    warm(step)
    kernel = gates.lstm
    with Timed(Clock()) as clock:
        assert gates.lstm is not kernel
        step()
        seconds = clock.read()
        assert clock.read() == {}
    assert gates.lstm is kernel
    assert {"lstm", "lstm_backward"} <= set(seconds)
    assert all(value > 0 for value in seconds.values())


def test_a_timed_kernel_gives_what_the_kernel_gives(rng):
    a, u, expected, given = rng.standard_normal((4, 3, 5)).astype(np.float32)
    gates.elman(a, u, expected)
    with Timed(Clock()) as clock:
        gates.elman(a, u, given)
        assert set(clock.read()) == {"elman"}
    np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("name", ["b20", "c", "d", "e", "f"])
def test_every_model_is_measured(name):
    whole, products, kernels = measured(tiny(MODELS[name]), 2)
    assert whole > sum(kernels.values()) > 0
    assert products > 0
    assert "cross_entropy" in kernels


def test_the_table_adds_up():
    lines = table(0.010, 0.006, {"slow": 0.002, "fast": 0.001})
    assert [line.split()[0] for line in lines] == ["matrix", "slow", "fast", "the", "the"]
    assert [line.split()[-1] for line in lines] == ["60.0%", "20.0%", "10.0%", "10.0%", "100.0%"]
    assert [float(line.split()[-2]) for line in lines] == [6.0, 2.0, 1.0, 1.0, 10.0]


def test_the_command_prints_a_table_a_model(monkeypatch, capsys):
    monkeypatch.setattr(parts, "MODELS", {"e": tiny(MODELS["e"])})
    main(["--models", "e", "--rounds", "1"])
    printed = capsys.readouterr().out
    assert printed.startswith("e: a step in ms, one thread, median of 1\n")
    assert "matrix products" in printed and "100.0%" in printed


@pytest.mark.parametrize("arguments, said", [
    (["--models", "z"], "unknown model 'z': expected a, b20"),
    (["--rounds", "0"], "--rounds 0: must be at least 1"),
])
def test_what_cannot_be_measured_is_refused(arguments, said, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err
