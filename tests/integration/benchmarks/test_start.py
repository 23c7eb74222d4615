"""Starts in fresh processes: the cold one compiles, and the table says whether a goal is met."""

import subprocess
import sys

import pytest
import start


def test_a_cold_and_a_warm_start(capsys, monkeypatch):
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    found = []
    make = start.start
    monkeypatch.setattr(start, "start", lambda *rest: found.append(make(*rest)) or found[-1])
    start.main(["--model", "e", "--quick", "--threads", "1"])
    cold, warm = found
    for one in found:
        parts = one["import"] + one["model"] + one["first step"]
        assert one["in all"] == pytest.approx(parts)
        assert one["later step"] < one["first step"]
    assert cold["first step"] > 2 * warm["first step"]
    _, first, _, *lines = capsys.readouterr().out.splitlines()
    assert first == "model e, 1 threads, median (range) of 1 starts each"
    assert [line.split()[0] for line in lines] == ["cold", "warm"]


def test_neither_the_package_nor_numpy_is_imported_before_it_is_timed():
    code = "import start, sys; print(sys.modules.keys() & {'numpy_attention', 'numpy', 'numba'})"
    done = subprocess.run([sys.executable, "-c", code], cwd=start.Path(start.__file__).parent,
                          stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_table():
    found = {kind: [dict.fromkeys(start.PARTS, seconds) for seconds in times]
             for kind, times in {"cold": [9, 7, 8.5], "warm": [0.5, 0.9, 3]}.items()}
    _, cold, warm = start.table(found)
    assert "8.500 (7.000–9.000) s" in cold and cold.endswith("below 8 s: missed")
    assert "0.900 (0.500–3.000) s" in warm and warm.endswith("below 1 s: met")


def test_a_start_that_fails_is_told(capfd):
    with pytest.raises(RuntimeError, match="its error stands above"):
        start.main(["--model", "none", "--quick"])
    assert "KeyError: 'none'" in capfd.readouterr().err
