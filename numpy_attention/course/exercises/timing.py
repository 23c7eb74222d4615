"""A limit of processor time within one process: an endless loop ends."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 1.0       # for a mistake: an endless loop is none that could be told


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """TimeoutError within it after so many seconds of processor time: an endless loop."""
    def over(*_: object) -> None:
        raise TimeoutError(f"it takes longer than {seconds:g} seconds")
    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
