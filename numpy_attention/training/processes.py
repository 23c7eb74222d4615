"""Processes as the workers of a pool, in place of threads.

Only one thread of a process can run Python at a time. Between their matrix products, threads
therefore wait for each other, and small models are hardly faster with two threads than with one.
Processes do not wait.
"""

import ctypes
import gc
import mmap
import os
import pickle
import signal
import sys
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import numpy as np

from numpy_attention.module import Array
from numpy_attention.training.column_parallel import ProcessGroup
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess
from numpy_attention.training.interrupt import SIGNALS
from numpy_attention.training.protocols import Model
from numpy_attention.training.threads import Threads, can_fork, release_freed_memory

PR_SET_PDEATHSIG = 1        # of prctl: the signal that a process gets when its parent ends
AWAKE = 2e-4                # seconds of busy waiting, because a sleeping process wakes up slowly
ENDED = EOFError, ConnectionError       # what a pipe raises if the process at its other end ended


class Left(Exception):
    """Raised in a worker process when the first process has left the `with` block of the pool."""


class Failed:
    """An exception of a worker process, pickled so that the first process can raise it."""

    def __init__(self, error: BaseException) -> None:
        self.text = "".join(traceback.format_exception(error))
        try:
            self.error = pickle.dumps(error)
            pickle.loads(self.error)
        except Exception:           # an error of a kind that cannot be pickled
            self.error = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))

    def reraise(self) -> NoReturn:
        raise pickle.loads(self.error) from RuntimeError(f"in another process:\n{self.text}")


class Processes(Threads):
    """Context manager: a pool of `count` processes, with the methods of `Threads`.

    On entry, this process, rank 0, forks count − 1 workers. All processes run the body of the
    `with` statement, and the workers exit at the end of the body. Processes share only `group` and
    the arrays that `shared_copy` and `shared_zeros` return.

    On rank 0, `map` raises the error that f raises in a worker, and ChildProcessError if a worker
    is killed. Raises MemoryError if processes cannot be started.
    """

    rank = 0
    group: ProcessGroup

    def __enter__(self) -> "Processes":
        super().__enter__()
        self._pipes: list[Connection] = []
        self._children: list[int] = []
        # numbers of messages that each process has sent (shared), and that this one has received
        self._sent = shared_copy(np.zeros(self.count, np.int64))
        self._received = [0] * self.count
        self.group = ProcessGroup(self.count, shared_zeros, self._pipes)
        for stream in (sys.stdout, sys.stderr):     # or each process would write its buffer
            with suppress(Exception):
                stream.flush()
        # no signal may reach a child before it ignores them
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            for rank in range(1, self.count):
                self._start(rank)
                if self.rank:
                    break
        except OSError as error:
            self.__exit__(type(error), error, None)
            raise MemoryError(f"cannot start the processes for threads = {self.count}: "
                              f"{error.strerror}. Use fewer threads, or check the limits with "
                              "`ulimit -a`") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return self

    def _start(self, rank: int) -> None:
        """Fork the worker process with this rank. The worker returns from this call, too."""
        mine, theirs = Pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns about a fork if there are other threads, such as those of BLAS. The
            # child uses neither these threads nor their locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child:
            theirs.close()
            self._pipes.append(mine)
            self._children.append(child)
            return
        try:
            self.rank = self.group.rank = rank
            for other in [mine, *self._pipes]:  # or the end of a process would go unnoticed
                other.close()
            self._pipes[:] = [theirs]
            gc.freeze()             # or each collection would copy the pages of all its objects
            for number in SIGNALS:  # the first process handles them for all
                signal.signal(number, signal.SIG_IGN)
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        except BaseException:
            os._exit(1)

    def __exit__(self, *error: object) -> None:
        if self.rank:
            if isinstance(error[1], BaseException) and not isinstance(error[1], Left):
                with suppress(Exception):
                    self._send(self._pipes[0], Failed(error[1]))
            os._exit(0)
        try:
            for pipe in self._pipes:
                pipe.close()
            for child in self._children:
                with suppress(ChildProcessError, ProcessLookupError):   # SIGCHLD may be ignored
                    if error[1] is not None:
                        os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
        finally:
            super().__exit__(*error)

    def tell(self, *message: Any) -> None:
        """Send a message to all worker processes, where `told` returns the message."""
        for child, pipe in zip(self._children, self._pipes):
            try:
                pipe.send(message)
            except ENDED:
                self._raise_ended(child, pipe)
        self._sent[0] += 1

    def told(self) -> tuple[Any, ...]:
        """Return the next message of rank 0. Raises Left if rank 0 has left its `with` block."""
        try:
            return self._next(0, self._pipes[0])
        except ENDED:
            raise Left from None

    def map(self, f: Callable[[int], Any], to_all: bool = True) -> list[Any]:
        if self.rank:
            self._send(self._pipes[0], f(self.rank))
            return list(self.told()) if to_all else []
        results = [f(0)]
        for rank, (child, pipe) in enumerate(zip(self._children, self._pipes), 1):
            try:
                result = self._next(rank, pipe)
            except ENDED:
                self._raise_ended(child, pipe)
            if isinstance(result, Failed):
                result.reraise()
            results.append(result)
        if to_all:
            self.tell(*results)
        return results

    def _send(self, pipe: Connection, value: Any) -> None:
        pipe.send(value)
        self._sent[self.rank] += 1

    def _next(self, sender: int, pipe: Connection) -> Any:
        """Return the next message of process `sender`, which arrives in `pipe`."""
        self._received[sender] += 1
        end = time.perf_counter() + AWAKE
        while self._sent[sender] < self._received[sender] and time.perf_counter() < end:
            pass
        return pipe.recv()

    def _raise_ended(self, child: int, pipe: Connection) -> NoReturn:
        """Raise the error that an ended process has sent, or ChildProcessError if it sent none."""
        with suppress(*ENDED):
            while True:
                last = pipe.recv()
                if isinstance(last, Failed):
                    last.reraise()
        self._children.remove(child)
        how = "ended"
        with suppress(ChildProcessError):
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            how = f"ended with status {code}"
            if code < 0:
                how = f"was ended by signal {-code} ({signal.strsignal(-code)})"
            if code == -signal.SIGKILL:
                how += "; if memory is short, use fewer threads"
        raise ChildProcessError(f"a process of this computation {how}")


def workers(count: int, ranks: SingleProcess = SINGLE_PROCESS) -> Threads:
    """Return a pool of Processes if count > 1 and `can_fork(ranks)`, otherwise of Threads."""
    if count > 1 and can_fork(ranks):
        return Processes(count)
    return Threads(count, ranks)


def shared_copy(array: Array) -> Array:
    """Return a copy of a flat array, in memory that this process shares with those it forks."""
    copy = shared_zeros(array)
    copy[...] = array
    return copy


def shared_zeros(like: Array) -> Array:
    """Return zeros like a flat array, in memory that this process shares with those it forks."""
    try:
        memory = mmap.mmap(-1, max(1, like.nbytes))
    except OSError:
        raise MemoryError(f"cannot allocate {like.nbytes:,} bytes of shared memory; "
                          "use fewer threads") from None
    with suppress(OSError, AttributeError):             # a kernel without large pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, like.dtype, like.size)


@contextmanager
def shared_memory(model: Model, vectors: dict[str, Array], count: int) -> Iterator[list[Model]]:
    """Context manager in which a model and the vectors of its optimizer are in shared memory.

    Yields `count` models for the gradients, whose parameters are 0 and in shared memory.
    """
    before = weakref.ref(model.vector)
    grads: list[Model] = []
    try:
        model.move_to(shared_copy(model.vector))
        for name in vectors:
            vectors[name] = shared_copy(vectors[name])
        release_freed_memory()
        grads += [model.zeros_like(shared_zeros(model.vector)) for _ in range(count)]
        yield grads
    finally:
        grads.clear()
        # back to the same memory, if the caller has arrays that are views of it
        known = before()
        model.move_to(np.empty_like(model.vector) if known is None else known)
        for name in vectors:
            vectors[name] = vectors[name].copy()
