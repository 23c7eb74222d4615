"""Handling of signals to a command, so that the first signal ends the command in an orderly way."""

import os
import signal
import sys
import threading
from types import TracebackType
from typing import Any

from numpy_attention.training.interrupt import SIGNALS, Stopped

SOON = 0.01         # seconds until a signal that Python had to ignore is sent again


class Signals:
    """Context manager in which the first signal raises Stopped, and later signals are ignored."""

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self._over = False
        self._hook = sys.unraisablehook
        self._again: threading.Timer | None = None

    def __enter__(self) -> "Signals":
        if threading.current_thread() is threading.main_thread():
            sys.unraisablehook = self._repeat       # Python ignores what a finalizer raises
            for number in SIGNALS:
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    self._handlers[number] = signal.signal(number, self._stop)
        return self

    def _stop(self, number: int, frame: Any) -> None:
        if not self._over:
            self._over = True
            name = signal.Signals(number).name
            raise Stopped("interrupted" if name == "SIGINT" else f"ended by {name}", number)

    def _repeat(self, ignored: Any) -> None:
        """Replace sys.unraisablehook: if the ignored error is a Stopped, send its signal again."""
        if not isinstance(ignored.exc_value, Stopped):
            self._hook(ignored)
            return
        self._over = False
        self._again = threading.Timer(SOON, os.kill, [os.getpid(), ignored.exc_value.number])
        try:
            self._again.start()
        except Stopped:                 # it took longer than SOON to start the timer
            self._repeat(ignored)

    def over(self) -> None:
        """Ignore all later signals."""
        self._over = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if self._again is not None:
            self._again.cancel()
        if self._handlers:
            sys.unraisablehook = self._hook
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
