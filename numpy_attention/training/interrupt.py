"""Ctrl-C and its like, so that a step is never left half done."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

# Ctrl-C; a polite end, as `kill` and `timeout` ask for it; the terminal is closed
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP")
                if hasattr(signal, name))


class Stopped(KeyboardInterrupt):
    """A signal has ended the work; number: the signal's."""

    def __init__(self, message: str = "", number: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.number = number


class Interrupt:
    """Turns the first of SIGNALS into a wish to stop, `asked`; the second is a Stopped.

    asked: the signal's number, 0 before there was one. A context manager. Outside of the main
    thread, which alone gets signals, it does nothing; a signal that is ignored, as `nohup` does,
    stays so.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._kept: dict[int, Any] = {}

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._kept[number] = signal.signal(number, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise Stopped("interrupted", number)
        self.asked = number

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        for number, handler in self._kept.items():
            signal.signal(number, handler)
