"""Limits of a search. They count trials, so that the search finds the same on every machine."""

import time
from contextlib import contextmanager
from contextvars import ContextVar

SECONDS = 20.0          # of this thread's time, for slow code


share = ContextVar("share", default=1.0)        # of the usual number of trials


@contextmanager
def limited_search(part):
    """Limit searches in this context to a fraction of their usual trials, such as 0.5."""
    token = share.set(part)
    try:
        yield
    finally:
        share.reset(token)


class Budget:
    """A number of trials, and a time after which none is left."""

    def __init__(self, number):
        self.left = int(number * share.get())
        self.until = time.thread_time() + SECONDS

    @property
    def is_spent(self):
        return self.left <= 0 or time.thread_time() > self.until

    def take(self, number=1):
        self.left -= number
