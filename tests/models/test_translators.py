"""RNNSearch and EncoderDecoder: laws of whole models, decoding beside teacher forcing, refusals."""

import laws
import numpy as np
import pytest

from numpy_attention.attention.local import LocalMonotonic
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.checks.models import MODERN, PAIRS, PAPER, translator
from numpy_attention.data.batching import pair_batch
from numpy_attention.gradcheck import gradcheck
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.rnnsearch import RNNSearch

each = pytest.mark.parametrize("model, settings", [(RNNSearch, PAPER), (RNNSearch, MODERN), (EncoderDecoder, PAPER),
                                                   (EncoderDecoder, MODERN)])


def results(model, batch, seed=4):
    t, weights, cache = model.forward(batch, np.random.default_rng(seed))
    grad = model.zeros_like()
    loss, _ = model.loss_and_grad(batch, None, 0.5, grad, np.random.default_rng(seed))
    return {"t": t, "weights": weights, "loss": np.array(loss), "grad": grad.vector}


@each
def test_padding_changes_nothing(rng, model, settings):
    model = translator(rng, np.float64, model, **settings)
    S, T = len(PAIRS.source), len(PAIRS.target_in)
    short, long = results(model, PAIRS), results(model, laws.padded(PAIRS))
    assert not long["weights"][:, :, S:].any()
    assert (short["weights"][2:, 2] == short["weights"][2, 2]).all()    # the third has two words: its state waits
    laws.padding_changes_nothing(short, long, lambda r: r | {"weights": r["weights"][:T, :, :S]})


@each
@pytest.mark.parametrize("n", [2, 3])
def test_shares_add_up(rng, model, settings, n):
    model = translator(rng, np.float64, model, **(settings | {"dropout": 0.3}))
    laws.shares_add_up(model, PAIRS, n)


@each
def test_a_sentence_does_not_depend_on_its_batch(rng, model, settings):
    model = translator(rng, np.float64, model, **settings)
    whole = sum(model.loss(PAIRS.share(k, 3))[0] for k in range(3))
    assert whole == pytest.approx(model.loss(PAIRS)[0], rel=1e-12)


@each
def test_loss_and_scale(rng, model, settings):
    model = translator(rng, np.float64, model, **(settings | {"dropout": 0.0}))
    twins = [model.zeros_like(), model.zeros_like()]
    losses = [model.loss_and_grad(PAIRS, None, scale, twin)[0] for scale, twin in zip((1.0, 0.25), twins)]
    assert losses[0] == losses[1] == pytest.approx(model.loss(PAIRS)[0], rel=1e-13)     # the loss itself is not scaled
    np.testing.assert_allclose(twins[0].vector, 4 * twins[1].vector, rtol=1e-12)


@each
def test_decoding_gives_what_teacher_forcing_gives(rng, model, settings):
    walks_alike(translator(rng, np.float64, model, **settings))


def test_a_window_that_runs_along_is_told_where_it_is(rng):
    """local-m around RNNsearch's own attention: word i looks at positions i − 1 to i + 1, in training and decoding."""
    model = translator(rng, np.float64, RNNSearch, **(MODERN | {"dropout": 0.0}))
    model.attention = LocalMonotonic(model.attention, width=1)
    weights = walks_alike(model)
    S, T = len(PAIRS.source), int(PAIRS.target_mask[:, 0].sum())
    for i in range(T):
        centre = min(i, S - 1)
        assert np.flatnonzero(weights[i, 0]).tolist() == [s for s in range(S) if abs(s - centre) <= 1]
    gradcheck(model, rng=rng, forward=lambda: model.forward(PAIRS),
              backward=lambda *gradients: model.backward(*gradients) or ())


def test_several_heads_may_ask_in_rnnsearch(rng):
    model = translator(rng, np.float64, RNNSearch, **(MODERN | {"dropout": 0.0}))
    model.attention = MultiHeadAttention.create(rng, 4, 8, outputs=8, heads=2, dtype=np.float64)
    walks_alike(model)
    gradcheck(model, rng=rng, forward=lambda: model.forward(PAIRS),
              backward=lambda *gradients: model.backward(*gradients) or ())


def walks_alike(model):
    """next, fed the reference, walks through the same states as forward; → forward's weights."""
    _, weights, _ = model.forward(PAIRS)
    state, total = model.start(PAIRS.source, PAIRS.source_mask), 0.0
    for i, tokens in enumerate(PAIRS.target_in):
        log_probs, looked, state = model.next(tokens, state)
        np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=1e-12)
        real = PAIRS.target_mask[i]
        np.testing.assert_allclose(looked[real], weights[i][real], atol=1e-13)
        total -= log_probs[np.arange(3), PAIRS.target_out[i]][real].sum()
        order = np.array([2, 0, 1])                                     # hypotheses may change places on the way
        swapped = model.next(tokens[order], state.take(order))[0]
        np.testing.assert_allclose(swapped, model.next(tokens, state)[0][order], atol=1e-13)
    assert total == pytest.approx(model.loss(PAIRS)[0], rel=1e-12)
    return weights


@each
@pytest.mark.parametrize("length", [1, 500])
def test_long_sentences_in_float32_are_what_float64_gives(model, settings, length):
    ids = np.random.default_rng(0).integers(4, 8, (2, length))
    batch = pair_batch([list(ids[0]), [5]], [list(ids[1]), [4, 4]])
    figures = []
    for dtype in (np.float64, np.float32):
        made = model.create(np.random.default_rng(1), 8, 9, embedding=3, hidden=4, maxout=2, init="modern",
                            dtype=dtype, **settings)
        figures.append(results(made, batch))
    assert figures[1]["grad"].dtype == figures[1]["weights"].dtype == np.float32
    laws.assert_close(figures[1], figures[0], 1e-4)


def test_readouts_differ_only_in_the_state_they_read(rng):
    models = [translator(np.random.default_rng(1), np.float64, RNNSearch, readout=r) for r in ("previous", "current")]
    assert (models[0].vector == models[1].vector).all()
    (t, weights, _), (other_t, other_weights, _) = (model.forward(PAIRS) for model in models)
    assert (weights == other_weights).all() and not np.allclose(t, other_t)


def test_the_first_state_and_the_first_context_by_hand(rng):
    """s_0 = tanh(W_s ←h_1), read from the first word's annotation; an EncoderDecoder reads →h_T."""
    for kind in (RNNSearch, EncoderDecoder):
        model = translator(rng, np.float64, kind)
        memory, s_0, _ = model.encode(PAIRS.source, PAIRS.source_mask)
        H = len(model.W_s)
        last = memory.values[:, 0, H:] if kind is RNNSearch else memory.values[range(3), PAIRS.source_mask.sum(0) - 1]
        np.testing.assert_allclose(s_0, np.tanh(last @ model.W_s + model.b_s), atol=1e-14)


def test_the_papers_initial_values():
    model = RNNSearch.create(np.random.default_rng(0), 50, 60, embedding=20, hidden=30)
    assert model.size == RNNSearch.create(np.random.default_rng(1), 50, 60, embedding=20, hidden=30).size
    assert not model.attention.v_a.any() and model.attention.W_a.std() == pytest.approx(0.001, rel=0.1)
    assert model.output.words.E.std() == pytest.approx(0.01, rel=0.1) and model.dtype == np.float32
    U = model.decoder.U[:, :30]
    np.testing.assert_allclose(U.T @ U, np.eye(30), atol=1e-5)
    _, weights, _ = model.forward(PAIRS)
    np.testing.assert_allclose(weights[0, 0, :4], 0.25, atol=1e-6)      # v_a = 0: all positions alike at first


def test_what_is_refused(rng):
    model = translator(rng, np.float64, RNNSearch)
    with pytest.raises(ValueError, match="readout='both'"):
        RNNSearch.create(rng, 8, 9, embedding=3, hidden=4, readout="both")
    for kind in (RNNSearch, EncoderDecoder):
        with pytest.raises(ValueError, match="init='none'"):
            kind.create(rng, 8, 9, init="none")
    empty = PAIRS.source.copy()
    empty[:, 1] = 0
    with pytest.raises(ValueError, match="a source sentence of the batch is empty"):
        model.start(empty, empty != 0)
    outside = PAIRS.source.copy()
    outside[0, 0] = 8
    with pytest.raises(ValueError, match="holds the id 8, expected 0 to 7"):
        model.start(outside, outside != 0)
