"""Sentence pairs and running text: corpora, the user's own text, vocabularies, batches."""
