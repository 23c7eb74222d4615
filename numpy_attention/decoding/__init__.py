"""From a trained model to words: greedy search, beam search, sampling.

`protocols` says what a model must have for it.
"""
