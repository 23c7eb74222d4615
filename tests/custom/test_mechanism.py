"""User-defined mechanisms are checked, trained, decoded and plotted like those of the package."""

from dataclasses import dataclass

import laws
import matplotlib
import numpy as np
import pytest

from numpy_attention import registry
from numpy_attention.attention.config import AttentionConfig
from numpy_attention.attention.history import HistoryAttention, causal
from numpy_attention.attention.memory import Memory, dot_scores, sum_of_values
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.cells.rnn import RNN
from numpy_attention.gradcheck import GradientError, gradcheck, protocol, randomize
from numpy_attention.gradcheck.cases.attention import score_cases
from numpy_attention.gradcheck.cases.models import PAIRS, TEXT, language_model
from numpy_attention.initializers import glorot
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.module import Module


@dataclass(eq=False)
class CosineAttention(Module):
    """e_j = g · cos(W q, h_j), α = softmax(e), c = Σ_j α_j h_j; g is a learned sharpness."""

    W: np.ndarray   # (Q, D)
    g: np.ndarray   # (1,)

    def read(self, values, mask):
        return Memory(values, values / np.linalg.norm(values, axis=2, keepdims=True), mask)

    def step(self, query, memory, t):
        p = query @ self.W                                                      # (B, D)
        size = np.linalg.norm(p, axis=1, keepdims=True)                         # (B, 1)
        unit = p / size                                                         # (B, D)
        cosines = np.matmul(memory.keys, unit[:, :, None])[:, :, 0]             # (B, S)
        e = np.where(memory.mask, np.exp(self.g * cosines), 0)                  # (B, S)
        weights = e / e.sum(1, keepdims=True)                                   # (B, S)
        context = np.matmul(weights[:, None], memory.values)[:, 0]              # (B, D)
        return context, weights, (memory, query, unit, size, cosines, weights)

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        memory, query, unit, size, cosines, weights = cache
        dmemory.values += weights[:, :, None] * dcontext[:, None]
        da = np.matmul(memory.values, dcontext[:, :, None])[:, :, 0]            # (B, S)
        if dweights is not None:
            da += dweights
        de = weights * (da - (weights * da).sum(1, keepdims=True))              # (B, S)
        grads.g += (de * cosines).sum()
        dmemory.keys += self.g * de[:, :, None] * unit[:, None]
        dunit = self.g * np.matmul(de[:, None], memory.keys)[:, 0]              # (B, D)
        dp = (dunit - unit * (unit * dunit).sum(1, keepdims=True)) / size       # (B, D)
        grads.W += query.T @ dp
        return dp @ self.W.T

    def read_backward(self, memory, dmemory, grads):
        along = (memory.keys * dmemory.keys).sum(2, keepdims=True)              # (B, S, 1)
        size = np.linalg.norm(memory.values, axis=2, keepdims=True)             # (B, S, 1)
        return dmemory.values + (dmemory.keys - memory.keys * along) / size


@dataclass(eq=False)
class DistanceAttention(SoftmaxAttention):
    """e_j = W q · h_j − |h_j|² / 2, which grows as h_j approaches W q; only a score."""

    W: np.ndarray   # (Q, D)

    @classmethod
    def create(cls, rng, query_size, value_size, init=glorot, dtype=np.float32):
        return cls(init(rng, (query_size, value_size), dtype))

    def sizes(self):
        return self.W.shape

    def score(self, query, memory):
        place = query @ self.W                                                  # (B, D)
        return dot_scores(place, memory) - (memory.values**2).sum(2) / 2, (query, place)

    def score_backward(self, dscores, cache, memory, dmemory, grads):
        query, place = cache
        dmemory.defer("values", dscores, place)
        dmemory.values -= dscores[:, :, None] * memory.values
        dplace = sum_of_values(dscores, memory)                                 # (B, D)
        dmemory.defer("W", query, dplace)
        return dplace @ self.W.T


@dataclass(eq=False)
class DotHistory(HistoryAttention):
    """e_ti = g q_t · k_i for all steps in one product, stored in memory as (B, T, S)."""

    g: np.ndarray   # (1,)

    def score(self, queries, keys, visible):
        products = np.matmul(queries.transpose(1, 0, 2), keys.transpose(0, 2, 1))       # (B, T, S)
        products = products.transpose(1, 0, 2)                                  # (T, B, S)
        return self.g * products, (queries, keys, products)

    def score_backward(self, dscores, visible, cache, grads):
        queries, keys, products = cache
        grads.g += (dscores * products).sum()
        by_row = self.g * dscores.transpose(1, 0, 2)                            # (B, T, S)
        dqueries = np.matmul(by_row, keys).transpose(1, 0, 2)                   # (T, B, K)
        return dqueries, np.matmul(by_row.transpose(0, 2, 1), queries.transpose(1, 0, 2))


class FortranOrder(RNN):
    """A cell whose outputs have another memory order."""

    def forward(self, xs, state=None, mask=None):
        ys, state, cache = super().forward(xs, state, mask)
        return np.asfortranarray(ys), state, cache


def translator(vocabulary, hidden, dtype, **sizes):
    rng = np.random.default_rng(3)
    model = RNNSearch.create(rng, vocabulary, vocabulary, hidden=hidden, readout="current",
                             reset="after", update="old", init="modern", dtype=dtype, **sizes)
    W = (rng.standard_normal((hidden, 2 * hidden)) / hidden).astype(dtype)
    model.attention = CosineAttention(W, np.full(1, 8, dtype))
    return model


def test_gradients_of_the_attention_and_a_whole_model(rng):
    attention = randomize(CosineAttention(np.zeros((3, 4)), np.zeros(1)), rng, 1.0)
    mask = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]], bool)
    forward, backward = protocol(attention, mask)
    queries = rng.standard_normal((5, 2, 3))
    values = rng.standard_normal((2, 6, 4))
    report = gradcheck(attention, queries, values, rng=rng, forward=forward, backward=backward)
    assert list(report.errors) == ["W", "g", "input[0]", "input[1]"]

    model = randomize(translator(9, 3, np.float64, embedding=2, maxout=2), rng, 0.8)

    def model_backward(dt, dweights, cache, grads):
        model.backward(dt, dweights, cache, grads)
        return ()
    model_forward = lambda: model.forward(PAIRS)
    report = gradcheck(model, rng=rng, forward=model_forward, backward=model_backward)
    assert {"attention.W", "attention.g"} <= report.errors.keys()
    laws.shares_add_up(model, PAIRS)


def check(build):
    case = build(np.random.default_rng(0), np.float64)
    return gradcheck(case.target, *case.inputs, rng=np.random.default_rng(0), forward=case.forward,
                     backward=case.backward)


def test_registered_score_gets_checks_and_laws(monkeypatch):
    known = score_cases()
    monkeypatch.setitem(registry.SCORES, "distance", DistanceAttention)
    new = {name: build for name, build in score_cases().items() if name not in known}
    assert list(new) == ["DistanceAttention", "LocalMonotonic distance", "LocalPredictive distance"]
    for build in new.values():
        check(build)
        laws.backward_twice_doubles(build(np.random.default_rng(1), np.float64))
        laws.arguments_unchanged(build(np.random.default_rng(2), np.float64))
        laws.float32_agrees(build)
    config = AttentionConfig("distance", "local-p", width=2)
    built = config.create(np.random.default_rng(0), 3, 4)
    assert type(built.attention) is DistanceAttention
    assert built.attention.W.shape == (3, 4)


def test_wrong_registered_score_fails_its_check(monkeypatch):
    class Forgetful(DistanceAttention):
        def score_backward(self, dscores, cache, memory, dmemory, grads):
            dquery = super().score_backward(dscores, cache, memory, dmemory, grads)
            del dmemory.values
            return dquery

    monkeypatch.setitem(registry.SCORES, "distance", Forgetful)
    with pytest.raises(GradientError, match=r"wrong gradient for input\[1\]"):
        check(score_cases()["Forgetful"])


def test_value_gradients_are_not_added_twice(monkeypatch):
    class AddsValues(DistanceAttention):
        def read_backward(self, memory, dmemory, grads):
            return super().read_backward(memory, dmemory, grads) + dmemory.values

    monkeypatch.setitem(registry.SCORES, "distance", AddsValues)
    check(score_cases()["AddsValues"])


def test_history_score_may_be_a_transposed_product(rng):
    attention = DotHistory(np.full(1, 0.7))
    visible = causal(np.ones((2, 4), bool), 4)
    queries = rng.standard_normal((4, 2, 3))
    keys = rng.standard_normal((2, 4, 3))
    values = rng.standard_normal((2, 4, 5))
    assert not attention.score(queries, keys, visible)[0].flags.c_contiguous
    contexts, weights, _ = attention.forward(queries, keys, values, visible)
    e = np.where(visible, np.exp(0.7 * np.einsum("tbk,bsk->tbs", queries, keys)), 0)
    e[1:] /= e[1:].sum(2, keepdims=True)
    np.testing.assert_allclose(weights, e, atol=1e-14)
    np.testing.assert_allclose(contexts, np.einsum("tbs,bsv->tbv", e, values), atol=1e-14)
    gradcheck(attention, queries, keys, values, rng=rng,
              forward=lambda *three: attention.forward(*three, visible))


def test_cell_outputs_may_have_any_memory_order(rng):
    model = language_model(rng, np.float64, cell="rnn")
    vectors = []
    for kind in (RNN, FortranOrder):
        model.cells.cells = [kind(cell.W, cell.U, cell.b) for cell in model.cells.cells]
        grads = model.zeros_like()
        model.loss_and_grad(TEXT, None, 1.0, grads)
        vectors.append(grads.vector)
    assert vectors[0].any()
    assert (vectors[0] == vectors[1]).all()


def test_training_decoding_and_plotting(tmp_path):
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
    trainer = Trainer(model, Adam(1e-2), data, rng=rng, threads=2, progress=False,
                      path=str(tmp_path / "run.npz"))
    history = trainer.fit(6)
    assert history[-1]["train_perplexity"] < 0.4 * history[0]["train_perplexity"]
    assert history[-1]["threads"] == 2
    assert model.attention.g != before
    assert (load(trainer.path)[0]["parameters/attention.g"] == model.attention.g).all()

    batch = data.batch(range(20))
    found = greedy(model, batch.source, batch.source_mask)
    assert sum(h.words == sentences[i][::-1] for i, h in enumerate(found)) >= 10
    best = beam_search(model, batch.source, batch.source_mask, 1)
    assert [h[0].ids for h in best] == [h.ids for h in found]
    weights = found[0].weights
    source = [str(i) for i in sentences[0]] + ["</s>"]
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-5)
    ax = plotting.attention_heatmap(weights, source_tokens=source,
                                    target_tokens=[str(i) for i in found[0].ids])
    plotting.save(ax, tmp_path / "heatmap.png")
    assert (tmp_path / "heatmap.png").stat().st_size > 1000
