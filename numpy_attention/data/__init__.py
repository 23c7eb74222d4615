"""The data room: sentence pairs, vocabularies, generators, shipped and downloaded corpora, batches."""
