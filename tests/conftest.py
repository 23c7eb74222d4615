"""Shared fixtures: a seeded Generator, a locked folder, MPI ranks and a browser."""

import errno
import os

# one BLAS thread for each pytest worker, set before NumPy reads it; the trainer uses its own
# threads
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# few examples, the same in every run, and no deadline
settings.register_profile("short", derandomize=True, max_examples=25, deadline=None, database=None,
                          suppress_health_check=[HealthCheck.function_scoped_fixture])
# for campaigns/fuzz.py: many examples, different in every run
settings.register_profile("campaign", max_examples=2000, deadline=None, database=None,
                          print_blob=True,
                          suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.load_profile("short")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# the browser itself must not use the network or a display
ARGUMENTS = ("--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
             "--disable-background-networking --disable-component-update").split()
MPIRUN = shutil.which("mpirun", path=str(Path(sys.executable).parent)) or shutil.which("mpirun")


@pytest.fixture
def rng():
    return np.random.default_rng(20150909)


@pytest.fixture(autouse=True, scope="session")
def signals_as_in_a_terminal():
    """Restore the default handlers, which `nohup` or a background shell may have set to ignore."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    if hasattr(signal, "SIGHUP"):           # Windows has none
        handlers[signal.SIGHUP] = signal.SIG_DFL
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def close_figures():
    """Close pyplot's figures, if a test has imported pyplot."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """A folder whose files raise PermissionError, even for root."""
    folder = tmp_path / "locked"
    folder.mkdir()
    stat = os.stat

    def denied(path, *arguments, **keywords):
        if not isinstance(path, int) and folder in Path(os.fsdecode(path)).parents:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return stat(path, *arguments, **keywords)

    monkeypatch.setattr(os, "stat", denied)
    return folder


@pytest.fixture
def start(tmp_path):
    """start(count, *words): run python with `words` on `count` ranks under mpirun; → Popen."""
    pytest.importorskip("mpi4py", reason="ranks need the extra cluster")
    if MPIRUN is None:
        pytest.skip("mpirun is not installed: ranks need the extra cluster")
    processes = []

    def started(count, *words):
        command = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", str(count),
                   sys.executable, *map(str, words)]
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OPENBLAS_NUM_THREADS": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        processes.append(subprocess.Popen(
            command, cwd=tmp_path, env=environment, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True))
        return processes[-1]

    yield started
    for one in processes:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGKILL)
        one.communicate()


@pytest.fixture
def run(start):
    """run(count, *words) → exit status, printed lines, standard error."""
    def run_to_end(count, *words):
        process = start(count, *words)
        out, err = process.communicate(timeout=120)
        lines = [line for line in re.sub(r"\x1b\[0m", "", out).splitlines() if line]
        return process.returncode, lines, err
    return run_to_end


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium for the whole session: Playwright can start only once per process."""
    playwright = pytest.importorskip("playwright.sync_api",
                                     reason="tests of pages need playwright, of the extra test")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: tests of pages run their scripts in it")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()
