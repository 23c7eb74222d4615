"""A command run in this process, and what it ends in: its exit status, its one line, its files."""

import contextlib
import io
import os
import sys
from pathlib import Path

from hostility.outcome import LONGEST, PACKAGE, REFUSED, RIGHT, Outcome, raised_at, shortened

from numpy_attention.cli import main as cli

ERROR = "numpy-attention: error: "
# raised by whatever needs the memory, or the library: the command line says what to do
SAID_AROUND = (MemoryError, SystemError, ImportError)


def streams(text=b""):
    """→ stdin with these bytes, stdout and stderr to be read again."""
    return [io.TextIOWrapper(io.BytesIO(part), encoding="utf-8") for part in (text, b"", b"")]


def outcome(arguments, text=b"", folder=None):
    """The Outcome of a command line, with these bytes on the standard input, within a folder.

    RIGHT: it ended with 0, or 1 for a failed check. REFUSED: with 2 and one clear line that the
    package raised. Whatever it ends in, no half-written file may be left.
    """
    found = []
    tell = cli.tell

    def telling(message, known):
        found.append(sys.exc_info()[1])
        return tell(message, known)

    stdin, stdout, stderr = streams(text)
    kept = sys.stdin
    sys.stdin = stdin
    cli.tell = telling
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            status = ended(cli.main, [str(argument) for argument in arguments])
    finally:
        cli.tell = tell
        sys.stdin = kept
    told = text_of(stderr)
    left = halves(folder) if folder is not None else []
    if left:
        return Outcome("silence", f"left half-written: {', '.join(left)}")
    if found:
        return of_error(status, told, found[0])
    return of_end(status, told)


def ended(main, arguments):
    """The exit status of a command; argparse leaves --help with SystemExit."""
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code or 0


def text_of(stream):
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")


def of_error(status, told, error):
    """Of a command that told an error, which must be one line of the package's own."""
    lines = [line for line in told.splitlines() if line.startswith(ERROR)]
    if status != 2 or len(lines) != 1 or told.splitlines()[-1] != lines[0]:
        return Outcome("traceback", f"status {status}, not one line: {shortened(told)}")
    if len(lines[0]) > LONGEST + len(ERROR):
        return Outcome("traceback", f"a line of {len(lines[0])} characters: {shortened(lines[0])}")
    where, line = raised_at(error)
    own = Path(where.rpartition(":")[0]).is_relative_to(PACKAGE) and line.startswith("raise ")
    if own or isinstance(error, SAID_AROUND):
        return Outcome(REFUSED, lines[0].removeprefix("numpy-attention: "))
    return Outcome("traceback", f"{type(error).__name__} at {where} ({line}): {shortened(told)}")


def of_end(status, told):
    if status not in (0, 1, 130, 141) or "Traceback" in told:
        return Outcome("traceback", f"status {status}: {shortened(told)}")
    return Outcome(RIGHT, f"status {status}")


def halves(folder):
    """The names of files under a folder that somebody has begun to write."""
    return [str(Path(where, name)) for where, _, names in os.walk(folder) for name in names
            if name.endswith((".partial", ".tmp"))]
