"""The data room: sentence pairs and running text, corpora, own text, vocabularies, batches."""
