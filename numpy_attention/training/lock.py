"""A lock, so that only one training run writes a checkpoint. The lock always ends with its process.

The system (flock) locks an empty file next to the checkpoint. If a process is killed, the file
remains, but the lock is gone. If the system or the file system has no such locks (Windows, some
network drives), no lock is taken.
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
def held(path: str | Path, what: str = "training run") -> Iterator[None]:
    """Context manager that holds the lock of the file `path`, and creates the file's folder.

    what: the kind of process, for messages. Raises BlockingIOError if another process holds the
    lock, and OSError if the lock file cannot be written.
    """
    if fcntl is None:
        yield
        return
    file = _lock_file(path)
    make_folder(file.parent)
    while True:
        with path_errors(file, "written"):
            number = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(number)
            raise BlockingIOError(f"another {what} is using {path}; wait until it ends, or choose "
                                  "another folder") from None
        except OSError:                                 # a file system without locks
            pass
        if _is_open_as(number, file):
            break
        os.close(number)                                # its holder has removed it meanwhile
    try:
        yield
    finally:
        file.unlink(missing_ok=True)                    # while it is locked
        os.close(number)


def check_free(path: str | Path) -> None:
    """Raise BlockingIOError if a training run holds the lock of the file `path`."""
    if exists(_lock_file(path)):
        with held(path):
            pass


def _lock_file(path: str | Path) -> Path:
    return Path(path).with_name(f"{Path(path).name}.lock")


def _is_open_as(number: int, file: Path) -> bool:
    """Return whether the open file with the descriptor `number` is still the one at path `file`."""
    try:
        return os.path.samestat(os.fstat(number), os.stat(file))
    except FileNotFoundError:
        return False
