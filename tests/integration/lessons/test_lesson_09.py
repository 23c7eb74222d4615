"""Lesson 09: its heads, norm and layers compared with the library, with other numbers."""

import numpy as np
import pytest
from lesson_files import LESSONS

from numpy_attention.gradcheck import GradientError, randomize
from numpy_attention.layers.positional import positional_encoding
from numpy_attention.models.transformer_layers import DecoderLayer


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_bug_is_where_the_text_says(lesson):
    norm = lesson["norm"]
    with pytest.raises(GradientError) as error:
        lesson["check"](lesson["Stiff"](norm.g, norm.b), lesson["x"])
    assert "wrong gradient for input[0]; right: g, b" in str(error.value)
    assert "a part of the Jacobian: `(dx_hat - dx_hat.mean(1, keep" in str(error.value)


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_encoder_layer_matches_the_library(lesson, rng, heads):
    layer = lesson["new_layer"](lesson["PlainEncoderLayer"], rng, 8, 5, heads)
    x = rng.standard_normal((7, 8))
    lesson["check_same_encoder"](randomize(layer, rng), x)
    layer.norm_1 = lesson["Stiff"](layer.norm_1.g, layer.norm_1.b)
    with pytest.raises(AssertionError, match="result 1 differs"):
        lesson["check_same_encoder"](layer, x)


def test_decoder_layer_matches_the_library(lesson, rng):
    more = lesson["new_heads"](rng, 8, 2), lesson["PlainNorm"](np.ones(8), np.zeros(8))
    layer = lesson["new_layer"](lesson["PlainDecoderLayer"], rng, 8, 5, 2, *more)
    x = rng.standard_normal((6, 8))
    m = rng.standard_normal((3, 8))
    lesson["check_same_decoder"](randomize(layer, rng), lesson["decode"], x, m)

    def one_word_less(layer, x, m):
        return lesson["decode"](layer, x, m[1:])

    with pytest.raises(AssertionError, match="the output differs"):
        lesson["check_same_decoder"](layer, one_word_less, x, m)


def test_only_the_triangular_mask_is_causal(lesson):
    for mask in (np.tri(5), np.tri(5, k=1)):
        def forward(x, visible=mask.astype(bool)):
            return lesson["heads"].forward(x, x, visible)

        np.testing.assert_array_equal(lesson["moved_by"](forward), mask)


@pytest.mark.parametrize("T, D", [(1, 2), (9, 6)])
def test_positions_match_the_library(lesson, T, D):
    known = positional_encoding(T, D, np.float64)
    np.testing.assert_allclose(lesson["positions"](T, D), known, atol=1e-12)


def test_cached_keys_match_the_library(lesson, rng):
    """Decoding word by word, both cache the same keys."""
    heads = randomize(lesson["new_heads"](rng, 8, 2), rng)
    x = rng.standard_normal((5, 8))
    found = sum(lesson["word_by_word"](head, x) for head in heads.heads) + heads.b_o
    library = DecoderLayer.create(rng, 8, 2, 5, dtype=np.float64).attention
    for name in ("W_q", "b_q", "W_k", "W_v", "b_v"):
        getattr(library, name)[...] = np.hstack([getattr(one, name) for one in heads.heads])
    library.W_o[...] = np.vstack([one.W_o for one in heads.heads])
    library.b_o[...] = heads.b_o
    for t in range(5):
        kept = library.keys_and_values(x[None, :t + 1])
        y, _, _ = library.attend(x[None, t:t + 1], kept, np.ones((1, 1, t + 1), bool))
        np.testing.assert_allclose(found[t], y[0, 0], atol=1e-12)


def test_largest_weights_are_counted_for_words_with_a_link(monkeypatch):
    monkeypatch.syspath_prepend(str(LESSONS))
    from transformer_parts import largest_on
    weights = np.array([[[[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]],
                         [[0.1, 0.9], [0.9, 0.1], [0.3, 0.7]]]])        # one sentence, two heads
    linked = np.array([[[True, False], [True, False], [False, True]]])
    np.testing.assert_allclose(largest_on(linked, weights), [1 / 3, 2 / 3])
    linked[0, 2] = False
    np.testing.assert_allclose(largest_on(linked, weights), [1 / 2, 1 / 2])
