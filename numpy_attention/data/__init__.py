"""Sentence pairs and running text: corpora, the user's text, vocabularies and batches."""

from numpy_attention.lazy import exports

__getattr__, __dir__ = exports(__name__, {"load_corpus": "datasets.corpora"})
