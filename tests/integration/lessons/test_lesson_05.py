"""Lesson 05: its passes compared with the library, its bug, and its metrics."""

import sys

import numpy as np
import pytest
from lesson_files import LESSONS

from numpy_attention.data.batching import pair_batch
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.vocabulary import EOS
from numpy_attention.gradcheck import GradientError, randomize
from numpy_attention.models.encoder_decoder import EncoderDecoder

sys.path.append(str(LESSONS))
import translator_parts  # noqa: E402


@pytest.fixture(scope="module")
def pairs():
    return load_parallel("copy", "train", np.random.default_rng(0), 96, 3, 5)


@pytest.fixture(scope="module")
def translator(pairs):
    return translator_parts.trained_translator(
        pairs, "encoder-decoder", {"embedding": 6, "hidden": 7}, 8, 1e-2)


def test_passes_match_the_library(lesson):
    model = EncoderDecoder.create(np.random.default_rng(1), 7, 11, embedding=5, hidden=3, maxout=4,
                                  dtype=np.float64, **translator_parts.CELL)
    randomize(model, np.random.default_rng(2))
    source = [6, 4]
    target = [10, 4, 7, 7]
    L, cache = lesson["forward"]([*source, EOS], [*target, EOS], model)
    ours = model.zeros_like()
    lesson["backward"](cache, model, ours)
    theirs = model.zeros_like()
    loss, _ = model.loss_and_grad(pair_batch([source], [target]), None, 1.0, theirs)
    np.testing.assert_allclose(L, loss, rtol=1e-10)
    np.testing.assert_allclose(ours.vector, theirs.vector, rtol=1e-8, atol=1e-11)


def test_bug_leaves_the_decoder_correct_and_is_located(lesson):
    with pytest.raises(GradientError) as caught:
        lesson["check"](lesson["overwriting"])
    wrong, right = str(caught.value).split("right:")[0:2]
    assert "source_embedding.E, encoder.W, encoder.U, encoder.b, encoder.b_n;" in wrong
    assert right.startswith(" W_s, b_s, C, target_embedding.E")
    assert "overwriting\n    dc = dc_read + da @ model.C.T" in right


def test_buggy_gradient_of_c_is_that_of_the_first_step(lesson):
    """With W_s cut, only the first step passes a gradient to c."""
    _, cache = lesson["forward"](lesson["source"], lesson["target"], lesson["model"])
    *_, writes = cache
    cut = lesson["model"].copy()
    cut.W_s[...] = 0
    dc = lesson["backward"](cache, cut, cut.zeros_like(), lesson["overwriting"])
    ds = np.zeros(len(dc))
    for write in reversed(writes):
        ds, direct = lesson["word_backward"](ds, 0 * ds, write, cache[1], lesson["model"],
                                             lesson["model"].zeros_like())
    np.testing.assert_allclose(dc, direct, rtol=1e-12)
    assert np.linalg.norm(dc) > 0.1 and lesson["model"].W_s.any()


def test_error_in_another_line_is_reported(lesson):
    def without_the_read_out(ds, dc, write, c, model, grads):
        before = dc.copy()
        ds, dc = lesson["word_backward"](ds, dc, write, c, model, grads)
        return ds, before + (dc - before) / 2

    with pytest.raises(GradientError, match="wrong gradient for source_embedding.E"):
        lesson["check"](without_the_read_out)


def test_error_of_a_small_step_is_located(lesson):
    with pytest.raises(AssertionError, match="s1"):
        lesson["check_intermediate"]("s1", lesson["ds_1"] + 0.01)


def test_open_update_gate_passes_dc_to_the_first_word(lesson, translator):
    model = translator.model.copy()
    assert 0 < lesson["dc_shares"](model, [4, 5, 6])[0] < 1
    model.encoder.b[7:14] = 50.0                    # b of z, H = 7: z = 1
    assert lesson["dc_shares"](model, [4, 5, 6])[0] == pytest.approx(1)


def test_correct_with_teacher_forcing_is_correct_in_generation(translator, pairs):
    fed = translator_parts.right_when_fed(translator, pairs)
    assert [len(one) for one in fed] == [len(pair.target) + 1 for pair in pairs]
    written = translator.translate([pair.source for pair in pairs], beam=1)
    copied = [found.target == list(pair.target) for found, pair in zip(written, pairs)]
    assert [all(one) for one in fed] == copied
    assert 0 < np.concatenate(fed).mean() < 1
