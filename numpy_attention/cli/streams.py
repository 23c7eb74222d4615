"""Prepare the standard streams of a command, which may be closed or use any encoding."""

import os
import sys
from typing import Any

LEFT = 128 + 13     # the exit status of a program that SIGPIPE ends


def prepare() -> None:
    """Let standard output and error print any text. Replace closed streams with the null device."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # or a file that is opened later would get the stream's descriptor, and what is printed
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="replace")     # ? if it lacks a letter


def print_error(line: str) -> None:
    """Print a line to standard error, if standard error is still open."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        abandon_if_broken(sys.stderr)


def abandon_if_broken(stream: Any) -> None:
    """Redirect a stream that cannot be written to, so that Python does not complain at exit."""
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
