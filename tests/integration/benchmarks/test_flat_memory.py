"""The watch over memory tells what grows, and what a training and a translator hold does not."""

import mmap
import os

import pytest
from flat_memory import LARGEST, Watch, main, resident

on_linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="Linux only")


@on_linux
def test_what_grows_is_told(capsys):
    held = []
    watch = Watch("lists", 40)
    for time in range(1, 41):
        held.append([[time] for _ in range(10)])        # 11 lists each time
        watch.look(time)
    assert len(watch.figures) == 10 and watch.figures[-1][0] == 40
    grown = watch.grown()["objects"]
    assert grown == pytest.approx(11_000, rel=0.01) and grown > LARGEST["objects"]
    assert "over 1,000 lists" in capsys.readouterr().out


@on_linux
def test_resident_memory_is_this_processs():
    before = resident()
    with mmap.mmap(-1, 50 << 20) as block:              # the heap may have room for an array
        block.write(b"x" * len(block))
        assert resident() - before > 45


def test_too_few_times_are_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["flat_memory.py", "--times", "3"])
    with pytest.raises(SystemExit):
        main()
    assert "expected at least 50" in capsys.readouterr().err
