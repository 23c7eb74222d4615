"""Decoding: greedy search, beam search and random sampling.

`protocols` defines the methods that a model needs for decoding.
"""

from numpy_attention.lazy import exports

__getattr__, __dir__ = exports(__name__, {"beam_search": "beam"})
