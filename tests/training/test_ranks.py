"""Ranks: the same bits as threads, one voice, one end; mpirun starts them in processes."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from numpy_attention.runs.translator import Translator
from numpy_attention.training import ranks, row_sums
from numpy_attention.training.interrupt import Interrupt
from numpy_attention.training.ranks import ALONE, adds_as_one, outcome_of, tree, world
from numpy_attention.training.shares import cut, shares_here, whole

CASES = Path(__file__).with_name("at_ranks.py")
COPY = ["train", "--corpus", "copy", "--pairs", "300", "--max-length", "5", "--hidden", "8",
        "--batch-size", "20", "--threads", "1", "--run", "run"]


def command(run, count, *words):
    return run(count, "-m", "numpy_attention.cli.main", *words)


def by_rank(lines):
    """{rank: what it printed} of lines that begin with the rank."""
    found = {}
    for line in lines:
        rank, _, rest = line.partition(" ")
        found.setdefault(int(rank), []).append(rest)
    return found


# ---- sums ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8])
def test_a_tree_adds_each_once_in_pairs(count):
    things = [{k} for k in range(count)]
    order = []

    def add(to, one):
        assert not things[to] & things[one]
        things[to] |= things[one]
        order.append((to, one))

    tree(add, count)
    assert things[0] == set(range(count)) and len(order) == count - 1
    if count == 4:
        assert order == [(0, 1), (2, 3), (0, 2)]


def test_which_shares_add_up_as_one_ranks_would():
    def association(count, threads):
        """The sum of all shares as a formula: threads within their rank first."""
        formula = [str(share) for share in range(count * threads)]

        def add(to, one):
            formula[to] = f"({formula[to]} {formula[one]})"

        for begin in range(0, count * threads, threads):
            tree(lambda to, one: add(begin + to, begin + one), threads)
        tree(lambda to, one: add(threads * to, threads * one), count)
        return formula[0]

    for many in range(1, 7):
        for threads in range(1, 7):
            alike = association(many, threads) == association(1, many * threads)
            if adds_as_one(many, threads):
                assert alike, (many, threads)
    assert not adds_as_one(2, 3) and association(2, 3) != association(1, 6)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """{(ranks, threads): what each rank has printed of its trainings}, worked out when asked."""
    known = {}

    def of(run, count, threads):
        if (count, threads) not in known:
            code, lines, err = run(count, CASES, "trained", threads)
            assert code == 0, err
            known[count, threads] = by_rank(lines)
        return known[count, threads]
    return of


@pytest.mark.parametrize("one, other", [((1, 2), (2, 1)), ((1, 4), (2, 2)), ((1, 4), (4, 1))])
def test_ranks_give_the_bits_of_as_many_threads(run, trained, one, other):
    wanted, = trained(run, *one).values()
    found = trained(run, *other)
    assert len(wanted) == 5 and len(found) == other[0]
    assert all(lines == wanted for lines in found.values())


def test_touched_rows_alone_give_the_same_sum(run, trained):
    for translator, rows, *_ in trained(run, 2, 1).values():
        assert translator.split()[1] == rows.split()[1]


def test_what_is_sent_of_a_table():
    assert row_sums.between([(2, 5), (5, 6), (9, 10)], 10) == [(0, 2), (6, 9)]
    assert row_sums.between([], 3) == [(0, 3)]
    rows = np.array([4, 1]), np.array([], int), np.array([1, 7])
    assert row_sums.union(*rows).tolist() == [1, 4, 7]


def test_ranks_come_to_the_same(run):
    code, lines, err = run(3, CASES, "agreed", 1)
    assert code == 0, err
    found = by_rank(lines)
    for rank in range(3):
        assert found[rank][0] == f"3 {rank == 0} [0, 1, 4] 5"
        assert found[rank][1] == "KeyError 'of 0'"
        assert found[rank][2:6] == found[0][2:6]
        assert re.fullmatch(r"on \S+ 3 ranks × 500 threads share \d+ processors, and wait for each "
                            "other", found[rank][6])


# ---- one process --------------------------------------------------------------------------------


def test_alone(monkeypatch):
    for count, _ in ranks.STARTERS:
        monkeypatch.delenv(count, raising=False)
    world.cache_clear()
    assert world() is ALONE and ALONE.is_first and ALONE.everyones("x") == ["x"]
    assert ALONE.of_first(3) == 3 and ALONE.first(lambda: 4) == 4 and ALONE.ended_alike()
    vector = np.arange(3.0)
    ALONE.add(vector)
    assert vector.tolist() == [0, 1, 2]


def test_an_outcome_is_a_value_or_an_error():
    assert outcome_of(lambda: 3) == (3, None)
    value, error = outcome_of(lambda: [][0])
    assert value is None and isinstance(error, IndexError)


class Middle(ranks.Alone):
    """Rank 1 of 3, without the others."""

    rank = 1
    count = 3


def test_the_shares_of_a_rank():
    assert list(shares_here(Middle(), 2, 10)) == [2, 3]
    assert list(shares_here(Middle(), 2, 3)) == [2]
    assert list(shares_here(Middle(), 2, 1)) == []


def test_a_state_is_cut_where_its_rows_go_and_put_together_again():
    state = np.arange(7), (np.arange(14.0).reshape(7, 2), None)
    here = cut(Middle(), 2, state)
    assert [names.tolist() for names, _ in here] == [[2], [3]]          # of 1, 1, 1, 1, 1, 2 rows
    again = whole(ALONE, cut(ALONE, 3, state))
    assert again[0].tolist() == list(range(7)) and again[1][0].tolist() == state[1][0].tolist()
    assert whole(ALONE, None) is None and cut(ALONE, 2, None) is None


# ---- a command ----------------------------------------------------------------------------------


def test_a_run_is_told_once_and_goes_on_with_other_ranks(run, tmp_path):
    code, lines, err = command(run, 2, *COPY, "--epochs", "1")
    assert code == 0, err
    assert sum("parameters; 300 pairs" in line for line in lines) == 1
    assert "2 ranks × 1 thread" in err
    code, lines, err = command(run, 1, *COPY[:-4], "--threads", "2", *COPY[-2:], "--epochs", "2")
    assert code == 0, err
    assert any("on 1 ranks × 2 threads, 2 × 1 before: sums are bit-identical" in line
               for line in lines), lines
    half = Translator.load(tmp_path / "run").model.vector.tobytes()
    shutil.rmtree(tmp_path / "run")
    assert command(run, 2, *COPY, "--epochs", "2")[0] == 0
    assert Translator.load(tmp_path / "run").model.vector.tobytes() == half
    code, lines, err = command(run, 2, "evaluate", "run", "--threads", "1")
    assert code == 0 and any("seed 0, 2 threads;" in line for line in lines)
    code, alone, err = command(run, 1, "evaluate", "run", "--threads", "2")
    assert alone == lines
    code, lines, err = command(run, 3, *COPY, "--epochs", "3")
    assert code == 2
    assert err.count("numpy-attention: error") == 1 and "threads 2 there, 3 now" in err


@pytest.mark.parametrize("words, message", [
    (["heatmap", "run", "--output", "x.png"], "2 ranks have nothing to share in heatmap"),
    (["train", "--corpus", "nothing"], "corpus 'nothing' is unknown"),
    ([*COPY, "--batch-size", "1"], "2 ranks for batches of 1 rows: expected a row for each, so "
                                   "start fewer, or give a larger --batch-size"),
])
def test_what_is_refused_is_told_once(run, words, message):
    code, lines, err = command(run, 2, *words)
    assert code == 2 and err.count(f"numpy-attention: error: {message}") == 1


@pytest.mark.parametrize("what, value, message", [
    ("version", "9.9", "numpy_attention 9.9 there, "),
    ("text", "", "training text"), ("seed", "3", "settings"),
    ("threads", "", "threads 2 there, 1 here"),
])
def test_ranks_that_disagree(run, what, value, message):
    code, lines, err = run(2, CASES, "alone", 1, what, value)
    assert code == 0, err
    for told in by_rank(lines).values():
        assert re.match(r"rank 1 on \S+ does not agree with rank 0 on \S+: " + message, told[0])


@pytest.mark.parametrize("case, message", [
    ("failed", "rank 1 on .*: numpy-attention: error: no such thing here"),
    ("broken", "rank 1 on .*: KeyError: 'forgotten'"),
])
def test_a_rank_that_fails_alone_is_named_and_ends_all(run, case, message):
    code, lines, err = run(2, CASES, case, 1)
    assert code not in (0, None) and re.search(message, err)


def test_a_missing_engine(tmp_path):
    (tmp_path / "mpi4py.py").write_text("")
    for rank, expected in (("0", 1), ("1", 0)):
        environment = {**os.environ, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": rank,
                       "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        done = subprocess.run([sys.executable, "-m", "numpy_attention.cli.main", *COPY],
                              env=environment, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 2
        told = "error: ranks are started, and the engine that joins them is missing"
        assert done.stderr.count(told) == expected
        assert 'pip install -e ".[cluster]"' in done.stderr or not expected


# ---- signals and deaths -------------------------------------------------------------------------

LONG = [*COPY[:-2], "--pairs", "6000", "--epochs", "500", "--save-steps", "5", "--run", "run"]


def at_work(start, folder):
    """An mpirun of two ranks whose training has written a checkpoint."""
    path = folder / "run" / "checkpoint.npz"
    before = path.stat().st_mtime_ns if path.exists() else 0
    process = start(2, "-m", "numpy_attention.cli.main", *LONG)
    end = time.monotonic() + 60
    while not path.exists() or path.stat().st_mtime_ns == before:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    return process


def children(process):
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True,
                          text=True)
    return [int(number) for number in done.stdout.split()]


def test_a_polite_end_saves_once_and_a_dead_rank_ends_all(start, tmp_path):
    process = at_work(start, tmp_path)
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=60)
    assert err.count("saved to run/checkpoint.npz; the same command resumes it") == 1
    process = at_work(start, tmp_path)
    time.sleep(1)
    os.kill(children(process)[1], signal.SIGKILL)
    out, err = process.communicate(timeout=30)
    assert process.returncode not in (0, None)
    assert "rank 1" in err and "signal 9 (Killed)" in err
    assert Translator.load(tmp_path / "run").model.size             # its checkpoint is whole
    process = at_work(start, tmp_path)
    os.kill(children(process)[0], signal.SIGTERM)                   # one rank alone is asked
    out, err = process.communicate(timeout=60)
    assert err.count("saved to run/checkpoint.npz; the same command resumes it") == 1


def test_a_warning_of_mpirun_is_followed_by_the_signal_or_by_nothing(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGCONT)
        assert interrupt.warned and not interrupt.asked
        begin = time.monotonic()
        assert interrupt.awaited() == 0 and not interrupt.warned
        assert time.monotonic() - begin >= 0.5
        os.kill(os.getpid(), signal.SIGCONT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupt.awaited() == signal.SIGTERM
    monkeypatch.delenv("OMPI_COMM_WORLD_SIZE")
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGCONT)
        assert not interrupt.warned
