"""RNNSearch and EncoderDecoder: laws, decoding compared with teacher forcing, errors."""

import laws
import numpy as np
import pytest

from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.local import LocalMonotonic
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.stacked import Stacked
from numpy_attention.data.batching import pair_batch
from numpy_attention.gradcheck import gradcheck, numeric_gradient
from numpy_attention.gradcheck.cases.models import (
    PAIRS,
    PAPER,
    SMALL_MODEL_DEFAULTS,
    translator,
    with_decoder,
)
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.registry import settings_of
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.registry import SCORES

DEEP = SMALL_MODEL_DEFAULTS | {"layers": 2}
FORMS = [(RNNSearch, PAPER), (RNNSearch, SMALL_MODEL_DEFAULTS), (RNNSearch, DEEP),
         (EncoderDecoder, PAPER), (EncoderDecoder, SMALL_MODEL_DEFAULTS)]
each = pytest.mark.parametrize("model, settings", FORMS)


def results(model, batch, seed=4):
    t, weights, cache = model.forward(batch, np.random.default_rng(seed))
    grads = model.zeros_like()
    loss, _ = model.loss_and_grad(batch, None, 0.5, grads, np.random.default_rng(seed))
    return {"t": t, "weights": weights, "loss": np.array(loss), "grads": grads.vector}


@each
def test_padding_changes_nothing(rng, model, settings):
    model = translator(rng, np.float64, model, **settings)
    S = len(PAIRS.source)
    T = len(PAIRS.target_in)
    short = results(model, PAIRS)
    long = results(model, laws.padded(PAIRS))
    assert not long["weights"][:, :, S:].any()
    # the third sentence has two words, so its state no longer changes
    assert (short["weights"][2:, 2] == short["weights"][2, 2]).all()
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
    full = model.zeros_like()
    quarter = model.zeros_like()
    loss, _ = model.loss_and_grad(PAIRS, None, 1.0, full)
    scaled, _ = model.loss_and_grad(PAIRS, None, 0.25, quarter)
    assert loss == scaled == pytest.approx(model.loss(PAIRS)[0], rel=1e-13)     # not scaled
    np.testing.assert_allclose(full.vector, 4 * quarter.vector, rtol=1e-12)


@each
def test_decoding_equals_teacher_forcing(rng, model, settings):
    check_decoding(translator(rng, np.float64, model, **settings))


def test_lstm_decoder(rng):
    check_decoding(with_decoder(rng, np.float64, RNNSearch, LSTM))


@pytest.mark.parametrize("score", SCORES)
def test_every_score(rng, score):
    settings = SMALL_MODEL_DEFAULTS | {"dropout": 0.0, "attention": score}
    one_way = translator(rng, np.float64, RNNSearch, bidirectional=False, **settings)
    check_decoding(one_way)
    if score == "dot":                      # queries of size 4, annotations of size 2 · 4
        with pytest.raises(ValueError, match="query_size .4. must equal value_size .8. .* choose "
                                             "attention = 'general' or 'scaled-dot'"):
            translator(rng, np.float64, RNNSearch, **settings)
        return
    both_ways = translator(rng, np.float64, RNNSearch, **settings)
    check_decoding(both_ways)
    if score == "scaled-dot":
        assert one_way.attention.W_a is None
        assert both_ways.attention.W_a.shape == (4, 8)


def test_local_window_follows_the_position(rng):
    """With local-m, word i attends to positions i − 1 to i + 1, in training and decoding."""
    settings = SMALL_MODEL_DEFAULTS | {"dropout": 0.0}
    model = translator(rng, np.float64, RNNSearch, window="local-m", width=1, **settings)
    assert isinstance(model.attention, LocalMonotonic)
    weights = check_decoding(model)
    S = len(PAIRS.source)
    T = int(PAIRS.target_mask[:, 0].sum())
    for i in range(T):
        centre = min(i, S - 1)
        visible = [s for s in range(S) if abs(s - centre) <= 1]
        assert np.flatnonzero(weights[i, 0]).tolist() == visible
    check_gradients(model, rng)


def test_attention_instance(rng):
    attention = MultiHeadAttention.create(rng, 4, 8, outputs=8, heads=2, dtype=np.float64)
    settings = SMALL_MODEL_DEFAULTS | {"dropout": 0.0, "attention": attention}
    model = translator(rng, np.float64, RNNSearch, **settings)
    assert model.attention is attention
    check_decoding(model)
    check_gradients(model, rng)


def check_gradients(model, rng):
    def backward(*gradients):
        model.backward(*gradients)
        return ()
    gradcheck(model, rng=rng, forward=lambda: model.forward(PAIRS), backward=backward)


def check_decoding(model):
    """Check that `next`, given the reference, equals `forward`, and return its weights."""
    _, weights, _ = model.forward(PAIRS)
    state = model.start(PAIRS.source, PAIRS.source_mask)
    total = 0.0
    for i, tokens in enumerate(PAIRS.target_in):
        before = state
        log_probs, attended, state = model.next(tokens, before)
        np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=1e-12)
        real = PAIRS.target_mask[i]
        np.testing.assert_allclose(attended[real], weights[i][real], atol=1e-13)
        total -= log_probs[np.arange(3), PAIRS.target_out[i]][real].sum()
        order = np.array([2, 0, 1])                     # beam search reorders hypotheses
        swapped, _, _ = model.next(tokens[order], before.take(order))
        np.testing.assert_allclose(swapped, log_probs[order], atol=1e-13)
    assert total == pytest.approx(model.loss(PAIRS)[0], rel=1e-12)
    return weights


@each
@pytest.mark.parametrize("length", [1, 500])
def test_long_sentences_in_float32_agree_with_float64(model, settings, length):
    ids = np.random.default_rng(0).integers(4, 8, (2, length))
    batch = pair_batch([list(ids[0]), [5]], [list(ids[1]), [4, 4]])
    found = []
    for dtype in (np.float64, np.float32):
        built = model.create(np.random.default_rng(1), 8, 9, embedding=3, hidden=4, maxout=2,
                             init="modern", dtype=dtype, **settings)
        found.append(results(built, batch))
    assert found[1]["grads"].dtype == found[1]["weights"].dtype == np.float32
    laws.assert_close(found[1], found[0], 1e-4)


def test_readouts_differ_only_in_the_state_they_read():
    previous, current = (translator(np.random.default_rng(1), np.float64, RNNSearch, readout=which)
                         for which in ("previous", "current"))
    assert (previous.vector == current.vector).all()
    t, weights, _ = previous.forward(PAIRS)
    other_t, other_weights, _ = current.forward(PAIRS)
    assert (weights == other_weights).all() and not np.allclose(t, other_t)


@pytest.mark.parametrize("kind", [RNNSearch, EncoderDecoder])
@pytest.mark.parametrize("layers", [1, 2])
def test_initial_decoder_state(rng, kind, layers):
    """s_0 = tanh(W_s ←h_1), from the first annotation. An EncoderDecoder uses →h_T."""
    model = translator(rng, np.float64, kind, layers=layers)
    memory, s_0, _ = model.encode(PAIRS.source, PAIRS.source_mask)
    H = len(model.W_s)
    last_words = PAIRS.source_mask.sum(0) - 1
    last = memory.values[:, 0, H:] if kind is RNNSearch else memory.values[range(3), last_words]
    np.testing.assert_allclose(s_0, np.tanh(last @ model.W_s + model.b_s), atol=1e-14)
    states = model.start(PAIRS.source, PAIRS.source_mask).states
    assert isinstance(model.decoder, Stacked) == isinstance(states, tuple) == (layers == 2)
    np.testing.assert_array_equal(np.concatenate(states, 1) if layers == 2 else states, s_0)


def test_label_smoothing(rng):
    model = translator(rng, np.float64, RNNSearch, **PAPER, smoothing=0.2)

    def loss_and_grads():
        grads = model.zeros_like()
        return model.loss_and_grad(PAIRS, None, 1.0, grads)[0], grads

    loss, grads = loss_and_grads()
    assert loss != pytest.approx(model.loss(PAIRS)[0])
    measured = numeric_gradient(lambda: loss_and_grads()[0], model.C)
    np.testing.assert_allclose(grads.C, measured, rtol=1e-6, atol=1e-9)


def test_initial_values_of_the_paper():
    model = RNNSearch.create(np.random.default_rng(0), 50, 60, embedding=20, hidden=30)
    other = RNNSearch.create(np.random.default_rng(1), 50, 60, embedding=20, hidden=30)
    assert model.size == other.size and model.dtype == np.float32
    assert not model.attention.v_a.any()
    assert model.attention.W_a.std() == pytest.approx(0.001, rel=0.1)
    assert model.output.words.E.std() == pytest.approx(0.01, rel=0.1)
    U = model.decoder.U[:, :30]
    np.testing.assert_allclose(U.T @ U, np.eye(30), atol=1e-5)
    _, weights, _ = model.forward(PAIRS)
    np.testing.assert_allclose(weights[0, 0, :4], 0.25, atol=1e-6)      # v_a = 0: uniform weights


def test_invalid_arguments(rng):
    model = translator(rng, np.float64, RNNSearch)
    with pytest.raises(ValueError, match="readout = 'both'"):
        RNNSearch.create(rng, 8, 9, embedding=3, hidden=4, readout="both")
    for kind in (RNNSearch, EncoderDecoder):
        with pytest.raises(ValueError, match="init='none'"):
            kind.create(rng, 8, 9, init="none")
    with pytest.raises(ValueError, match="smoothing"):
        RNNSearch.create(rng, 8, 9, smoothing=1.0)
    with pytest.raises(ValueError, match="attention 'cosine'; expected one of dot"):
        RNNSearch.create(rng, 8, 9, attention="cosine")
    with pytest.raises(ValueError, match=".a DotAttention., so width cannot be set; omit width"):
        RNNSearch.create(rng, 8, 9, attention=DotAttention(), width=3)
    empty = PAIRS.source.copy()
    empty[:, 1] = 0
    with pytest.raises(ValueError, match=r"source\[:, 1\] does not begin"):
        model.start(empty, empty != 0)
    outside = PAIRS.source.copy()
    outside[0, 0] = 8
    with pytest.raises(ValueError, match="contains the id 8; expected 0 to 7"):
        model.start(outside, outside != 0)


def test_a_create_without_keyword_arguments_hides_the_settings_of_its_bases():
    class Fixed(RNNSearch):
        @classmethod
        def create(cls, rng, source_vocabulary, target_vocabulary, extra=1):
            return super().create(rng, source_vocabulary, target_vocabulary)

    class Mine(Fixed):
        @classmethod
        def create(cls, rng, source_vocabulary, target_vocabulary, more=1, **settings):
            return super().create(rng, source_vocabulary, target_vocabulary, **settings)

    assert {"more", "extra"} <= settings_of(Mine).keys() and "hidden" not in settings_of(Mine)
