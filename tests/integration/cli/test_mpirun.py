"""Ranks started by mpirun: bit-identical to threads, one output, and a clean end."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from numpy_attention.experiments.runs.translator import Translator

CASES = Path(__file__).parents[2] / "training" / "at_ranks.py"
COPY = ["train", "--corpus", "copy", "--pairs", "300", "--max-length", "5", "--hidden", "8",
        "--batch-size", "20", "--threads", "1", "--run", "run"]


def command(run, count, *words):
    return run(count, "-m", "numpy_attention", *words)


def by_rank(lines):
    """Return {rank: printed lines} of lines that start with the rank."""
    found = {}
    for line in lines:
        rank, _, rest = line.partition(" ")
        found.setdefault(int(rank), []).append(rest)
    return found


# ---- sums ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a function of (ranks, threads) that runs trainings on first use; → {rank: lines}."""
    known = {}

    def of(run, count, threads):
        if (count, threads) not in known:
            code, lines, err = run(count, CASES, "trained", threads)
            assert code == 0, err
            known[count, threads] = by_rank(lines)
        return known[count, threads]
    return of


@pytest.mark.parametrize("one, other", [((1, 2), (2, 1)), ((1, 4), (2, 2))])
def test_ranks_match_threads_bit_for_bit(run, trained, one, other):
    wanted, = trained(run, *one).values()
    found = trained(run, *other)
    assert len(wanted) == 5 and len(found) == other[0]
    assert all(lines == wanted for lines in found.values())


def test_sums_of_touched_rows_are_the_same(run, trained):
    for translator, rows, *_ in trained(run, 2, 1).values():
        assert translator.split()[1] == rows.split()[1]


def test_collective_operations(run):
    code, lines, err = run(3, CASES, "agreed", 1)
    assert code == 0, err
    found = by_rank(lines)
    for rank in range(3):
        assert found[rank][0] == f"3 {rank == 0} [0, 1, 4] 5"
        assert found[rank][1] == "KeyError 'of 0'"
        assert found[rank][2:6] == found[0][2:6]
        assert re.fullmatch(r"on host \S+, 3 ranks × 500 threads share \d+ processors, and wait "
                            "for each other", found[rank][6])


# ---- a command ----------------------------------------------------------------------------------


def test_run_is_reported_once_and_resumes_on_other_ranks(run, tmp_path):
    code, lines, err = command(run, 2, *COPY, "--epochs", "1")
    assert code == 0, err
    assert sum("parameters; 300 pairs" in line for line in lines) == 1
    assert "2 ranks × 1 thread" in err
    code, lines, err = command(run, 1, *COPY[:-4], "--threads", "2", *COPY[-2:], "--epochs", "2")
    assert code == 0, err
    assert any("on 1 rank × 2 threads instead of 2 × 1; sums are bit-identical" in line
               for line in lines), lines
    half = Translator.load(tmp_path / "run").model.vector.tobytes()
    shutil.rmtree(tmp_path / "run")
    assert command(run, 2, *COPY, "--epochs", "2")[0] == 0
    assert Translator.load(tmp_path / "run").model.vector.tobytes() == half
    code, lines, err = command(run, 2, "evaluate", "run", "--threads", "1")
    assert code == 0 and any("seed 0, 2 threads;" in line for line in lines)
    code, single, err = command(run, 1, "evaluate", "run", "--threads", "2")
    assert single == lines


@pytest.mark.parametrize("words, message", [
    (["heatmap", "run", "--output", "x.png"], "`heatmap` cannot run on several ranks; run"),
    (["train", "--corpus", "nothing"], "corpus 'nothing' is unknown"),
    ([*COPY, "--batch-size", "1"], "2 ranks cannot share batches of 1 rows; start at most 1 "
                                   "ranks, or increase --batch-size"),
])
def test_errors_are_reported_once(run, words, message):
    code, lines, err = command(run, 2, *words)
    assert code == 2 and err.count(f"numpy-attention: error: {message}") == 1


@pytest.mark.parametrize("what, value, message", [
    ("version", "9.9", r"numpy_attention \(9.9 instead of "),
    ("text", "", "training text "), ("seed", "3", "settings "),
    ("threads", "", r"threads \(2 instead of 1\)"),
])
def test_ranks_that_differ(run, what, value, message):
    code, lines, err = run(2, CASES, "disagree", 1, what, value)
    assert code == 0, err
    for printed in by_rank(lines).values():
        assert re.match(rf"rank 1 on host .* differs from rank 0 on .* in {message}", printed[0])


@pytest.mark.parametrize("case, message", [
    ("failed", "rank 1 on .*: numpy-attention: error: no such thing here"),
    ("broken", "rank 1 on .*: KeyError: 'forgotten'"),
])
def test_failing_rank_is_named_and_ends_all(run, case, message):
    code, lines, err = run(2, CASES, case, 1)
    assert code not in (0, None) and re.search(message, err)


def test_missing_mpi_library(tmp_path):
    (tmp_path / "mpi4py.py").write_text("")
    for rank, expected in (("0", 1), ("1", 0)):
        environment = {**os.environ, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": rank,
                       "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        done = subprocess.run([sys.executable, "-m", "numpy_attention", *COPY],
                              env=environment, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("error: training on several ranks requires mpi4py") == expected
        assert "numpy_attention[cluster]" in done.stderr or not expected


# ---- signals and deaths -------------------------------------------------------------------------

LONG = [*COPY[:-2], "--epochs", "100000", "--save-steps", "5", "--run", "run"]


def at_work(start, folder):
    """Start mpirun with two ranks, and wait until the training has written a checkpoint."""
    path = folder / "run" / "checkpoint.npz"
    before = path.stat().st_mtime_ns if path.exists() else 0
    process = start(2, "-m", "numpy_attention", *LONG)
    end = time.monotonic() + 300            # two ranks that wait for each other on a busy machine
    while not path.exists() or path.stat().st_mtime_ns == before:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    return process


def children(process):
    """Return the ids of its child processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = path.read_text().rpartition(")")[2].split()[1]
        except OSError:                                     # it has ended already
            continue
        if int(parent) == process.pid:
            found.append(int(path.parent.name))
    return sorted(found)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system has no /proc")
def test_termination_saves_once_and_killed_rank_ends_all(start, tmp_path):
    process = at_work(start, tmp_path)
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=300)
    assert err.count("saved to run/checkpoint.npz; the same command resumes it") == 1
    process = at_work(start, tmp_path)
    time.sleep(1)
    os.kill(children(process)[1], signal.SIGKILL)
    out, err = process.communicate(timeout=300)
    assert process.returncode not in (0, None)
    assert "rank 1" in err and "signal 9 (Killed)" in err
    assert Translator.load(tmp_path / "run").model.size             # its checkpoint is intact
    process = at_work(start, tmp_path)
    os.kill(children(process)[0], signal.SIGTERM)                   # only one rank gets the signal
    out, err = process.communicate(timeout=300)
    assert err.count("saved to run/checkpoint.npz; the same command resumes it") == 1
