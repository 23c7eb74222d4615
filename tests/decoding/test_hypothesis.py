"""Hypotheses, and what every search shares: maximum length, forbidden tokens, errors."""

import numpy as np
import pytest
from tables import Table, V, greedy_and_beam

from numpy_attention.data.vocabulary import BOS, EOS, PAD
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.decoding.hypothesis import Hypothesis, check_penalty, forbid, longest


def test_words_and_score():
    whole = Hypothesis([4, 5, EOS], -6.0, np.zeros((3, 2)))
    cut = Hypothesis([4, 5], -6.0, np.zeros((2, 2)))
    assert whole.finished and whole.words == [4, 5]
    assert not cut.finished and cut.words == [4, 5]
    assert whole.score(0.0) == -6 and whole.score(1.0) == -6 / (8 / 6)
    assert whole.score(0.7) > cut.score(0.7)                    # longer, with equal log p


def test_longest():
    mask = np.array([[True, True], [True, False]])
    assert longest(mask, None).tolist() == [14, 12]
    assert longest(mask, 13).tolist() == [13, 12]
    with pytest.raises(ValueError, match=r"source\[:, 1\] is empty"):
        longest(np.array([[True, False]]), None)
    with pytest.raises(ValueError, match="max_length = 0; expected an integer"):
        longest(mask, 0)


def test_forbid():
    log_p = np.broadcast_to(0.0, (2, 5))            # a model's own array, which is read-only
    found = forbid(log_p)
    assert np.isneginf(found[:, [PAD, BOS]]).all() and not found[:, 2:].any()
    with pytest.raises(ArithmeticError, match="did training diverge"):
        forbid(log_p, range(5))


def test_max_length_is_a_cap(rng):
    """A model that never ends writes max_length words, and never more than 2 S + 10."""
    table = Table(rng, 2)
    source = np.array([[4, 4], [4, 0], [4, 0], [4, 0]])         # 4 words and 1 word
    table.log_p[:, :, EOS] = -1e3
    for max_length, wanted in ((None, [18, 12]), (100, [18, 12]), (18, [18, 12]), (15, [15, 12]),
                               (5, [5, 5]), (1, [1, 1])):
        for found in greedy_and_beam(table, source, max_length):
            assert [len(h.ids) for h in found] == wanted
            assert all((np.diff(h.weights[:, 0]) == 1).all() for h in found)    # one per step


def test_max_length_does_not_lengthen_a_finished_sentence(rng):
    table = Table(rng, 1)
    source = np.full((4, 1), 4)
    table.log_p[:, :, EOS] = np.where(np.arange(V) == BOS, -1e3, 0)         # one word, then </s>
    for max_length in (None, 2, 100):
        assert [len(found[0].ids) for found in greedy_and_beam(table, source, max_length)] == [2, 2]


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("search", [greedy, beam_search])
def test_nonfinite_probabilities_raise(rng, search, bad):
    """A single NaN raises as well, since it shows that training diverged."""
    source = np.full((4, 2), 4)
    table = Table(rng, 2)
    table.log_p[1] = bad
    message = "the model's log p is .*; did training diverge"
    with pytest.raises(ArithmeticError, match=message):
        search(table, source, source > 0)
    table = Table(rng, 2)
    table.log_p[1, 1, V - 1] = np.nan
    with pytest.raises(ArithmeticError, match=message):
        search(table, source, source > 0)


@pytest.mark.parametrize("search", [greedy, beam_search])
def test_forbidding_every_token_raises(rng, search):
    source = np.full((4, 2), 4)
    with pytest.raises(ValueError, match="leaves no token to choose"):
        search(Table(rng, 2), source, source > 0, never=range(2, V))


@pytest.mark.parametrize("penalty, valid", [(100, True), (-100, True), (100.5, False),
                                            (-100.5, False)])
def test_penalty_limits(penalty, valid):
    if valid:
        check_penalty(penalty)
    else:
        with pytest.raises(ValueError, match="length_penalty = .*; expected a number from -100"):
            check_penalty(penalty)


def test_longest_of_an_empty_batch():
    assert longest(np.ones((3, 0), bool), 5).shape == (0,)
