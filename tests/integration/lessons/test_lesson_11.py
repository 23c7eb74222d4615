"""Lesson 11: its readout compared with the library, and how its bugs differ."""

import numpy as np
import pytest
from lesson_files import pictures_in, recorded, written

from numpy_attention.attention.combined import Combined
from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.attention.single import Single
from numpy_attention.data.vocabulary import PAD
from numpy_attention.gradcheck import GradientError

NAME = "11_attentive_language_model.py"
RECORDS = {
    "Bible": {"LSTM": "bible-lstm", "tanh layer": "bible-readout", "combined": "bible-combined"},
    "Penn Treebank": {"LSTM": "sentences-lstm", "tanh layer": "sentences-no-context",
                      "combined": "sentences-combined"},
}
SHAPES = [(5, 3), (5, 3), (3,), (5, 2), (5, 2), (2,)]


@pytest.fixture
def arrays():
    rng = np.random.default_rng(8)
    return [rng.standard_normal(shape) for shape in SHAPES]


@pytest.fixture
def texts():
    """Return h (T, B, H) and mask (T, B)."""
    mask = np.arange(7)[:, None] < np.array([4, 7])
    return np.random.default_rng(9).standard_normal((7, 2, 5)), mask


def test_combined_readout_matches_the_library(lesson, arrays, texts):
    W_s, W_q, v, *above = arrays
    library = KeyValueReadout(Combined(W_s, W_q, v), *above)
    lesson["check_same"](lesson["PlainReader"](*arrays), library, *texts)


def test_single_is_combined_without_a_query(lesson, arrays, texts):
    W_s, W_q, v, *above = arrays
    library = KeyValueReadout(Single(W_s, v), *above)
    without = lesson["PlainReader"](W_s, 0 * W_q, v, *above)
    lesson["check_same"](without, library, *texts)
    with pytest.raises(AssertionError, match="y differs"):
        lesson["check_same"](lesson["PlainReader"](*arrays), library, *texts)


def test_batched_readout_matches_step_by_step(lesson, arrays, texts):
    h, mask = texts
    y, alpha, _ = lesson["PlainReader"](*arrays).forward(h, mask)
    for row, length in enumerate(mask.sum(0)):
        wanted = lesson["one_by_one"](lesson["PlainReader"](*arrays), h[:length, row])
        np.testing.assert_allclose(y[:length, row], wanted, rtol=0, atol=1e-13)
        assert (alpha[:, row, length:] == 0).all()


def test_invisible_positions_have_no_weight(lesson):
    e = np.array([[3.0, 9e4, -1.0], [1.0, 2.0, 3.0]])
    visible = np.array([[True, False, True], [False, False, False]])
    weights = lesson["softmax"](e, visible)
    np.testing.assert_allclose(weights[0], [1 / (1 + np.exp(-4)), 0, 1 / (1 + np.exp(4))])
    assert (weights[1] == 0).all()


def test_bug_is_where_the_text_says(lesson):
    with pytest.raises(GradientError) as error:
        lesson["check"](lesson["LastRoles"](*lesson["arrays"]))
    report = str(error.value)
    assert report.startswith("LastRoles: wrong gradient for input[0]; right: W_s, W_q, v, W_h")
    assert "LastRoles.four_roles\n    dh = dk @ self.W_s.T\n  assigned where it is" in report
    assert "element [5, 0, 3] of (6, 3, 4): found 0, right" in report


def test_influence_finds_what_the_gradient_check_misses(lesson):
    found = {name: lesson["influence"](reader)
             for name, reader in lesson["HISTORY_READOUTS"].items()}
    assert all(lesson["check"](reader).right for reader in lesson["HISTORY_READOUTS"].values())
    by_kind = [found["as it should be"], found["without the triangle"],
               found["traced at the first word"]]
    assert [moved.sum() for moved in by_kind] == [21, 36, 6]


def test_copy_task(tmp_path):
    with pictures_in(tmp_path):
        from attentive_parts import Copying, symbols
    batch = Copying(2, np.random.default_rng(0), size=3, n=4, gap=2).batch(1)
    read = symbols(batch.inputs[:, 0])
    targets = batch.targets[:, 0]
    assert read[4:7] == ["·", "·", "→"]
    assert symbols(targets[6:]) == read[:4] and read[7:] == read[:3]
    assert (targets[:6] == PAD).all() and batch.tokens == 12


def test_accuracy_of_letters(tmp_path):
    with pictures_in(tmp_path):
        from attentive_parts import COPY_VOCABULARY, Copying, letters_right
    batch = Copying(1, np.random.default_rng(0), size=5, n=3, gap=2).batch(0)

    class Oracle:
        """Predicts the first two letters of the copy correctly, and id 0 for the third."""

        output = None

        def forward(self, batch):
            y = np.eye(COPY_VOCABULARY)[batch.targets]
            y[-1] = np.eye(COPY_VOCABULARY)[0]
            return y, None, None

        def logits(self, row):
            return row

    model = Oracle()
    model.output = model
    assert letters_right(model, batch).tolist() == [1, 1, 0]


@pytest.mark.parametrize("attention", [None, "projection", "combined"])
def test_models_have_the_largest_sizes_within_their_budget(lesson, attention):
    model = lesson["create"](attention, 1, vocabulary=14, budget=3000, init=0.3)
    assert 0.85 * 3000 < model.size <= 3000


# ---- recorded figures ----------------------------------------------------------------------------


def test_longer_trainings_match_the_records():
    known = {text: {name: round(recorded(recipe), 2) for name, recipe in recipes.items()}
             for text, recipes in RECORDS.items()}
    assert list(written(NAME, "LONGER").items()) == list(known.items())
