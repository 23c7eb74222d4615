"""Attention span and gradient flow compared with independent computations."""

import numpy as np
import pytest

from numpy_attention.data.batching import DocumentBatches, TextBatch, TextBatches
from numpy_attention.experiments.analysis import attention_span, gradient_flow
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.language_model import LanguageModel

V = 9


def attentive(rng, **settings):
    settings = {"layers": 2, **settings}
    return AttentiveLanguageModel.create(rng, V, hidden=6, init=0.8, dtype=np.float64, **settings)


@pytest.mark.parametrize("settings", [dict(window=3), dict(window=3, carried=4), dict()])
def test_span_is_the_mean_weight_at_each_distance(rng, settings):
    model = attentive(rng, **settings)
    batches = TextBatches(rng.integers(4, V, 43), batch_size=3, steps=5)
    found = attention_span(model, batches, 3)
    sums = []
    state = None
    for place in batches.order():
        batch = batches.batch(place)
        weights, state = model.weights(batch, state if place else None)
        T, B, S = weights.shape
        for t in range(T):
            now = S - T + t
            sums += [[weights[t, b, now - d] for d in (1, 2, 3)] for b in range(B)
                     if now >= 3 and batch.targets[t, b]]
    np.testing.assert_allclose(found, np.mean(sums, 0), rtol=1e-10)
    if "window" in settings:
        assert found.sum() == pytest.approx(1) and (attention_span(model, batches) == found).all()
    else:
        assert found.sum() < 1


def test_span_of_sentences_excludes_padding(rng):
    model = attentive(rng, window=2)
    documents = [rng.integers(4, V, n) for n in (4, 9, 6)]
    together = attention_span(model, DocumentBatches(documents, batch_size=3))
    single = [attention_span(model, DocumentBatches([document], 1)) for document in documents]
    np.testing.assert_allclose(together, np.average(single, axis=0, weights=[1, 6, 3]), rtol=1e-10)
    longer = [*documents, rng.integers(4, V, 21)]
    # a quarter of 20 steps
    assert len(attention_span(attentive(rng), DocumentBatches(longer, 1))) == 5


@pytest.mark.parametrize("cell, of", [("rnn", "h"), ("lstm", "h"), ("lstm", "c"), ("gru", "h")])
@pytest.mark.parametrize("attention", [None, "combined", "key-value", "ngram"])
def test_flow_is_the_gradient_of_the_top_state(rng, cell, of, attention):
    """Central differences of ∂L_T/∂h_t and ∂L_T/∂c_t.

    The text is read up to t, the top state is perturbed, and the rest is read from there.
    """
    settings = dict(layers=2, cell=cell, hidden=6, init=0.8, dtype=np.float64)
    if attention is None:
        model = LanguageModel.create(rng, V, **settings)
    else:
        model = AttentiveLanguageModel.create(rng, V, attention, order=3, carried=8, **settings)
    ids = rng.integers(4, V, (6, 1))
    flow = gradient_flow(model, TextBatch(ids[:-1], ids[1:], np.arange(1)), of=of)
    assert flow.shape == (5,)

    def last_loss(t, nudge):
        def read(part, state):
            return model.loss(TextBatch(ids[part][:, :], ids[1:][part], np.arange(1)), state)
        _, state = read(slice(0, t + 1), None)
        cells = state
        memory = None
        if attention is not None:
            cells, memory = state
        top = cells[-1]
        if of == "c":                           # h_t = o_t ∘ tanh(c_t) changes too
            h, c = top
            top = h / np.tanh(c) * np.tanh(c + nudge), c + nudge
        elif isinstance(top, tuple):
            top = top[0] + nudge, *top[1:]
        else:
            top = top + nudge
        if memory is not None:
            states = memory[0].copy()
            states[:, -1] = top[0] if isinstance(top, tuple) else top
            memory = states, memory[1]
        cells = cells[:-1] + (top,)
        state = cells if attention is None else (cells, memory)
        loss = 0.0
        for s in range(t + 1, 5):
            loss, state = read(slice(s, s + 1), state)
        return loss

    for t in range(4):                          # at t = 4 the loss reads h_t directly
        nudges = 1e-5 * np.eye(6)
        gradient = [(last_loss(t, nudge) - last_loss(t, -nudge)) / 2e-5 for nudge in nudges]
        assert flow[4 - t] == pytest.approx(np.linalg.norm(gradient), rel=1e-5)
