"""A limit on processor time within a process, which ends endless loops."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 0.5       # time limit for a mistake; one with an endless loop cannot be recognized


def is_possible() -> bool:
    """Return whether a time limit can be set: only in the main thread, and never on Windows."""
    return (hasattr(signal, "setitimer")
            and threading.current_thread() is threading.main_thread())


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Context manager that raises TimeoutError after this many seconds of processor time."""
    def over(*_: object) -> None:
        raise TimeoutError(f"it takes longer than {seconds:g} seconds")
    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
