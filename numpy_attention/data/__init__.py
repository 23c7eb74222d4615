"""Sentence pairs and running text: corpora, the user's text, vocabularies and batches."""
