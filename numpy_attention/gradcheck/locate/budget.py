"""How much a search may try: by number, so that it finds the same on any machine."""

import time
from contextlib import contextmanager
from contextvars import ContextVar

SECONDS = 20.0          # of this thread's time, for code that takes long


share = ContextVar("share", default=1.0)        # of its trials that a search may make


@contextmanager
def fewer_trials(part):
    """Within it, a search tries this part of what it would: 0.5, half as much."""
    token = share.set(part)
    try:
        yield
    finally:
        share.reset(token)


class Budget:
    """A number of trials, and a time from which on none is left, whatever the number."""

    def __init__(self, number):
        self.left = int(number * share.get())
        self.until = time.thread_time() + SECONDS

    @property
    def is_spent(self):
        return self.left <= 0 or time.thread_time() > self.until

    def take(self, number=1):
        self.left -= number
