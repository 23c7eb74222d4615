"""A mechanism written outside the package is checked, trained, decoded and plotted unchanged."""

from dataclasses import dataclass

import laws
import matplotlib
import numpy as np

from numpy_attention.attention.history import HistoryAttention, causal
from numpy_attention.attention.memory import Memory
from numpy_attention.cells.rnn import RNN
from numpy_attention.checks.models import PAIRS, TEXT, language_model
from numpy_attention.gradcheck import gradcheck, protocol, randomize
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.module import Module


@dataclass(eq=False)
class CosineAttention(Module):
    """e_j = g · cos(W q, h_j), α = softmax(e), c = Σ_j α_j h_j, with a learned sharpness g."""

    W: np.ndarray   # (Q, D)
    g: np.ndarray   # (1,)

    def read(self, values, mask):
        return Memory(values, values / np.linalg.norm(values, axis=2, keepdims=True), mask)

    def step(self, query, memory):
        p = query @ self.W
        size = np.linalg.norm(p, axis=1, keepdims=True)
        cosines = np.matmul(memory.keys, (p / size)[:, :, None])[:, :, 0]
        e = np.where(memory.mask, np.exp(self.g * cosines), 0)
        weights = e / e.sum(1, keepdims=True)
        context = np.matmul(weights[:, None], memory.values)[:, 0]
        return context, weights, (memory, query, p / size, size, cosines, weights)

    def step_backward(self, dcontext, dweights, cache, dmemory, grad):
        memory, query, unit, size, cosines, weights = cache
        dmemory.values += weights[:, :, None] * dcontext[:, None]
        da = np.matmul(memory.values, dcontext[:, :, None])[:, :, 0] + (0 if dweights is None else dweights)
        de = weights * (da - (weights * da).sum(1, keepdims=True))
        grad.g += (de * cosines).sum()
        dmemory.keys += self.g * de[:, :, None] * unit[:, None]
        dunit = self.g * np.matmul(de[:, None], memory.keys)[:, 0]
        dp = (dunit - unit * (unit * dunit).sum(1, keepdims=True)) / size
        grad.W += query.T @ dp
        return dp @ self.W.T

    def read_backward(self, memory, dmemory, grad):
        along = (memory.keys * dmemory.keys).sum(2, keepdims=True)
        size = np.linalg.norm(memory.values, axis=2, keepdims=True)
        return dmemory.values + (dmemory.keys - memory.keys * along) / size


@dataclass(eq=False)
class DotHistory(HistoryAttention):
    """e_ti = g q_t · k_i for all steps in one product, whose axes stand as (B, T, S) in memory."""

    g: np.ndarray   # (1,)

    def score(self, queries, keys, visible):
        products = np.matmul(queries.transpose(1, 0, 2), keys.transpose(0, 2, 1)).transpose(1, 0, 2)
        return self.g * products, (queries, keys, products)

    def score_backward(self, dscores, visible, cache, grad):
        queries, keys, products = cache
        grad.g += (dscores * products).sum()
        by_row = self.g * dscores.transpose(1, 0, 2)
        return np.matmul(by_row, keys).transpose(1, 0, 2), np.matmul(by_row.transpose(0, 2, 1), queries.transpose(1, 0, 2))


class Turned(RNN):
    """A cell that gives its outputs in another order of memory."""

    def forward(self, xs, state=None, mask=None):
        ys, state, cache = super().forward(xs, state, mask)
        return np.asfortranarray(ys), state, cache


def translator(vocabulary, hidden, dtype, **sizes):
    rng = np.random.default_rng(3)
    model = RNNSearch.create(rng, vocabulary, vocabulary, hidden=hidden, readout="current", reset="after", update="old",
                             init="modern", dtype=dtype, **sizes)
    model.attention = CosineAttention((rng.standard_normal((hidden, 2 * hidden)) / hidden).astype(dtype),
                                      np.full(1, 8, dtype))
    return model


def test_its_gradients_and_the_whole_models(rng):
    attention = randomize(CosineAttention(np.zeros((3, 4)), np.zeros(1)), rng, 1.0)
    mask = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]], bool)
    forward, backward = protocol(attention, mask)
    report = gradcheck(attention, rng.standard_normal((5, 2, 3)), rng.standard_normal((2, 6, 4)), rng=rng,
                       forward=forward, backward=backward)
    assert list(report.errors) == ["W", "g", "input[0]", "input[1]"]

    model = randomize(translator(9, 3, np.float64, embedding=2, maxout=2), rng, 0.8)

    def model_backward(dt, dweights, cache, grad):
        model.backward(dt, dweights, cache, grad)
        return ()
    report = gradcheck(model, rng=rng, forward=lambda: model.forward(PAIRS), backward=model_backward)
    assert {"attention.W", "attention.g"} <= report.errors.keys()
    laws.shares_add_up(model, PAIRS)


def test_a_history_score_may_be_a_transposed_product(rng):
    attention, visible = DotHistory(np.full(1, 0.7)), causal(np.ones((2, 4), bool), 4)
    queries, keys, values = (rng.standard_normal(shape) for shape in ((4, 2, 3), (2, 4, 3), (2, 4, 5)))
    assert not attention.score(queries, keys, visible)[0].flags.c_contiguous
    contexts, weights, _ = attention.forward(queries, keys, values, visible)
    e = np.where(visible, np.exp(0.7 * np.einsum("tbk,bsk->tbs", queries, keys)), 0)
    e[1:] /= e[1:].sum(2, keepdims=True)
    np.testing.assert_allclose(weights, e, atol=1e-14)
    np.testing.assert_allclose(contexts, np.einsum("tbs,bsv->tbv", e, values), atol=1e-14)
    gradcheck(attention, queries, keys, values, rng=rng, forward=lambda *three: attention.forward(*three, visible))


def test_a_cell_may_give_its_outputs_in_any_order_of_memory(rng):
    model, vectors = language_model(rng, np.float64, cell="rnn"), []
    for kind in (RNN, Turned):
        model.cells.cells = [kind(cell.W, cell.U, cell.b) for cell in model.cells.cells]
        grad = model.zeros_like()
        model.loss_and_grad(TEXT, None, 1.0, grad)
        vectors.append(grad.vector)
    assert vectors[0].any() and (vectors[0] == vectors[1]).all()


def test_it_is_trained_decoded_and_plotted(tmp_path):
    matplotlib.use("Agg")
    from numpy_attention import plotting
    from numpy_attention.data.batching import PairBatches
    from numpy_attention.decoding.beam import beam_search
    from numpy_attention.decoding.greedy import greedy
    from numpy_attention.training.checkpoint import load
    from numpy_attention.training.optimizers import Adam
    from numpy_attention.training.trainer import Trainer
    rng = np.random.default_rng(0)
    sentences = [rng.integers(4, 9, n).tolist() for n in rng.integers(2, 5, 640)]
    data = PairBatches(sentences, [s[::-1] for s in sentences], batch_size=32)
    model = translator(9, 24, np.float32, embedding=12, maxout=12)
    before = model.attention.g.copy()
    trainer = Trainer(model, Adam(1e-2), data, rng=rng, threads=2, progress=False, path=str(tmp_path / "run.npz"))
    history = trainer.fit(6)
    assert history[-1]["train_perplexity"] < 0.4 * history[0]["train_perplexity"] and history[-1]["threads"] == 2
    assert model.attention.g != before
    assert (load(trainer.path)[0]["parameters/attention.g"] == model.attention.g).all()

    batch = data.batch(range(20))
    found = greedy(model, batch.source, batch.source_mask)
    assert sum(h.words == sentences[i][::-1] for i, h in enumerate(found)) >= 10
    best = beam_search(model, batch.source, batch.source_mask, 1)
    assert [h[0].ids for h in best] == [h.ids for h in found]
    weights, source = found[0].weights, [str(i) for i in sentences[0]] + ["</s>"]
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-5)
    ax = plotting.attention_heatmap(weights, source, [str(i) for i in found[0].ids])
    plotting.save(ax, tmp_path / "heatmap.png")
    assert (tmp_path / "heatmap.png").stat().st_size > 1000
