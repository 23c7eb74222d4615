"""Lesson 12: its readouts compared with the library, its bug, and the task of pairs."""

import numpy as np
import pytest
from lesson_files import pictures_in, recorded, seeds_of, tagged

from numpy_attention.attention.combined import Combined
from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.experiments.analysis import role_gradients
from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel

NAME = "12_key_value_predict.py"
RECORDS = {
    "LSTM": "lstm", "tanh layer": "tanh",
    "one vector": "attention",
    "two parts": "key-value",
    "three parts": "key-value-predict",
    "4-gram": "4gram",
}


@pytest.fixture(scope="module")
def measures(lesson, tmp_path_factory):
    """Return the lesson's names, including functions and classes of its training cells."""
    names = dict(lesson)
    with pictures_in(tmp_path_factory.mktemp("lesson")):
        for cell in tagged(NAME):
            if cell.tag == "training" and any(f"def {one}(" in cell.body
                                              for one in ("create", "mean_cosines", "cut")):
                cell.run(NAME, names)
    return names


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def weights(rng):
    """Return W_s, W_q, w, W_r, W_x for parts of 3 numbers and outputs of 6."""
    return [rng.standard_normal(shape) for shape in ((3, 3), (3, 3), (3,), (3, 6), (3, 6))]


def library_of(weights, roles, window):
    W_s, W_q, w, W_r, W_x = weights
    return KeyValueReadout(Combined(W_s, W_q, w), W_x, W_r, None, roles, window=window)


@pytest.mark.parametrize("roles", [1, 2, 3])
@pytest.mark.parametrize("window", [1, 4, 20])
def test_readout_matches_the_library(lesson, rng, weights, roles, window):
    plain = lesson["PlainReader"](*weights, roles, window)
    h = rng.standard_normal((7, 2, 3 * roles))
    lesson["check_same"](plain, library_of(weights, roles, window), h)
    y, alpha, cache = plain.forward(h[:, 0])
    known = library_of(weights, roles, window)
    _, _, attended, kept = known.forward(h, np.ones((7, 2), bool))
    np.testing.assert_allclose(alpha, attended[:, 0], atol=1e-12)
    dy = np.zeros((7, 2, 6))
    dy[:, 0] = rng.standard_normal(y.shape)
    terms = plain.terms(dy[:, 0], np.zeros_like(alpha), cache, plain.zeros_like())
    theirs = known.roles_backward(dy, None, kept, known.zeros_like())
    for mine, one in zip(terms, theirs, strict=True):
        np.testing.assert_allclose(mine, one[:, 0], atol=1e-12)


@pytest.mark.parametrize("roles", [2, 3])
def test_different_split_is_reported(lesson, rng, weights, roles):
    h = rng.standard_normal((7, 2, 3 * roles))
    with pytest.raises(AssertionError, match="dh differs"):
        lesson["check_same"](lesson["Misfiled"](*weights, roles, 4),
                             library_of(weights, roles, 4), h)


def test_bug_passes_with_one_role_and_is_located_with_three(lesson):
    lesson["check"](lesson["Misfiled"], 1)
    with pytest.raises(GradientError) as caught:
        lesson["check"](lesson["Misfiled"], 3)
    report = str(caught.value)
    assert "wrong gradient for W_s, W_q, w, input[0]; right: W_r, W_x" in report
    assert "Misfiled.terms\n    dalpha = dalpha + dc @ k.T" in report
    assert "a wrong variable: `k`" in report


def test_step_attends_to_the_state_after_the_same_letter(lesson):
    assert lesson["letters"][lesson["alpha"].argmax()] == "u"


# ---- measurements --------------------------------------------------------------------------------


def test_pairs_repeat_the_given_value(lesson):
    batch = lesson["Pairs"](np.random.default_rng(1), 2, size=6).batch(1)
    assert batch.inputs.shape == (15, 6) and batch.tokens == 18
    for inputs, targets in zip(batch.inputs.T, batch.targets.T):
        assert len(set(inputs[:10])) == 10
        values = dict(zip(inputs[:10:2], inputs[1:10:2]))
        assert [values[one] for one in inputs[10::2]] == list(targets[10::2])
        assert (targets[:10] == 0).all() and (targets[11::2] == 0).all()


def small_model(rng, reader="attention", hidden=6):
    return AttentiveLanguageModel.create(rng, 54, reader, hidden=hidden, embedding=4, layers=1,
                                         init=0.8)


def test_cosines_match_the_analysis(measures, rng):
    model = small_model(rng)
    cosines = measures["mean_cosines"](model)
    known = role_gradients(model, measures["questions"], rng)
    for pair in measures["ROLE_PAIRS"]:
        assert cosines[pair] == pytest.approx(known.cosines[pair].mean, abs=1e-4)


@pytest.mark.parametrize("name", ["q k v | p", "q v | k p", "k v p | q", "q k p | v"])
def test_readouts_with_other_splits_have_correct_gradients(measures, rng, weights, name):
    W_s, W_q, w, W_r, W_x = weights
    kind = type(measures["cut"](name, 1).reader)
    reader = kind(Combined(W_s, W_q, w), W_x, W_r, None, 2)
    second = [role[0] for role, part in reader.read_by.items() if part == 1]
    assert " ".join(second) == name.split(" | ")[1]
    h = rng.standard_normal((5, 2, 6))

    def forward(h):
        y, _, weights, cache = reader.forward(h, np.ones((5, 2), bool))
        return y, weights, cache

    gradcheck(reader, h, rng=rng, forward=forward)


def test_figures_of_real_text_match_the_records(lesson):
    from roles_parts import WIKITEXT
    assert WIKITEXT == {
        name: tuple(round(recorded(f"wikitext-{recipe}", "value", seed=seed), 1)
                    for seed in seeds_of(f"wikitext-{recipe}"))
        for name, recipe in RECORDS.items()}


def test_statements_about_seeds(lesson):
    """Which model wins with which seed, on WikiText-2 and (answer 2) on pairs."""
    from roles_parts import RECORDED, WIKITEXT
    value = {name: np.array(seeds) for name, seeds in WIKITEXT.items()}
    three = value["three parts"]
    for name in ("one vector", "two parts", "three parts"):
        assert (value["LSTM"] < value[name]).all()
    assert (three < value["one vector"]).all()
    assert list(value["4-gram"] < three) == [True, True, False]
    linear = [recorded("wikitext-linear", "value", seed=seed)
              for seed in seeds_of("wikitext-linear")]
    assert [round(one, 1) for one in linear - value["LSTM"]] == [3.0, 11.4, 10.6]   # answer 1
    more = np.array(RECORDED["one vector of 13"]) - RECORDED["q k | v p"]
    assert ((more > 0).sum(), (more == 0).sum()) == (33, 4)
