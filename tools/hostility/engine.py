"""Runs attempts in worker processes, so that one may crash or hang and be told.

Attempt i of a kind is made with `np.random.default_rng([seed, the kind's number, i])`, whichever
others run before it. A worker says what it is going to try before it tries: when it dies, or takes
too long, that is this attempt's outcome, and another worker goes on.
"""

import hashlib
import importlib
import importlib.util
import json
import multiprocessing
import os
import resource
import shutil
import signal
import tempfile
import time
import traceback
from multiprocessing import connection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hostility.outcome import PACKAGE, Outcome, judged

# a kind's number is its place
KINDS = ("calls", "uses", "commands", "files", "signals", "low_memory", "exercises")
SECONDS = 30
MAKING = 10     # times as long may it take to make one, which may compile what it calls
# of memory that an attempt may take beyond what the process has
ROOM = 4 << 30


class Job(NamedTuple):
    kind: str
    i: int


class Result(NamedTuple):
    kind: str
    i: int
    what: str
    verdict: str
    text: str


def kinds():
    """{name: its attempt(rng, folder)} of the kinds that have a file."""
    found = {}
    for kind in KINDS:
        if importlib.util.find_spec(f"hostility.{kind}") is not None:
            found[kind] = importlib.import_module(f"hostility.{kind}").attempt
    return found


# ---- what is kept ------------------------------------------------------------------------------


class Log:
    """Results in a file, a JSON line each; those of other code than this do not count."""

    def __init__(self, path, seed):
        self.path = path
        self.seed = seed
        self.code = digest()
        self.results = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                if (entry.pop("seed"), entry.pop("code")) == (seed, self.code):
                    result = Result(**entry)
                    self.results[result.kind, result.i] = result

    def add(self, result):
        self.results[result.kind, result.i] = result
        if self.path is not None:
            entry = {**result._asdict(), "seed": self.seed, "code": self.code}
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


def digest():
    """Of the code of the package, and of these attacks."""
    total = hashlib.sha256()
    for folder in (PACKAGE, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()


# ---- a worker ----------------------------------------------------------------------------------


def work(pipe, attempts, seed, folder):
    """Try the jobs that come through the pipe; send `what` before each, and its Outcome after."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    limit_memory()
    while True:
        job = pipe.recv()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        os.chdir(folder)        # an attempt before may have stood in the folder that is gone
        rng = np.random.default_rng([seed, KINDS.index(job.kind), job.i])
        try:
            attempt = attempts[job.kind](rng, folder)
        except Exception:
            pipe.send(Broken(traceback.format_exc()))
            return
        pipe.send(attempt.what)
        pipe.send(outcome_of(attempt))


def outcome_of(attempt):
    """The Outcome of an attempt; of one that raises, what its exception tells."""
    try:
        return attempt.run()
    except (Exception, SystemExit) as error:
        return judged(error)


def limit_memory():
    """Let this process take no more than ROOM beyond what it has: more is a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, hard))


class Broken(NamedTuple):
    """Sent by a worker in which an attempt could not be made."""

    text: str


class Worker:
    """A forked process with one job at a time, seen from outside."""

    def __init__(self, attempts, seed, folder):
        context = multiprocessing.get_context("fork")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, attempts, seed, folder))
        self.process.start()
        other.close()

    def begin(self, job, seconds):
        self.job = job
        self.what = "an attempt that was not made yet"
        self.seconds = seconds
        self.deadline = time.monotonic() + MAKING * seconds
        self.pipe.send(job)

    def news(self):
        """The Result once it is there, else None. RuntimeError: the attempt could not be made."""
        while self.pipe.poll():
            try:
                message = self.pipe.recv()
            except (EOFError, ConnectionResetError):
                self.process.join()
                return self._result(Outcome("crash", ending(self.process.exitcode)))
            if isinstance(message, Broken):
                raise RuntimeError(f"attempt {self.job.i} of {self.job.kind} could not be made:\n"
                                   + message.text)
            if isinstance(message, Outcome):
                return self._result(message)
            self.what = message
            self.deadline = time.monotonic() + self.seconds
        if time.monotonic() > self.deadline:
            self.end()
            return self._result(Outcome("hang", "it was ended when its time was over"))
        return None

    def _result(self, outcome):
        return Result(self.job.kind, self.job.i, self.what, *outcome)

    def end(self):
        """Kill the process."""
        self.process.kill()
        self.process.join()


def ending(exitcode):
    """How a process ended, in words."""
    if exitcode < 0:
        return f"the process died of {signal.Signals(-exitcode).name}"
    return f"the process left with status {exitcode}"


# ---- all of them -------------------------------------------------------------------------------


def run(attempts, numbers, seed, workers=1, seconds=SECONDS, log=None):
    """Try the attempts of these numbers of each kind; → their Results in order.

    attempts: {kind: attempt(rng, folder)}; log: a Log, whose results are not tried again.
    RuntimeError: an attempt cannot be made.
    """
    log = log or Log(None, seed)
    jobs = [Job(kind, i) for i in numbers for kind in attempts]
    waiting = iter([job for job in jobs if job not in log.results])
    with tempfile.TemporaryDirectory(prefix="hostile-") as base:
        busy = {}
        folders = [Path(base) / str(n) for n in range(workers)]
        try:
            _go_on(busy, waiting, attempts, seed, folders, seconds, log)
        finally:
            for worker in busy.values():
                worker.end()
    return [log.results[job] for job in jobs]


def _go_on(busy, waiting, attempts, seed, folders, seconds, log):
    for folder in folders:
        job = next(waiting, None)
        if job is not None:
            busy[folder] = Worker(attempts, seed, folder)
            busy[folder].begin(job, seconds)
    while busy:
        connection.wait([worker.pipe for worker in busy.values()], 0.5)
        for folder, worker in list(busy.items()):
            result = worker.news()
            if result is None:
                continue
            log.add(result)
            job = next(waiting, None)
            if not worker.process.is_alive() and job is not None:
                busy[folder] = worker = Worker(attempts, seed, folder)
            if job is not None:
                worker.begin(job, seconds)
            else:
                busy.pop(folder).end()
