"""Ctrl-C, so that a step is never left half done."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """Turns the first Ctrl-C into a wish to stop, `asked`; the second is a KeyboardInterrupt.

    A context manager. Outside of the main thread, which alone gets signals, it does nothing.
    """

    def __init__(self) -> None:
        self.asked = False
        self._kept: Any = None

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            self._kept = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if self._kept is not None:
            signal.signal(signal.SIGINT, self._kept)
