"""Lesson 13: its mechanism with other numbers, and its use outside of the lesson."""

import numpy as np
import pytest

from numpy_attention.attention.general import GeneralAttention
from numpy_attention.gradcheck import GradientError


@pytest.fixture
def random_case():
    """Return an attention's q (B, Q), h (B, S, D), mask (B, S), W (D, Q)."""
    rng = np.random.default_rng(8)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], bool)
    return (rng.standard_normal((2, 3)), rng.standard_normal((2, 5, 4)), mask,
            rng.standard_normal((4, 3)))


def test_weights_follow_the_equation(lesson, random_case):
    q, h, mask, W = random_case
    attention = lesson["Nearness"](W, np.array([0.3]))
    context, weights, _ = attention.step(q, attention.read(h, mask), 0)
    for b in range(2):
        e = [-np.exp(0.3) * ((q[b] - h_j @ W) ** 2).sum() for h_j in h[b, mask[b]]]
        alpha = np.exp(e) / np.exp(e).sum()
        np.testing.assert_allclose(weights[b, mask[b]], alpha, rtol=1e-12)
        np.testing.assert_allclose(context[b], alpha @ h[b, mask[b]], rtol=1e-12)
    assert not weights[~mask].any()


def test_equals_general_if_all_keys_have_equal_length(lesson, random_case):
    q, h, mask, W = random_case
    W = W[:3]                                                       # (3, 3)
    keys = h[:, :, :3] / np.linalg.norm(h[:, :, :3], axis=2, keepdims=True)
    rotation, _ = np.linalg.qr(W)
    near = lesson["Nearness"](rotation, np.array([0.3]))
    general = GeneralAttention(2 * np.exp(0.3) * rotation.T)
    found = near.step(q, near.read(keys, mask), 0)[1]
    np.testing.assert_allclose(found, general.step(q, general.read(keys, mask), 0)[1], rtol=1e-10)


def test_bug_is_where_the_text_says(lesson):
    with pytest.raises(GradientError, match=r"wrong gradient for W, input\[1\]; right: s, input") \
            as caught:
        lesson["check"](lesson["Pushed"])
    named = str(caught.value).splitlines()[2]
    assert named.strip() == "dmemory.keys += dU" and "wrong sign" in str(caught.value)


def test_file_holds_the_class_and_passes_the_command(lesson, random_case, tmp_path, capsys):
    path = lesson["write_class"](lesson["Nearness"], tmp_path)
    assert path.name == "nearness.py"
    q, h, mask, W = random_case
    of_file = lesson["class_in"](path, "Nearness")(W, np.array([0.3]))
    of_lesson = lesson["Nearness"](W, np.array([0.3]))
    for one, other in zip(of_file.step(q, of_file.read(h, mask), 0)[:2],
                          of_lesson.step(q, of_lesson.read(h, mask), 0)[:2]):
        assert (one == other).all()
    assert lesson["run_command"]("gradcheck", "nearness.py:Nearness", folder=tmp_path) == 0
    assert "3 of 3 passed" in capsys.readouterr().out
