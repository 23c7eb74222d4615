"""Handling of Ctrl-C and other signals, so that the first signal does not leave a step half done.

When mpirun receives Ctrl-C or SIGTERM, it sends SIGCONT to all ranks. After a quarter of a second
it sends SIGTERM, and after another quarter it kills the ranks. mpirun passes on SIGUSR1 unchanged,
so a rank that receives it has time for a step and a checkpoint.
"""

import signal
import threading
import time
from types import FrameType
from typing import Any

from numpy_attention.registry import started

# Ctrl-C; `kill` and `timeout`; the terminal is closed; schedulers of clusters
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")
                if hasattr(signal, name))
WARNED = 0.5        # seconds in which SIGTERM follows a warning


class Stopped(KeyboardInterrupt):
    """Raised when a signal has ended the work. number: the number of the signal."""

    def __init__(self, message: str = "", number: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.number = number


class Interrupt:
    """Context manager that records the first signal as a stop request; the second raises Stopped.

    asked: the number of the first signal, or 0 if there was none. warned: whether mpirun has
    announced with SIGCONT that it may soon end this rank. Has no effect outside the main thread.
    """

    def __init__(self) -> None:
        self.asked = 0
        self.warned = False
        self._kept: dict[int, Any] = {}

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._kept[number] = signal.signal(number, self._ask)
            if started()[1] > 1:
                self._kept[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._warn)
        return self

    def _warn(self, number: int, frame: FrameType | None) -> None:
        self.warned = True

    def awaited(self) -> int:
        """Wait up to WARNED seconds for the signal that a SIGCONT announced. Return `asked`."""
        end = time.monotonic() + WARNED
        while not self.asked and time.monotonic() < end:
            time.sleep(0.01)
        self.warned = False
        return self.asked

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise Stopped("interrupted", number)
        self.asked = number

    def __exit__(self, *error: object) -> None:
        for number, handler in self._kept.items():
            signal.signal(number, handler)
