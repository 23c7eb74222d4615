"""Process pools: result order, shared memory, errors, killed processes, and cleanup."""

import gc
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from small import language_trainer, trainer, translator_model

from numpy_attention.training import processes
from numpy_attention.training.distributed.ranks import SingleProcess
from numpy_attention.training.processes import Processes, shared_copy, shared_memory, workers
from numpy_attention.training.threads import Threads

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")


def alive(pool):
    """Return the processes of a pool that still exist."""
    return [child for child in pool._children if os.path.exists(f"/proc/{child}")]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_map_runs_in_every_process_and_keeps_order(count):
    with Processes(count) as pool:
        found = pool.map(lambda k: (k, os.getpid()))
        again = pool.map(lambda k: found[k][1] == os.getpid())      # every process has all results
    assert [k for k, _ in found] == list(range(count))
    assert len({process for _, process in found}) == count
    assert found[0][1] == os.getpid() and again == [True] * count
    assert not alive(pool)


def test_only_shared_arrays_are_shared():
    shared = shared_copy(np.arange(4.0))
    alone = np.arange(4.0)

    def write(k):
        shared[k] = alone[k] = -1

    with Processes(2) as pool:
        pool.map(write)
    assert shared.tolist() == [-1, -1, 2, 3] and alone.tolist() == [-1, 1, 2, 3]


def test_broadcast_from_the_first_process():
    with Processes(3) as pool:
        pool.tell("word", 1)
        message = ("word", 1) if pool.rank == 0 else pool.told()
        assert pool.map(lambda k: message) == [("word", 1)] * 3


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_error_in_any_process_ends_all(bad):
    def work(k):
        if k == bad:
            raise FloatingPointError(f"process {k}")

    with pytest.raises(FloatingPointError, match=f"process {bad}"):
        with Processes(3) as pool:
            pool.map(work)
    assert not alive(pool)


def test_killed_process_raises():
    def work(k):
        if k == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ChildProcessError, match="ended by signal 9 .*use fewer threads"):
        with Processes(2) as pool:
            pool.map(work)
    assert not alive(pool)


def test_process_that_exits_raises():
    with pytest.raises(ChildProcessError, match="ended with status 3$"):
        with Processes(2) as pool:
            pool.map(lambda k: k and os._exit(3))
    assert not alive(pool)


class Unpicklable(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")
        self.held = lambda: None


def test_unpicklable_error_keeps_its_traceback():
    def work(k):
        if k:
            raise Unpicklable(1, 2)

    with pytest.raises(RuntimeError, match="Unpicklable: 1 and 2") as raised:
        with Processes(2) as pool:
            pool.map(work)
    assert "raise Unpicklable(1, 2)" in str(raised.value.__cause__)


def test_eof_error_in_another_process_is_raised():
    def work(k):
        if k:
            raise EOFError("the file is cut off")

    with pytest.raises(EOFError, match="the file is cut off"):
        with Processes(2) as pool:
            pool.map(work)


def test_results_may_go_only_to_the_first_process():
    with Processes(2) as pool:
        found = pool.map(lambda k: k, to_all=False)
        assert found == ([] if pool.rank else [0, 1])


def test_buffered_output_is_written_once(tmp_path):
    code = ("from numpy_attention.training.processes import Processes\n"
            "import sys\n"
            "print('once')\n"
            "with Processes(2) as pool:\n"
            "    pool.map(lambda k: sys.stdout.flush())\n")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                         env=os.environ | {"PYTHONUNBUFFERED": ""})
    assert run.stdout == "once\n"


def test_pool_when_sigchld_is_ignored():
    usual = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with Processes(2) as pool:
            assert pool.map(lambda k: k) == [0, 1]
        with pytest.raises(ValueError, match="its own"):
            with Processes(2) as pool:
                raise ValueError("its own")
    finally:
        signal.signal(signal.SIGCHLD, usual)


def test_memory_error_when_shared_memory_runs_out(monkeypatch):
    def no_memory(*size):
        raise OSError(12, "Cannot allocate memory")
    monkeypatch.setattr(processes.mmap, "mmap", no_memory)
    run = language_trainer(threads=2)
    before = run.model.vector.copy()
    with pytest.raises(MemoryError, match="cannot allocate [1-9].* bytes of shared memory; use"):
        run.fit(1)
    assert np.array_equal(run.model.vector, before)


def test_group_signals_reach_only_the_first_process():
    with Processes(2) as pool:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            pool.map(lambda k: k and os.kill(os.getpid(), number))
        assert pool.map(lambda k: k) == [0, 1]


def test_failed_fork_raises(monkeypatch):
    forks = iter([os.fork])

    def fork():
        for real in forks:
            return real()
        raise BlockingIOError(11, "Resource temporarily unavailable")
    monkeypatch.setattr(processes.os, "fork", fork)
    pool = Processes(3)
    with pytest.raises(MemoryError, match="for threads = 3: Resource .* with `ulimit -a`"):
        pool.__enter__()
    assert not alive(pool)


# ---- choice of the pool --------------------------------------------------------------------------

class TwoRanks(SingleProcess):
    count = 2


def test_processes_only_in_the_main_thread_on_linux_without_mpi(monkeypatch):
    assert type(workers(2)) is Processes
    assert type(workers(1)) is Threads and type(workers(2, TwoRanks())) is Threads
    with Threads(2) as pool:
        assert [type(one) for one in pool.map(lambda k: workers(2))] == [Processes, Threads]
    monkeypatch.setattr(sys, "platform", "darwin")
    assert type(workers(2)) is Threads


# ---- a model in shared memory --------------------------------------------------------------------

def test_model_returns_to_its_memory_if_still_referenced():
    model = translator_model()
    model.vector                                                        # packed
    known = next(array for _, array in model.named_parameters())
    values = known.copy()
    vectors = {"m": np.zeros_like(model.vector)}
    with shared_memory(model, vectors, 2) as grads:
        inside = next(array for _, array in model.named_parameters())
        assert not np.shares_memory(inside, known) and np.array_equal(inside, values)
        assert len(grads) == 2 and not any(one.vector.any() for one in grads)
        inside += 1
        vectors["m"] += 2
    assert np.array_equal(known, values + 1)
    assert np.shares_memory(known, model.vector) and (vectors["m"] == 2).all()
    assert not np.shares_memory(model.vector, inside)


def test_unreferenced_old_memory_is_freed():
    model = translator_model()
    old = model.vector.copy()
    with shared_memory(model, {}, 1):
        gc.collect()
        assert np.array_equal(model.vector, old)
    assert np.array_equal(model.vector, old) and model.vector.base is None


@pytest.mark.parametrize("make", [language_trainer, trainer])
@pytest.mark.parametrize("count", [2, 3])
def test_processes_match_threads_bit_for_bit(make, count, monkeypatch):
    forked = make(threads=count)
    forked.fit(2)
    monkeypatch.setattr(sys, "platform", "darwin")
    threaded = make(threads=count)
    threaded.fit(2)
    assert np.array_equal(forked.model.vector, threaded.model.vector)
    kept = ("train_loss", "valid_loss")
    assert ([[line.get(key) for key in kept] for line in forked.history]
            == [[line.get(key) for key in kept] for line in threaded.history])


def test_schedule_may_read_the_history(monkeypatch):
    def trained():
        run = trainer(threads=2, schedule=lambda step, epoch: 0.1 if run.history else 1.0)
        run.fit(3)
        return run.model.vector
    forked = trained()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert np.array_equal(forked, trained())


def test_interrupted_training_resumes_its_carried_state():
    whole = language_trainer(threads=2)
    whole.fit(1)
    stopped = language_trainer(threads=2)
    train_on = stopped.train_on

    def interrupted(pool, *place):
        if stopped.step == 5 and pool.rank == 0:
            signal.raise_signal(signal.SIGINT)
        return train_on(pool, *place)
    stopped.train_on = interrupted
    with pytest.raises(KeyboardInterrupt, match="in epoch 1 after 6 steps"):
        stopped.fit(1)
    stopped.fit(1)
    assert np.array_equal(stopped.model.vector, whole.model.vector)


def test_error_in_another_process_ends_the_training(monkeypatch):
    run = language_trainer(threads=2)
    loss_and_grad = run.model.loss_and_grad
    first = os.getpid()

    def failing(*arguments):
        if os.getpid() != first:
            raise FloatingPointError("in its rows")
        return loss_and_grad(*arguments)
    monkeypatch.setattr(type(run.model), "loss_and_grad", lambda _, *others: failing(*others))
    with pytest.raises(FloatingPointError, match="in its rows"):
        run.fit(1)
    assert run.step == 0
