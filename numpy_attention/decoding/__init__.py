"""From a trained model to words: greedy search, beam search, sampling."""
