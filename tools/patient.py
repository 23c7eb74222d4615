"""A process that tries mutants of one copy of the checkout: each in a fork, with its own tests.

    python tools/patient.py COPY [TEST …]       jobs come in and verdicts go out as lines of JSON

What is not mutated (NumPy, the kernels, pytest) is imported once, before the forks, and the tests
named here run, so that the kernels are compiled.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

# the rooms below those that are mutated
BELOW = ("kernels", "layers", "cells", "attention")
KEPT = "numpy_attention.kernels"
CAUGHT, SURVIVED, SLOW = "caught", "survived", "too slow"
# of time on the clock for each second of processor time that the tests may take
PATIENCE = 4


def import_below():
    """What no mutant changes; nothing of it may import what one does."""
    for room in BELOW:
        package = importlib.import_module(f"numpy_attention.{room}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    for name in ("sacrebleu", "matplotlib.pyplot", "tqdm", "pooch", "requests", "torch"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def warm_up(tests):
    """Run some tests, for what pytest, its plugins and the kernels do on their first run alone.

    Then whatever they imported from here is forgotten, but for the kernels: each fork does it anew.
    """
    if tests:                       # none is for pytest all there are
        with contextlib.redirect_stdout(io.StringIO()):
            tests_pass(tests)
    here = os.getcwd() + os.sep
    for name, module in list(sys.modules.items()):
        parent, _, last = name.rpartition(".")
        own = (getattr(module, "__file__", None) or "").startswith(here)
        if own and not name.startswith(KEPT) and name != "__main__":
            del sys.modules[name]
            with contextlib.suppress(AttributeError):
                delattr(sys.modules.get(parent), last)


def tests_pass(tests):
    # unraisableexception collects all garbage twice a run, which takes longer than most tests
    without = ["-p", "no:cacheprovider", "-p", "no:unraisableexception"]
    return pytest.main(["-x", "--no-header", *without, *tests]) == 0


def verdict(file, source, tests, seconds):
    """Put the source in the file's place, try the tests, put the file back."""
    before = file.read_bytes()
    changed = time.time_ns()
    file.write_text(source, encoding="utf-8")
    try:
        # compiled files are told apart by whole seconds: none of an earlier mutant may be used
        past = (changed // 1000) % 10**9
        os.utime(file, (past, past))
        return _in_a_fork(tests, seconds)
    finally:
        file.write_bytes(before)


def _in_a_fork(tests, seconds):
    """seconds: of processor time. One that sleeps for ever is ended by the clock."""
    child = os.fork()
    if child == 0:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        with contextlib.suppress(BaseException):
            os._exit(0 if tests_pass(tests) else 1)
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
    """What it started in turn ends with it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def main(copy, *tests):
    os.chdir(copy)
    warm_up(tests)
    import_below()
    gc.freeze()                     # what stands is not looked through again in every fork
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        found = verdict(Path(job["file"]), job["source"], job["tests"], job["seconds"])
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
