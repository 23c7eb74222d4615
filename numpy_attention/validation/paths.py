"""Files and folders that a user names. Each error message is one line with the path.

Messages of the system ("[Errno 40] …") are reworded. A file that is read must be a regular file,
because reading a pipe or a device might never end.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from numpy_attention.validation.messages import short_repr, typed_repr

LONGEST = 120       # characters of a path in a message
PARTIAL = ".partial"            # suffix of a file that is being written
# names of special files by the bits of their mode
OTHERS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
ADVICE = {
    errno.EACCES: "Change the permissions, or use another path",
    errno.ELOOP: "A link points to itself; use another path",
    errno.ENAMETOOLONG: "Use a shorter name",
    errno.ENOTDIR: "One of its parents is a file; use another path",
    errno.ENOSPC: "Free some space, or use another place",
    errno.EDQUOT: "Free some space, or use another place",
    errno.EFBIG: "Allow larger files, or use another place",
    errno.EROFS: "Use another place",
}


@contextmanager
def path_errors(path: str | Path, done: str) -> Iterator[None]:
    """Context manager that rewords a system error as "PATH cannot be DONE", with the reason."""
    try:
        yield
    except OSError as error:
        if error.errno is None:                     # raised by this library, with a full message
            raise
        reason = os.strerror(error.errno)
        advice = ADVICE.get(error.errno, "Use another path")
        raise type(error)(f"{short_path(path)} cannot be {done}: {reason}. {advice}") from None


def as_path(path: Any, name: str = "path", kind: str = "file or folder") -> Path:
    """Return a str or Path as a Path. name, kind: what error messages call the argument.

    Raises TypeError for any other type, and ValueError for an invalid name.
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise TypeError(f"{name} is {typed_repr(path)}; expected a str or a Path")
    if text == "":
        raise ValueError(f"{name} is empty; expected the name of a {kind}")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded or max(map(len, encoded.split(os.sep.encode()))) > 255:
        fault = "an invalid character" if b"\0" in encoded else "a name of more than 255 bytes"
        raise ValueError(f"{name} {short_repr(text)} contains {fault}; use another name")
    return Path(text)


def existing_file(path: str | Path) -> Path:
    """Return the Path of a regular file, or of a link to one.

    Raises FileNotFoundError if the file does not exist, IsADirectoryError for a folder, ValueError
    for a pipe, a device, a socket or an impossible name, and OSError if the path cannot be reached.
    """
    path = as_path(path, kind="file")
    mode = mode_of(path)
    if mode is None:
        raise FileNotFoundError(
            f"{short_path(path)} does not exist; check the spelling and the folder")
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{short_path(path)} is a folder; pass the path of a file")
    if not stat.S_ISREG(mode):
        kind = OTHERS.get(stat.S_IFMT(mode), "not a file")
        raise ValueError(f"{short_path(path)} is {kind}; pass the path of a regular file")
    return path


def exists(path: str | Path) -> bool:
    """Return whether the path exists. Raises OSError for a loop of symbolic links."""
    return mode_of(as_path(path)) is not None


def is_folder(path: str | Path) -> bool:
    """Return whether the path is a folder. Raises OSError for a loop of symbolic links."""
    mode = mode_of(as_path(path))
    return mode is not None and stat.S_ISDIR(mode)


def make_folder(path: str | Path) -> Path:
    """Create a folder and its parents if missing; return its Path. Raises OSError if this fails."""
    path = as_path(path)
    with path_errors(path, "created"):
        mode = mode_of(path, "created")
        if mode is None:
            path.mkdir(parents=True, exist_ok=True)
    if mode is not None and not stat.S_ISDIR(mode):
        raise NotADirectoryError(f"{short_path(path)} is a file; pass the path of a folder")
    return path


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Context manager that yields an open, new file. At the end, the file replaces `path`.

    Missing folders are created. After an error, an existing file is unchanged. A device or pipe is
    opened and written directly. Raises OSError if the file cannot be written.
    """
    path = as_path(path)
    make_folder(path.parent)
    with path_errors(path, "written"):
        mode = mode_of(path, "written")
        if mode is not None and stat.S_IFMT(mode) in OTHERS:
            with open(path, "wb") as file:
                yield file
            return
        partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
        try:
            with open(partial, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)


def short_path(path: str | Path) -> str:
    """Return a path for a message. A long path is cut at its beginning."""
    text = str(path)
    return text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"


def mode_of(path: Path, done: str = "read") -> int | None:
    """Return the mode of a file, or None if it does not exist. done: see `path_errors`."""
    with path_errors(path, done):
        try:
            return os.stat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
