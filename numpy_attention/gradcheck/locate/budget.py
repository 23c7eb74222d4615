"""Limit the number of trials and the processor time of a search."""

import time
from contextlib import contextmanager
from contextvars import ContextVar

SECONDS = 20.0          # processor time of this thread, for slow code


share = ContextVar("share", default=1.0)        # the fraction of the usual number of trials


@contextmanager
def limited_search(part):
    """Inside this context, allow only the fraction `part` of the usual number of trials."""
    token = share.set(part)
    try:
        yield
    finally:
        share.reset(token)


class Budget:
    """The number of edits or loss differences that a search may still try, and its time limit."""

    def __init__(self, number):
        self.left = int(number * share.get())
        self.until = time.thread_time() + SECONDS

    @property
    def is_spent(self):
        return self.left <= 0 or time.thread_time() > self.until

    def take(self, number=1):
        self.left -= number
