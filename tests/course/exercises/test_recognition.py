"""Two mistakes at once: reported if the signature matches their combination, else not guessed."""

import pytest

from numpy_attention.course.exercises import recognition
from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.recognition import recognized, sentence, without_others
from numpy_attention.course.exercises.signatures import known_mistakes, numbers_of

LINEAR = EXERCISES["linear"]
SOFTMAX = EXERCISES["softmax"]
SCALED = EXERCISES["scaled-dot"]
DX = "return dy @ self.W.T"
DB = "grads.b += dy.sum(axis=0)"
pytestmark = pytest.mark.usefixtures("mutations")


def recognize(*changes, exercise=LINEAR):
    text = exercise.solution
    for right, wrong in changes:
        assert text.count(right) == 1, text
        text = text.replace(right, wrong)
    return recognized(exercise, numbers_of(exercise, text), set())


def test_single_mistake():
    found = recognize((DB, "pass"))
    assert found and not any(mistake.startswith("two mistakes") for mistake in found)


def test_two_mistakes():
    found = recognize((DB, "grads.b[...] = dy.sum(axis=0)"), (DX, "return -dy @ self.W.T"))
    assert found and all(mistake.startswith("two mistakes: ") for mistake in found)
    assert any("the opposite sign" in mistake and "added" in mistake for mistake in found)


def test_two_curated_mistakes_use_their_sentences():
    dv = "A.swapaxes(-1, -2) @ dY"
    assert recognize(("dE @ k * scale", "dE @ k"), (dv, "d" + dv), exercise=SCALED) == [
        "two mistakes: you left out 1/√d in dq; it should be a factor, because it is between q and "
        "the score; and you took dA for A in dv; it should be Aᵀ dY, because Y = A v"]


def test_unknown_numbers_are_not_guessed():
    assert recognize((DB, "pass"), (DX, "return 1.37 * dy @ self.W.T")) == []


def test_dependent_mistakes_are_not_guessed():
    mean = "mean = (alpha * dalpha).sum(axis=1, keepdims=True)"
    minus = "alpha * (dalpha - mean)"
    one = (mean, mean.replace("sum", "mean"))
    other = (minus, minus.replace("-", "+"))
    assert recognize(one, exercise=SOFTMAX) and recognize(other, exercise=SOFTMAX)
    assert recognize(one, other, exercise=SOFTMAX) == []


def test_mistake_with_nonfinite_rows():
    found = recognize(("places <= places", "places >= places"), exercise=EXERCISES["causal-mask"])
    assert found == ["you reversed the triangle; it should be s ≤ t, because the places after t "
                     "are not written yet"]


def test_nonfinite_numbers_match_nothing():
    numbers = dict.fromkeys(known_mistakes(LINEAR)[0].numbers, float("nan"))
    assert recognized(LINEAR, numbers, set()) == []


def test_without_known_mistakes(monkeypatch):
    monkeypatch.setattr(recognition, "known_mistakes", lambda exercise: [])
    assert recognize((DB, "pass")) == []


def test_correct_solution_has_no_mistake():
    assert recognize() == []


@pytest.mark.parametrize("change", [
    ("mean = (alpha * dalpha).sum(axis=1, keepdims=True)",
     "mean = 2 * (alpha * dalpha).sum(axis=1, keepdims=True)"),
    ("    mean = (alpha * dalpha).sum(axis=1, keepdims=True)      # what an average look does\n"
     "    return alpha * (dalpha - mean)",
     "    return alpha * (dalpha - 2 * (alpha * dalpha).sum(axis=1, keepdims=True))"),
])
def test_mutation_is_described_with_the_names_of_the_user(change, verdict):
    found = verdict(SOFTMAX, SOFTMAX.solution.replace(*change))
    with_name = " in `mean`" if "mean = " in change[1] else ""
    assert found.mistakes == [f"you used an extra factor 2{with_name}"]


def test_other_arrays_are_described_with_the_names_of_the_user():
    mistake = "`total` instead of `da`, in the computation of `grads.W_a`"
    assert without_others(mistake, {"total", "da", "grads.W_a"}) == mistake
    assert without_others(mistake, {"grads.W_a"}) == (
        "the wrong array, in the computation of `grads.W_a`")
    assert without_others(mistake, {"total"}) == "`total` instead of another array"
    assert without_others(mistake, set()) == ""


@pytest.mark.parametrize("description, expected", [
    ("a mean instead of a sum, in the return value",
     "you used a mean in the return value; it should be a sum"),
    ("`memory` instead of `keys`, in the computation of `dq`",
     "you used `memory` in `dq`; it should be `keys`"),
    ("a plus instead of a minus, in the computation of `da`",
     "you used a plus in `da`; it should be a minus"),
    ("assigned instead of added, in the computation of `grads.b`",
     "you assigned in `grads.b`; it should be added"),
    ("a missing factor, in the computation of `da`", "you left out a factor in `da`"),
])
def test_sentence_of_a_mutation(description, expected):
    assert sentence(LINEAR, description) == expected
