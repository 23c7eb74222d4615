"""Mutants that no test can tell from the code, or need not, and why: {reason: keys}.

A key is what mutate_rooms.py prints after SURVIVED, without its line number; * stands for anything.
One that explains no survivor any more is reported as STALE.
"""

HARMLESS = {}
