"""LuongTranslator: every score with every window it allows, decoding step by step, shares, padding, refusals."""

import laws
import numpy as np
import pytest

from numpy_attention.checks.case import V
from numpy_attention.checks.models import PAIRS, luong
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.models.luong import SCORES, WINDOWS, LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch

ALLOWED = [(score, window) for score in SCORES for window in WINDOWS
           if window == "global" or (score, window) == ("multi-head", "local-m") or score not in ("location", "multi-head")]


@pytest.mark.parametrize("score, window", ALLOWED)
def test_word_by_word_is_teacher_forcing_and_beam_one_is_greedy(rng, score, window):
    model = luong(rng, np.float64, attention=score, window=window, D=2, bidirectional=score == "dot")
    weights, mask = model.weights(PAIRS), PAIRS.target_mask
    state, total = model.start(PAIRS.source, PAIRS.source_mask), 0.0
    for t, tokens in enumerate(PAIRS.target_in):
        log_probs, looked, state = model.next(tokens, state)
        total -= log_probs[np.arange(3), PAIRS.target_out[t]][mask[t]].sum()
        np.testing.assert_allclose(looked[mask[t]], weights[t][mask[t]], atol=1e-13)
    assert total == pytest.approx(model.loss(PAIRS)[0], rel=1e-12)
    assert [h.ids for h in greedy(model, PAIRS.source, PAIRS.source_mask)] \
        == [best[0].ids for best in beam_search(model, PAIRS.source, PAIRS.source_mask, 1)]
    if window != "local-p":
        np.testing.assert_allclose(weights[mask].sum(1), 1)


@pytest.mark.parametrize("settings", [dict(attention="general", cell="gru"), dict(attention="concat", window="local-p"),
                                      dict(input_feeding=False, bidirectional=True, cell="rnn", layers=3)])
def test_shares_and_padding(rng, settings):
    laws.shares_and_padding(luong(rng, np.float64, **settings), PAIRS)


def test_refusals(rng):
    for settings, message in ((dict(attention="cosine"), "expected one of dot"), (dict(window="wide"), "one of global"),
                              (dict(attention="location", window="local-p"), "nothing for a window to choose"),
                              (dict(attention="multi-head", window="local-p"), "the weights of one sum"),
                              (dict(cell="elman"), "expected one of rnn"), (dict(bidirectional=True, hidden=5), "even number"),
                              (dict(window="local-m", D=0), "width = 0")):
        with pytest.raises(ValueError, match=message):
            LuongTranslator.create(rng, 8, V, **dict(embedding=3, hidden=4, layers=1) | settings)
    short = luong(rng, np.float64, attention="location", longest=3)
    with pytest.raises(ValueError, match="location attention has columns for 3"):
        short.loss(PAIRS)


def test_initial_values_by_name(rng):
    """Luong's ±0.1 for the paper's sizes; for small ones the same values as RNNSearch has, so that rows can be compared."""
    sizes = dict(embedding=40, hidden=60, layers=1, cell="gru", attention="general")
    paper, given, modern = (LuongTranslator.create(rng, 8, 9, **sizes, **init)
                            for init in ({}, {"init": 0.3}, {"init": "modern"}))
    for model, bound in ((paper, 0.1), (given, 0.3)):
        for name, array in model.named_parameters():
            assert not array.any() if array.ndim == 1 else bound * 0.9 < np.abs(array).max() <= bound, name
    for cell in (modern.decoder.cells[0], RNNSearch.create(rng, 8, 9, embedding=40, hidden=60, init="modern").decoder):
        block = cell.U[:, :60].astype(np.float64)
        np.testing.assert_allclose(block.T @ block, np.eye(60), atol=1e-5)
        assert np.abs(cell.W).max() == pytest.approx(np.sqrt(6 / (40 + 180)), rel=0.01)
    assert np.abs(modern.W).max() == pytest.approx(np.sqrt(6 / 120), rel=0.01)
    assert modern.target_embedding.E.std() == pytest.approx(0.1, rel=0.2)
    with pytest.raises(ValueError, match="init='old': expected 'paper', 'modern' or b"):
        LuongTranslator.create(rng, 8, 9, **sizes, init="old")
