"""Limits of a search: a number of trials, equal on all machines, and a time for slow code.

A trial is one edit that is tried, or one difference of the loss.
"""

import time
from contextlib import contextmanager
from contextvars import ContextVar

SECONDS = 20.0          # processor time of this thread, for slow code


share = ContextVar("share", default=1.0)        # the fraction of the usual number of trials


@contextmanager
def limited_search(part):
    """Inside this context, limit searches to the fraction `part` of the usual number of trials."""
    token = share.set(part)
    try:
        yield
    finally:
        share.reset(token)


class Budget:
    """The number of trials that a search may still make, and the time at which it must end."""

    def __init__(self, number):
        self.left = int(number * share.get())
        self.until = time.thread_time() + SECONDS

    @property
    def is_spent(self):
        return self.left <= 0 or time.thread_time() > self.until

    def take(self, number=1):
        self.left -= number
