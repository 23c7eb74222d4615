"""Lesson 06: its attention compared with the library, its bug, and the shipped model."""

import sys

import numpy as np
import pytest
from lesson_files import LESSONS

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.gradcheck import GradientError, protocol

sys.path.append(str(LESSONS))
import translator_parts  # noqa: E402


@pytest.fixture(scope="module")
def shipped():
    return translator_parts.shipped_translator("lesson-06")


def passes(attention, rng):
    """Return contexts, weights and all gradients for three sentences of lengths 4, 1 and 3."""
    mask = np.arange(4) < np.array([4, 1, 3])[:, None]
    forward, backward = protocol(attention, mask)
    contexts, weights, cache = forward(rng.standard_normal((2, 3, 5)),
                                       rng.standard_normal((3, 4, 6)))
    grads = attention.zeros_like()
    dqueries, dvalues = backward(np.sin(contexts), np.cos(weights), cache, grads)
    return [contexts, weights, dqueries, dvalues, *(one for _, one in grads.named_parameters())]


def test_attention_matches_the_library(lesson):
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal(shape) for shape in ((5, 2), (6, 2), (2,))]
    both = [passes(kind(*arrays), np.random.default_rng(6))
            for kind in (lesson["PlainAttention"], AdditiveAttention)]
    for ours, theirs in zip(*both, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_bug_is_located(lesson):
    with pytest.raises(GradientError, match=r"no gradient is correct\n.*Forgetful.softmax_backward"
                                            r"\n.*return alpha \* dalpha"):
        lesson["check"](lesson["Forgetful"](*lesson["parameters"]))


def test_posterior_by_hand(lesson, shipped):
    """For the first word, run one decoder step from s_0 with each annotation as its context."""
    _, held_out = translator_parts.bible_clauses()
    model = shipped.model
    pair = held_out[0]
    likely = lesson["given_word"](shipped, pair)
    assert likely.shape == (len(pair.target) + 1, len(pair.source) + 1)
    batch = shipped.batches([pair]).batch([0])
    memory, s_0, _ = model.encode(batch.source, batch.source_mask)
    y = model.target_embedding.E[batch.target_in[0]]
    expected = []
    for annotation in memory.values[0]:
        steps = model.decoder.begin(model.decoder.project(y[None]), s_0)
        steps.a[0] += annotation[None] @ model.C
        model.decoder.step(0, steps)
        t, _ = model.deep_output.forward(steps.hs[1], y, annotation[None])
        expected.append(np.exp(model.output.log_probabilities(t)[0, batch.target_out[0, 0]]))
    np.testing.assert_allclose(likely[0], expected, rtol=1e-4)
    weights, = shipped.attend([pair])
    np.testing.assert_allclose(lesson["posterior"](weights[0], likely[0]),
                               weights[0] * expected / (weights[0] @ expected), rtol=1e-4)


def test_clauses_have_only_frequent_words():
    train, held_out = translator_parts.bible_clauses()
    for side in ("source", "target"):
        known = {word for pair in train for word in getattr(pair, side)}
        for pair in held_out:
            assert len(getattr(pair, side)) <= translator_parts.LONGEST
            assert known.issuperset(getattr(pair, side))


def test_shipped_model_is_small_and_complete(shipped):
    file = translator_parts.SHIPPED / "lesson-06" / "checkpoint.npz"
    assert file.stat().st_size < 1_500_000
    found, = shipped.translate(["i am thy shield ,".split()])
    assert found.target == "yo soy tu escudo ,".split()


def test_changed_shipped_model_raises(tmp_path, monkeypatch):
    folder = tmp_path / "lesson-06"
    folder.mkdir()
    (folder / "checkpoint.npz").write_bytes(b"another")
    monkeypatch.setattr(translator_parts, "SHIPPED", tmp_path)
    with pytest.raises(ValueError, match="is not what SHA256SUMS says: restore it"):
        translator_parts.shipped_translator("lesson-06")


def test_trained_translator_is_evaluated_and_saved(tmp_path):
    pairs = translator_parts.load_parallel("reverse", "train", np.random.default_rng(0), 128,
                                           max_length=3, min_length=3)
    steps = []
    made = [translator_parts.trained_translator(
        pairs, "rnnsearch", {"embedding": 4, "hidden": 4}, 2, 1e-3, seed=7, folder=tmp_path,
        look=lambda translator, step: steps.append(step)) for _ in range(2)]
    assert steps == [0, 2, 4] * 2
    np.testing.assert_array_equal(made[0].model.vector, made[1].model.vector)
    loaded = translator_parts.Translator.load(tmp_path)
    np.testing.assert_array_equal(loaded.model.vector, made[0].model.vector)
