"""How much a search may try: by number, so that it finds the same on any machine."""

import time

SECONDS = 20.0          # of this thread's time, for code that takes long


class Budget:
    """A number of trials, and a time from which on none is left, whatever the number."""

    def __init__(self, number):
        self.left = number
        self.until = time.thread_time() + SECONDS

    @property
    def is_spent(self):
        return self.left <= 0 or time.thread_time() > self.until

    def take(self, number=1):
        self.left -= number
