"""Decoding: greedy search, beam search and random sampling.

`protocols` defines the methods that a model needs for decoding.
"""
