"""Steps by ranks: the parts of a step's time, the worker's answers, what two hosts need."""

import json

import pytest
import two_hosts
from ranks import SINGLE_PROCESS, Worker, keep, measure, parts_table, steps_table, told
from ranks_sums import Table
from ranks_worker import Clock

from numpy_attention.training.distributed import row_sums


def test_a_part_within_a_part_is_not_counted_twice(monkeypatch):
    times = iter([0, 1, 3, 4, 8])
    monkeypatch.setattr("ranks_worker.time.perf_counter", lambda: next(times))
    clock = Clock()
    with clock.of("outer"):
        with clock.of("inner"):
            pass
    assert clock.seconds == {"rest": 1, "outer": 2 + 4, "inner": 1}


def test_steps_without_mpi(capsys, tmp_path):
    two = SINGLE_PROCESS._replace(name="1 × 2", threads=2)
    lines = keep(measure("e", [SINGLE_PROCESS, two], 2, rows=4), tmp_path / "lines")
    assert lines == [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    for line in lines:
        assert line["rows"] == 4
        assert len(line["seconds"]) == 2
        assert line["parts"]["computing"] > 0
        assert line["bytes"] == 0                       # alone, nothing is summed over ranks
    steps_table(lines)
    parts_table(lines)
    assert "| e | 1 × 2 |" in capsys.readouterr().out


def test_a_worker_that_ends_is_told():
    with Worker(SINGLE_PROCESS, "no such model") as worker:
        with pytest.raises(RuntimeError, match="the ranks of no MPI ended"):
            worker.answer()


def test_told():
    assert told([0.003, 0.001, 0.002], 1e3) == "2.00 (1.00–3.00)"


def test_a_table_has_the_rows_that_are_touched():
    table = Table(5000, 3)
    table.touch(0.1)
    [(_, array)] = row_sums.tables(table)
    assert (array != 0).any(1).sum() == 500


def test_two_hosts_need_root(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["two_hosts.py"])
    monkeypatch.setattr("two_hosts.os.geteuid", lambda: 1000)
    with pytest.raises(SystemExit) as ended:
        two_hosts.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "two_hosts.py needs root, to make network namespaces: run it as root on Linux\n")
