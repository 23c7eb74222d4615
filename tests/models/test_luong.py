"""LuongTranslator: every valid score and window, decoding, padding, initial values, errors."""

from dataclasses import replace

import laws
import numpy as np
import pytest

from numpy_attention.attention.config import REFUSED
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.gradcheck.cases.case import V
from numpy_attention.gradcheck.cases.models import PAIRS, luong
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.registry import QUERIES, SCORES, WINDOWS

ALLOWED = [(score, window) for score in SCORES for window in WINDOWS
           if (score, window) not in REFUSED]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("score, window", ALLOWED)
def test_decoding_equals_teacher_forcing_and_beam_1_equals_greedy(rng, score, window, query):
    model = luong(rng, np.float64, attention=score, window=window, bidirectional=score == "dot",
                  query=query)
    weights = model.weights(PAIRS)
    mask = PAIRS.target_mask
    state = model.start(PAIRS.source, PAIRS.source_mask)
    total = 0.0
    for t, tokens in enumerate(PAIRS.target_in):
        log_probs, attended, state = model.next(tokens, state)
        total -= log_probs[np.arange(3), PAIRS.target_out[t]][mask[t]].sum()
        np.testing.assert_allclose(attended[mask[t]], weights[t][mask[t]], atol=1e-13)
    assert total == pytest.approx(model.loss(PAIRS)[0], rel=1e-12)
    beams = beam_search(model, PAIRS.source, PAIRS.source_mask, 1)
    found = greedy(model, PAIRS.source, PAIRS.source_mask)
    assert [h.ids for h in found] == [best[0].ids for best in beams]
    if window != "local-p":
        np.testing.assert_allclose(weights[mask].sum(1), 1)


@pytest.mark.parametrize("settings", [
    {"attention": "general", "cell": "gru"},
    {"attention": "concat", "window": "local-p"},
    {"input_feeding": False, "bidirectional": True, "cell": "rnn", "layers": 3},
    {"query": "previous"},
])
def test_shares_and_padding(rng, settings):
    laws.shares_and_padding(luong(rng, np.float64, **settings), PAIRS)


def test_query_states(rng):
    """h_t has read y_{t−1} and h_{t−1} has not. The first query is the encoder's last state."""
    read = replace(PAIRS, target_in=PAIRS.target_in.copy())
    read.target_in[1] = 8 - read.target_in[1]
    for query, first in (("current", 1), ("previous", 2)):
        model = luong(rng, np.float64, attention="general", query=query)
        changed = np.abs(model.weights(PAIRS) - model.weights(read)).max((1, 2)) > 1e-9
        assert changed.tolist()[:3] == [t >= first for t in range(3)]
        memory, last, _ = model.encode(PAIRS.source, PAIRS.source_mask)
        _, weights, _ = model.attention.step(model.decoder.hidden(last), memory, 0)
        assert np.allclose(weights, model.weights(PAIRS)[0]) == (query == "previous")


def test_query_does_not_change_initial_values():
    current, previous = (
        LuongTranslator.create(np.random.default_rng(0), 8, V, 3, 4, layers=1, query=query)
        for query in QUERIES)
    np.testing.assert_array_equal(current.vector, previous.vector)
    assert (current.query, previous.query) == QUERIES
    default = LuongTranslator.create(np.random.default_rng(0), 8, V, 3, 4, layers=1)
    assert default.query == "current"


def test_invalid_arguments(rng):
    sizes = {"embedding": 3, "hidden": 4, "layers": 1}
    for settings, message in (
            ({"attention": "cosine"}, "expected one of dot"),
            ({"window": "wide"}, "one of global"),
            ({"attention": "location", "window": "local-p"}, "not on the words in a window"),
            ({"attention": "multi-head", "window": "local-p"}, "one set of weights"),
            ({"cell": "elman"}, "expected one of rnn"),
            ({"bidirectional": True, "hidden": 5}, "must be even"),
            ({"window": "local-m", "width": 0}, "width = 0"),
            ({"query": "next"}, "query = 'next'; expected one of 'current', 'previous'"),
            ({"query": None}, "query = None; expected one of 'current', 'previous'"),
            ({"widht": 3}, "widht")):
        with pytest.raises((ValueError, TypeError), match=message):
            LuongTranslator.create(rng, 8, V, **sizes | settings)
    short = luong(rng, np.float64, attention="location", longest=3)
    with pytest.raises(ValueError, match="location attention has weights for only 3"):
        short.loss(PAIRS)


def test_initial_values_of_the_paper_or_with_a_bound(rng):
    sizes = {"embedding": 40, "hidden": 60, "layers": 1, "cell": "gru", "attention": "general"}
    for init, bound in (({}, 0.1), ({"init": 0.3}, 0.3)):
        model = LuongTranslator.create(rng, 8, 9, **sizes, **init)
        for name, array in model.named_parameters():
            if array.ndim == 1:
                assert not array.any(), name
            else:
                assert bound * 0.9 < np.abs(array).max() <= bound, name
    with pytest.raises(ValueError, match="init='old'; expected 'paper', 'modern' or a number b"):
        LuongTranslator.create(rng, 8, 9, **sizes, init="old")


def test_modern_initial_values_match_rnnsearch(rng):
    """The paper's ±0.1 suits its sizes. With init="modern", small models start like RNNSearch."""
    sizes = {"embedding": 40, "hidden": 60, "init": "modern"}
    modern = LuongTranslator.create(rng, 8, 9, layers=1, cell="gru", attention="general", **sizes)
    for cell in (modern.decoder.cells[0], RNNSearch.create(rng, 8, 9, **sizes).decoder):
        block = cell.U[:, :60].astype(np.float64)
        np.testing.assert_allclose(block.T @ block, np.eye(60), atol=1e-5)
        assert np.abs(cell.W).max() == pytest.approx(np.sqrt(6 / (40 + 180)), rel=0.01)
    assert np.abs(modern.W).max() == pytest.approx(np.sqrt(6 / 120), rel=0.01)
    assert modern.target_embedding.E.std() == pytest.approx(0.1, rel=0.2)
