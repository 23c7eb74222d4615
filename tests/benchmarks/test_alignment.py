"""benchmarks/alignment.py: IBM Model 1 against plain loops, the posterior against Bayes by hand, heads one by one."""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from alignment import NULL, Model1, can_be_told, heads, only, posterior  # noqa: E402

from numpy_attention.checks.models import PAIRS, luong, transformer  # noqa: E402
from numpy_attention.runs.translator import Translator, TranslatorTraining  # noqa: E402


def in_loops(sources, targets, size, iterations):
    t = defaultdict(lambda: 1 / size)
    for _ in range(iterations):
        counts, totals = defaultdict(float), defaultdict(float)
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
    """A source of random words, each of which the target says as itself + 3, in another order."""
    rng = np.random.default_rng(0)
    sources = [rng.integers(4, 12, rng.integers(1, 6)).tolist() for _ in range(60)]
    return sources, [[word + 3 for word in rng.permutation(source).tolist()] for source in sources]


def test_model1_is_the_plain_loops(sentences):
    model, t = Model1(*sentences, size=15, iterations=3), in_loops(*sentences, 15, 3)
    assert {divmod(int(key), 15): pytest.approx(value) for key, value in zip(model.keys, model.t)} == t
    assert (np.diff(model.log_likelihoods) > 0).all()


def test_model1_learns_a_dictionary_and_points_nowhere_for_words_it_never_saw(sentences):
    weights = Model1(*sentences, size=15, iterations=10).weights([4, 9, 6], [9, 7, 12, 1])
    assert weights.shape == (4, 3) and weights[:3].argmax(1).tolist() == [2, 0, 1]
    assert (weights[:3].max(1) > 0.5).all() and not weights[3].any()


@pytest.mark.parametrize("score", ["dot", "concat", "multi-head"])
def test_posterior_is_bayes(rng, score):
    """p(s | y) ∝ α_s p(y | only s is visible): here with one sentence a time, of which only word s is left to attend to."""
    model = luong(rng, np.float64, attention=score, input_feeding=False)
    told, weights = posterior(model, PAIRS), model.weights(PAIRS)
    T, B = PAIRS.target_in.shape
    for b in range(B):
        S, steps = int(PAIRS.source_mask[:, b].sum()), int(PAIRS.target_mask[:, b].sum())
        joint = np.zeros((steps, S))
        for s in range(S):
            state = model.start(PAIRS.source[:S, b:b + 1], PAIRS.source_mask[:S, b:b + 1])
            state.memory.mask[:] = np.arange(S) == s
            for t in range(steps):
                log_p, _, state = model.next(PAIRS.target_in[t, b:b + 1], state)
                joint[t, s] = weights[t, b, s] * np.exp(log_p[0, PAIRS.target_out[t, b]])
        np.testing.assert_allclose(told[:steps, b, :S], joint / joint.sum(1, keepdims=True), atol=1e-10)
        assert not told[steps:, b].any() and not told[:, b, S:].any()
    np.testing.assert_array_equal(model.weights(PAIRS), weights)        # the model is as it was


def test_heads_alone_have_the_mean_that_all_have(rng):
    for name, model in (("luong", luong(rng, np.float64, attention="multi-head", heads=2)),
                        ("transformer", transformer(rng, np.float64))):
        translator = Translator(model, None, None, name, {}, TranslatorTraining())
        whole, alone = model.weights(PAIRS), {}
        for label, layer, attention, head in heads(translator):
            with only(model, layer, attention, head):
                alone[label] = model.weights(PAIRS)
        last = [weights for label, weights in alone.items() if name == "luong" or f"layer {len(model.decoder)}" in label]
        assert len(last) == 2 and not np.allclose(*last)
        np.testing.assert_allclose(np.mean(last, 0), whole, atol=1e-12)
        np.testing.assert_array_equal(model.weights(PAIRS), whole)


def test_which_runs_can_be_told(rng):
    for settings, expected in (({"input_feeding": False}, True), ({"input_feeding": True}, False),
                               ({"input_feeding": False, "window": "local-p"}, False)):
        model = luong(rng, np.float64, attention="dot", **settings)
        assert can_be_told(Translator(model, None, None, "luong", {}, TranslatorTraining())) == expected
