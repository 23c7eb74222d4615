"""A process that tests mutants in a copy of the checkout, each in a fork.

    python mutation_worker.py COPY [TEST …]     read jobs and write verdicts as lines of JSON

Libraries and compiled kernels are imported once, before the forks. The tests on the command line
run first, so that the kernels are compiled. The rest of the package is imported again in every
fork. Mutants of kernels are tested with all kernels as plain Python.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import pytest
from line_coverage import OPTIONS

KERNELS = "numpy_attention/kernels/"
LIBRARIES = ("sacrebleu", "matplotlib.pyplot", "tqdm", "pooch", "requests", "torch")
CAUGHT, SURVIVED, SLOW = "caught", "survived", "too slow"
# seconds of real time per second of processor time that the tests may take
PATIENCE = 4


def warm_up(tests):
    """Import the libraries and run some tests, so that the kernels are compiled."""
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if tests:                       # without a name, pytest would run all tests
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main([*OPTIONS, *tests])
    forget_checkout(keep=KERNELS)
    gc.freeze()                     # exclude existing objects from garbage collection in forks


def forget_checkout(keep=None):
    """Remove the modules of this checkout from sys.modules, except those in the folder `keep`."""
    root = os.getcwd() + os.sep
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if not file.startswith(root) or name == "__main__":
            continue
        if keep and file.startswith(root + keep):
            continue
        del sys.modules[name]
        parent, _, last = name.rpartition(".")
        with contextlib.suppress(AttributeError):
            delattr(sys.modules.get(parent), last)


def verdict(file, source, tests, seconds):
    """Replace the file by the source, run the tests, and restore the file."""
    before = file.read_bytes()
    changed = time.time_ns()
    file.write_text(source, encoding="utf-8")
    try:
        # bytecode is matched by whole seconds; a new time prevents the use of an older mutant's
        past = (changed // 1000) % 10**9
        os.utime(file, (past, past))
        return _in_a_fork(tests, seconds, plain=file.as_posix().startswith(KERNELS))
    finally:
        file.write_bytes(before)


def _in_a_fork(tests, seconds, plain=False):
    """Run tests in a fork. seconds: limit of processor time; there is a limit of real time, too."""
    child = os.fork()
    if child == 0:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        with contextlib.suppress(BaseException):
            if plain:
                importlib.import_module("numba").core.config.DISABLE_JIT = True
                os.environ["NUMBA_DISABLE_JIT"] = "1"
                forget_checkout()
            os._exit(0 if pytest.main(["-x", *OPTIONS, *tests]) == 0 else 1)
        os._exit(1)
    end = time.monotonic() + PATIENCE * seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _end_group(child)
            out_of_time = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            return SLOW if out_of_time else SURVIVED if status == 0 else CAUGHT
        time.sleep(0.005)
    _end_group(child)
    os.waitpid(child, 0)
    return SLOW


def _end_group(child):
    """End the child and the processes that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def main(copy, *tests):
    os.chdir(copy)
    warm_up(tests)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        found = verdict(Path(job["file"]), job["source"], job["tests"], job["seconds"])
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
