"""Lesson 04: its cell compared with the library, its bug, and its locked unit."""

import numpy as np
import pytest
from lesson_files import pictures_in

from numpy_attention.cells.gru import GRU
from numpy_attention.gradcheck import GradientError, randomize
from numpy_attention.training.optimizers import Adam

EVERY = [(reset, update) for reset in ("after", "before") for update in ("old", "new")]
NUMBERS = np.random.default_rng(3)
XS = NUMBERS.standard_normal((6, 2, 4))
FIRST = NUMBERS.standard_normal((2, 3))
MASK = np.arange(6)[:, None] < np.array([1, 6])


@pytest.fixture
def parts(tmp_path):
    with pictures_in(tmp_path):
        import gru_parts
        yield gru_parts


def cell(kind, reset, update):
    b_n = np.empty(3) if reset == "after" else None
    made = kind(np.empty((4, 9)), np.empty((3, 9)), np.empty(9), b_n, reset, update)
    return randomize(made, np.random.default_rng(8))


@pytest.mark.parametrize(("reset", "update"), EVERY)
def test_cell_matches_the_library_in_every_convention(lesson, reset, update):
    lesson["check_same"](cell(lesson["PlainGRU"], reset, update), cell(GRU, reset, update),
                         XS, FIRST, MASK, np.random.default_rng(1))


def test_gradient_through_a_padded_step_is_reported(lesson):
    class Blamed(lesson["PlainGRU"]):
        def backward(self, dys, dlast, cache, grads):
            xs, steps = cache
            everywhere = [(np.ones_like(one[0]), *one[1:]) for one in steps]
            return super().backward(dys, dlast, (xs, everywhere), grads)

    with pytest.raises(AssertionError, match="result 2 differs"):
        lesson["check_same"](cell(Blamed, "after", "old"), cell(GRU, "after", "old"),
                             XS, FIRST, MASK, np.random.default_rng(1))


def test_bug_affects_only_h_and_is_located(lesson):
    with pytest.raises(GradientError) as caught:
        lesson["check"](lesson["forgetful"])
    assert "wrong gradient for input[3]; right: input[0]" in str(caught.value)
    assert "    dh = dafter * z + ds @ U_n.T\n" in str(caught.value)


def test_locked_unit_has_no_gradient(parts):
    xs = parts.one_hot("a “ b ” c")
    wanted = parts.last_marks("a “ b ” c")
    last = {}
    largest = {}
    for u in (0.0, 8.0, 32.0):
        _, grads, last[u] = parts.window_gradient(parts.hold_unit(GRU, u), xs, wanted,
                                                  np.ones((1, 1)))
        largest[u] = np.abs(grads.vector).max()
    assert last[32.0] > 0.99 and last[0.0] < -0.97
    assert largest[32.0] < 1e-9 < 1e-2 < largest[8.0]


@pytest.mark.parametrize("epsilon", [1e-8, 1e-20])
def test_adam_moments_and_epsilon_of_a_locked_unit(parts, epsilon):
    optimizer = Adam(0.05, epsilon=epsilon)
    units = {u: parts.hold_unit(GRU, u) for u in (16.0, 32.0)}
    text = parts.verses("train", 30_000)
    errors = {u: parts.learn(unit, text, optimizer) for u, unit in units.items()}
    assert errors[16.0] < 0.01 and errors[32.0] > 1.9
    assert 32.2 < units[32.0].U[0, 1] < 32.4


def test_marks_and_codes(parts):
    np.testing.assert_array_equal(parts.last_marks("a“b”c"), [-1, 1, 1, -1, -1])
    np.testing.assert_array_equal(parts.one_hot("a“”")[:, 0], [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert len(parts.verses("valid", 50)) == 50


def test_verse_is_short_and_scored(parts):
    text = "x" * 84 + "\n" + "y" * 85 + "\n" + "z" * 200 + "\n"
    scored = np.arange(len(text)) >= 85
    assert text[parts.short_verse(text, scored)] == "y" * 85 + "\n"
    with pytest.raises(ValueError, match="no verse of 80 to 100"):
        parts.short_verse(text, np.zeros(len(text), bool))
