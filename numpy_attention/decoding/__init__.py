"""From a trained translator to words: greedy search and beam search."""
