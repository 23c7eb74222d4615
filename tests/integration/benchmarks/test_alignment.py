"""benchmarks/alignment.py: IBM Model 1 against plain loops, the posterior against Bayes by hand."""

from collections import defaultdict
from types import SimpleNamespace

import alignment
import numpy as np
import pytest
from alignment import NULL, Model1, can_be_told, heads, later, only, posterior

from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.gradcheck.cases.models import PAIRS, luong, transformer


def translator_of(model, name):
    return Translator(model, None, None, name, {}, TranslatorTraining())


# ---- IBM Model 1 -------------------------------------------------------------------------------


def in_loops(sources, targets, size, iterations):
    t = defaultdict(lambda: 1 / size)
    for _ in range(iterations):
        counts = defaultdict(float)
        totals = defaultdict(float)
        for source, target in zip(sources, targets):
            for f in target:
                total = sum(t[e, f] for e in [NULL, *source])
                for e in [NULL, *source]:
                    counts[e, f] += t[e, f] / total
                    totals[e] += t[e, f] / total
        t = {(e, f): count / totals[e] for (e, f), count in counts.items()}
    return t


@pytest.fixture
def sentences():
    """Sources of random words, each of which the target says as itself + 3, in another order."""
    rng = np.random.default_rng(0)
    sources = [rng.integers(4, 12, rng.integers(1, 6)).tolist() for _ in range(60)]
    return sources, [[word + 3 for word in rng.permutation(source).tolist()] for source in sources]


def test_model1_is_the_plain_loops(sentences):
    model = Model1(*sentences, size=15, iterations=3)
    found = {divmod(int(key), 15): pytest.approx(value) for key, value in zip(model.keys, model.t)}
    assert found == in_loops(*sentences, 15, 3)
    assert (np.diff(model.log_likelihoods) > 0).all()


def test_model1_learns_a_dictionary_and_points_nowhere_for_words_it_never_saw(sentences):
    weights = Model1(*sentences, size=15, iterations=10).weights([4, 9, 6], [9, 7, 12, 1])
    assert weights.shape == (4, 3)
    assert weights[:3].argmax(1).tolist() == [2, 0, 1]
    assert (weights[:3].max(1) > 0.5).all()
    assert not weights[3].any()


# ---- attention once it is told the word --------------------------------------------------------


@pytest.mark.parametrize("score", ["dot", "concat", "multi-head"])
def test_posterior_is_bayes(rng, score):
    """p(s | y) ∝ α_s p(y | only s is visible): here of one sentence, with its word s alone."""
    model = luong(rng, np.float64, attention=score, input_feeding=False)
    told = posterior(model, PAIRS)
    weights = model.weights(PAIRS)
    for b in range(PAIRS.target_in.shape[1]):
        S = int(PAIRS.source_mask[:, b].sum())
        steps = int(PAIRS.target_mask[:, b].sum())
        joint = np.zeros((steps, S))
        for s in range(S):
            state = model.start(PAIRS.source[:S, b:b + 1], PAIRS.source_mask[:S, b:b + 1])
            state.memory.mask[:] = np.arange(S) == s
            for t in range(steps):
                log_p, _, state = model.next(PAIRS.target_in[t, b:b + 1], state)
                joint[t, s] = weights[t, b, s] * np.exp(log_p[0, PAIRS.target_out[t, b]])
        expected = joint / joint.sum(1, keepdims=True)
        np.testing.assert_allclose(told[:steps, b, :S], expected, atol=1e-10)
        assert not told[steps:, b].any()
        assert not told[:, b, S:].any()
    np.testing.assert_array_equal(model.weights(PAIRS), weights)        # the model is as it was


def test_which_runs_can_be_told(rng):
    for settings, expected in (
        ({"input_feeding": False}, True),
        ({"input_feeding": True}, False),
        ({"input_feeding": False, "window": "local-p"}, False),
    ):
        model = luong(rng, np.float64, attention="dot", **settings)
        assert can_be_told(translator_of(model, "luong")) == expected


# ---- heads, and the table ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["luong", "transformer"])
def test_heads_alone_have_the_mean_that_all_have(rng, name):
    if name == "luong":
        model = luong(rng, np.float64, attention="multi-head", heads=2)
        in_last_layer = ""
    else:
        model = transformer(rng, np.float64)
        in_last_layer = f"layer {len(model.decoder)}"
    whole = model.weights(PAIRS)
    alone = []
    for label, layer, attention, head in heads(translator_of(model, name)):
        with only(model, layer, attention, head):
            weights = model.weights(PAIRS)
        if in_last_layer in label:
            alone.append(weights)
    assert len(alone) == 2
    assert not np.allclose(*alone)
    np.testing.assert_allclose(np.mean(alone, 0), whole, atol=1e-12)
    np.testing.assert_array_equal(model.weights(PAIRS), whole)


def test_a_word_is_asked_for_again_once_it_is_read():
    weights = np.eye(3)
    np.testing.assert_array_equal(later(weights, 1), [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(later(weights, 2), [[0, 0, 1], [0, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("query, after", [
    ("current", ["1.000", "1.000", "0.000"]),
    ("previous", ["0.000", "0.750", "1.000"]),          # two steps later it is late again
])
def test_the_table(monkeypatch, capsys, query, after):
    """Of a model that points at the word before the right one: a step later it is all right."""
    words = list("abcd")
    links = frozenset((i, i) for i in range(4))
    pair = Pair(words, words, sure=links, possible=links)

    class Late:
        name = "luong"
        model = SimpleNamespace(query=query)

        def attend(self, pairs):
            return [np.eye(5, 5, -1) for _ in pairs]

    monkeypatch.setattr(alignment, "load_parallel", lambda name, split: [pair] * 3)
    monkeypatch.setattr(alignment.Translator, "load", lambda folder: Late())
    alignment.main(["runs/late"])
    header, diagonal, model1, late = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["pointing", "near", "aer"]
    assert diagonal.split()[-1] == "1.000"
    assert model1.startswith("IBM Model 1, 5 iterations")
    assert late.split() == ["late", "0.000", "0.750", "1.000", *after]
