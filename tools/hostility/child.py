"""A forked child with less than its parent: fewer rights, a full disk, little memory."""

import ctypes
import faulthandler
import json
import os
import resource
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from hostility.engine import ending
from hostility.outcome import PACKAGE, UNTRIED, Outcome, judged, shortened

NOBODY = 65534
CLONE_NEWNS = 0x20000       # of unshare: mounts of one's own


def outcome(prepare, run):
    """The Outcome of run() in a child that prepare() has taken something from.

    SystemExit of prepare: this machine cannot do so, and nothing is tried; it says why.
    """
    reading, writing = os.pipe()
    last_words = tempfile.TemporaryFile()
    number = os.fork()
    if number == 0:
        code = 1
        try:
            os.close(reading)
            os.dup2(last_words.fileno(), 2)
            faulthandler.enable(last_words)
            found = _tried(prepare, run)
            os.write(writing, json.dumps(found).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading, "rb") as file:
        data = file.read()
    _, status = os.waitpid(number, 0)
    with last_words:
        last_words.seek(0)
        said = shortened(last_words.read().decode("utf-8", "replace"))
    if not data:
        return Outcome("crash", f"{ending(os.waitstatus_to_exitcode(status))} {said}".strip())
    return Outcome(*json.loads(data))


def _tried(prepare, run):
    try:
        prepare()
    except SystemExit as cannot:
        return Outcome(UNTRIED, str(cannot))
    try:
        return run()
    except Exception as error:
        return judged(error)


# ---- what is taken -----------------------------------------------------------------------------


def of_nobody():
    """Be a user without rights: what is another's cannot be read, or written.

    SystemExit: nor can the package or NumPy, as where a folder above them is closed to others.
    """
    "".encode("cp437")          # zipfile asks for it, and Python's own folder may be another's too
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    for needed in (PACKAGE, Path(np.__file__).parent):
        if not os.access(needed / "__init__.py", os.R_OK):
            raise SystemExit(f"a user without rights may not read {needed}")


def with_small_files(size):
    """No file may grow beyond so many bytes."""
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return prepare


def on_a_full_disk(folder, size):
    """A disk of so many bytes stands at `folder`, for the child alone; else files stay small."""
    def prepare():
        folder.mkdir(exist_ok=True)
        libc = ctypes.CDLL(None, use_errno=True)
        if os.getuid() != 0 or libc.unshare(CLONE_NEWNS) != 0:
            return with_small_files(size)()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["mount", "--make-rprivate", "/"], **quiet)
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)],
                              **quiet)
        if made.returncode:
            with_small_files(size)()
    return prepare


def with_little_memory(more):
    """So many bytes beyond what the process has."""
    def prepare():
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[0])
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))
    return prepare
