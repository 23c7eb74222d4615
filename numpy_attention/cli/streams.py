"""The standard streams and the signals of a command, whoever has started it and how."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

# a polite end, as `kill` and `timeout` ask for it; the terminal is closed
SIGNALS = ("SIGTERM", "SIGHUP")


def prepare() -> None:
    """Let every stream take any text, and lead nowhere where it is closed.

    Else a file that is opened later would get its number, and what is printed would stand in it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")    # a terminal that lacks a letter shows ? for it


def say(line: str) -> None:
    """Print a line for the person at the terminal, if there is still one."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        abandon_if_broken(sys.stderr)


def abandon_if_broken(stream: Any) -> None:
    """Let a stream that cannot be written to lead nowhere, or Python complains when it ends."""
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Within it, SIGNALS are a Stopped, as Ctrl-C is a KeyboardInterrupt: half-written files go.

    One that is ignored, as `nohup` does, stays so. Only the main thread gets signals.
    """
    kept: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name) for name in SIGNALS if hasattr(signal, name)):
            if signal.getsignal(number) == signal.SIG_DFL:
                kept[number] = signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _stop(number: int, frame: Any) -> NoReturn:
    from numpy_attention.training.interrupt import Stopped
    raise Stopped(f"ended by {signal.Signals(number).name}", number)
