"""The standard streams and the signals of a command, whoever has started it and how."""

import os
import signal
import sys
import threading
from types import TracebackType
from typing import Any

# Ctrl-C; a polite end, as `kill` and `timeout` ask for it; the terminal is closed; a polite end, as
# schedulers of clusters ask for it
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")
LEFT = 128 + 13     # the status after SIGPIPE, which ends most programs whose reader has left
SOON = 0.01         # seconds until a stop that Python had to ignore comes again


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


class Signals:
    """While it is entered, the first of SIGNALS is a Stopped: what is half-written goes.

    Those that follow change nothing, so that all is tidied up and told. One that is ignored, as
    `nohup` does, stays so. Only the main thread gets signals. A Stopped within a finalizer, which
    Python ignores, comes again.
    """

    def __init__(self) -> None:
        self._kept: dict[int, Any] = {}
        self._over = False
        self._ignored = sys.unraisablehook
        self._again: threading.Timer | None = None

    def __enter__(self) -> "Signals":
        if threading.current_thread() is threading.main_thread():
            self._ignored = sys.unraisablehook
            sys.unraisablehook = self._repeat
            for number in (getattr(signal, name) for name in SIGNALS if hasattr(signal, name)):
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    self._kept[number] = signal.signal(number, self._stop)
        return self

    def _stop(self, number: int, frame: Any) -> None:
        if self._over:
            return
        self._over = True
        from numpy_attention.training.interrupt import Stopped
        name = signal.Signals(number).name
        raise Stopped("interrupted" if name == "SIGINT" else f"ended by {name}", number)

    def _repeat(self, ignored: Any) -> None:
        """Instead of `Exception ignored in …`: the same signal once more, outside of there."""
        from numpy_attention.training.interrupt import Stopped
        if not isinstance(ignored.exc_value, Stopped):
            self._ignored(ignored)
            return
        self._over = False
        self._again = threading.Timer(SOON, os.kill, [os.getpid(), ignored.exc_value.number])
        self._again.daemon = True
        self._again.start()

    def over(self) -> None:
        """Whatever comes now comes too late."""
        self._over = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if self._again is not None:
            self._again.cancel()
        if self._kept:
            sys.unraisablehook = self._ignored
        for number, handler in self._kept.items():
            signal.signal(number, handler)
