"""Lesson 03: its reference implementation compared with the library; its bug, and its parts."""

from types import SimpleNamespace

import numpy as np
import pytest
from lesson_files import LESSONS

from numpy_attention.cells.lstm import LSTM
from numpy_attention.data.vocabulary import PAD, UNK, Vocabulary
from numpy_attention.gradcheck import GradientError, randomize


@pytest.fixture
def parts(monkeypatch):
    monkeypatch.syspath_prepend(str(LESSONS))
    import lstm_parts
    return lstm_parts


def random_case(T=6, B=2, inputs=3, H=4):
    """Return weights W, U, b, and what `passes` takes after the cell."""
    rng = np.random.default_rng(9)
    weights = [np.empty((inputs, 4 * H)), np.empty((H, 4 * H)), np.empty(4 * H)]
    randomize(LSTM(*weights), rng)
    first = tuple(rng.standard_normal((2, B, H)))
    dlast = tuple(rng.standard_normal((2, B, H)))
    return weights, (rng.standard_normal((T, B, inputs)), first, rng.standard_normal((T, B, H)),
                     dlast)


def test_step_by_hand_matches_the_library(lesson):
    cell = LSTM(lesson["W"], lesson["U"], lesson["b"])
    first = np.array([[0.5, -0.5]]), np.array([[2.0, -1.0]])
    _, (h, c), _ = cell.forward(np.array([[[2.0]]]), first)
    np.testing.assert_allclose(h[0], lesson["h1"], atol=1e-12)
    np.testing.assert_allclose(c[0], lesson["c1"], atol=1e-12)


def test_wrong_gradient_of_the_step_is_reported(lesson):
    with pytest.raises(AssertionError, match="o"):
        more = np.zeros(2)
        lesson["check_gradient"]("do", lesson["do"] + 1e-3, lambda: lesson["L"](o=more), more)


def test_cell_matches_the_library(lesson):
    weights, given = random_case()
    plain = lesson["passes"](lesson["PlainLSTM"](*weights), *given)
    theirs = lesson["passes"](LSTM(*weights), *given)
    for one, other in zip(plain, theirs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("steps, right", [(1, "right: W, U, b, input[0], input[1][0]"),
                                          (4, "no gradient is correct")])
def test_bug_is_located_in_its_line(lesson, steps, right):
    with pytest.raises(GradientError) as caught:
        lesson["check"](lesson["create"](lesson["HalfModern"]), lesson["xs"][:steps])
    first, line, found = str(caught.value).splitlines()[:3]
    assert right in first
    assert "HalfModern.step_backward" in line and found.strip() == "dc_before = dc"


def test_memory_decays_as_a_power_of_the_forget_gate(lesson):
    for b_f in (1, 3, 6):
        c = lesson["memory"](b_f)
        f = 1 / (1 + np.exp(-b_f))
        assert abs(c[24] - c[4] * f**20) < 0.03                 # i is closed: σ(−6)


def test_unknown_words_are_read_but_not_predicted(parts):
    vocabulary, ids, others = parts.bible_words(500, 450)
    assert len(ids) == 500 and len(others) == 450 and ids.max() < len(vocabulary)
    batches = parts.known_words(others)
    assert (batches.inputs == UNK).sum() > 50
    predicted = sum(batches.batch(place).tokens for place in batches.order())
    assert not (batches.targets == UNK).any()
    assert predicted == (batches.targets != PAD).sum() == (others[1:] != UNK).sum()


def test_accuracy_of_a_constant_prediction(parts):
    class Parrot:
        def forward(self, batch, state):
            return np.zeros((*batch.inputs.shape, 3)), None, None

        class output:
            @staticmethod
            def logits(h):
                return np.eye(8)[np.full(len(h), 5)]

    ids = np.array([4, 5, 5, 6] * 30)
    batches = parts.known_words(ids)
    assert np.isclose(parts.share_right(Parrot(), batches), 60 / 119)
    assert parts.share_right(Parrot(), parts.known_words(np.where(ids == 5, 7, ids))) == 0


def test_words_until_the_first_error(parts):
    parrot = SimpleNamespace(next=lambda ids, state: (np.eye(8)[ids], None, state))
    assert parts.words_until_error(parrot, np.array([4, 5, 5, 5, 6, 6]), 2) == 2
    assert parts.words_until_error(parrot, np.array([4, 5, 6, 6]), 2) == 0
    assert parts.words_until_error(parrot, np.array([4, 5, 5, 5]), 2) == 2


def test_a_recital_begins_after_the_given_ids(parts):
    counter = SimpleNamespace(next=lambda ids, state: (np.eye(9)[ids + 1], None, state))
    assert parts.recite(counter, Vocabulary(list("abcde")), [4, 5], 3) == "c d e"


def test_recall_networks_differ_only_in_the_bias(parts):
    shut, _ = parts.recall_network(4, 0.0)
    ajar, _ = parts.recall_network(4, 3.0)
    difference = ajar.cells.cells[0].b - shut.cells.cells[0].b
    np.testing.assert_allclose(difference, np.repeat([0, 3, 0, 0], 32), atol=1e-6)
    np.testing.assert_array_equal(ajar.cells.cells[0].U, shut.cells.cells[0].U)


def test_recall_networks_may_start_orthogonal(parts):
    for bias in (None, 0.0):
        small, _ = parts.recall_network(4, bias)
        other, _ = parts.recall_network(4, bias, is_orthogonal=True)
        before, after = (model.cells.cells[0] for model in (small, other))
        assert 0.09 < np.abs(before.U).max() <= 0.1
        for block in np.split(after.U, after.U.shape[1] // 32, axis=1):
            np.testing.assert_allclose(block @ block.T, np.eye(32), atol=1e-5)
        np.testing.assert_array_equal(after.W, before.W)


def test_backward_pass_keeps_the_gradient_of_every_state(parts):
    weights, (xs, _, _, dlast) = random_case()
    cell = LSTM(*weights)
    dstates = parts.way_back(cell, xs, dlast)
    ys, _, cache = cell.forward(xs)
    _, dfirst = cell.backward(np.zeros_like(ys), dlast, cache, cell.zeros_like())
    assert len(dstates) == len(xs) + 1 and dstates[0] is dlast
    for one, other in zip(dstates[-1], dfirst, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
