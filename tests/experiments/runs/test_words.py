"""Weights of ids as weights of words, by hand."""

import numpy as np

from numpy_attention.experiments.runs.words import in_words, turned


def test_a_source_read_from_its_end():
    assert turned(np.array([[0.1, 0.2, 0.3, 0.4]])).tolist() == [[0.3, 0.2, 0.1, 0.4]]
    assert turned(np.array([[1.0]])).tolist() == [[1.0]]


def test_sums_over_source_pieces_and_means_over_target_pieces():
    weights = np.array([[0.1, 0.2, 0.3, 0.4],           # the first word's first piece
                        [0.5, 0.1, 0.3, 0.1],           # and its second
                        [0.0, 0.0, 0.0, 1.0]])          # </s>
    found = in_words(weights, columns=[0, 0, 1, 2], rows=[0, 0, 1])
    np.testing.assert_allclose(found, [[0.45, 0.3, 0.25], [0, 0, 1]], rtol=1e-15)
    assert in_words(weights.astype(np.float32), [0, 0, 1, 2], [0, 0, 1]).dtype == np.float32


def test_cut_off_before_the_end():
    found = in_words(np.array([[0.25, 0.75], [0.75, 0.25]]), columns=[0, 1], rows=[0, 0])
    np.testing.assert_allclose(found, [[0.5, 0.5]])
