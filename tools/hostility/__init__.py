"""Hostile input, a file a kind of attack: what `python tools/hostile.py` tries.

Each kind has

    attempt(rng, folder) → Attempt      rng a Generator, folder an empty one of this attempt's own

and is a name in `engine.KINDS`. What an attempt may end in stands in outcome.py.
"""
