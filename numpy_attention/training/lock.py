"""One training at a time writes a checkpoint: a lock that ends with its process, however it ends.

The lock is the system's own (flock) on an empty file beside the checkpoint, which stays behind
where a process is killed and then locks nothing. Where the system or the file system has no such
locks (Windows, some network drives), none is taken.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numpy_attention.validation.paths import exists, make_folder, path_errors

try:
    import fcntl
except ImportError:                                     # Windows
    fcntl = None                                        # type: ignore[assignment]


@contextmanager
def held(path: str | Path, what: str = "training") -> Iterator[None]:
    """Within it, nobody else holds the lock of the file `path`, whose folder is made if need be.

    BlockingIOError: another one, of `what`, holds it; OSError: nothing can be written there.
    """
    if fcntl is None:
        yield
        return
    file = _beside(path)
    number = _locked(file, Path(path), what)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)                    # while it is locked: nobody else's
        os.close(number)


def check_free(path: str | Path) -> None:
    """BlockingIOError: a training holds the lock of the file `path`."""
    if exists(_beside(path)):
        with held(path):
            pass


def _beside(path: str | Path) -> Path:
    return Path(path).with_name(f"{Path(path).name}.lock")


def _locked(file: Path, path: Path, what: str) -> int:
    """The open descriptor of a lock file that this process has locked, and that still stands."""
    while True:
        number = _opened(file)
        try:
            _lock(number)
        except BlockingIOError:
            os.close(number)
            raise BlockingIOError(f"another {what} is at work on {path}: wait for its end, or "
                                  "choose another folder") from None
        if _is(number, file):
            return number
        os.close(number)                                # its holder took it away meanwhile


def _opened(file: Path) -> int:
    make_folder(file.parent)
    with path_errors(file, "written"):
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o666)


def _lock(number: int) -> None:
    """BlockingIOError: another process, or another descriptor of this one, holds it."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:                                     # a file system without locks
        pass


def _is(number: int, file: Path) -> bool:
    """Whether an open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(number), os.stat(file))
    except FileNotFoundError:
        return False
