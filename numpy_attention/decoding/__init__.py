"""Search and sampling: greedy search, beam search, random samples.

`protocols` says what a model must have for it.
"""
