"""Two mistakes at once: named where the numbers are those of both together, else not guessed."""

from numpy_attention.course.exercises.bank import kept, numbers_of, told
from numpy_attention.course.exercises.catalogue import EXERCISES

LINEAR = EXERCISES["linear"]
SOFTMAX = EXERCISES["softmax"]
SCALED = EXERCISES["scaled-dot"]
DX = "return dy @ self.W.T"
DB = "grads.b += dy.sum(axis=0)"


def named(*changes, exercise=LINEAR):
    text = exercise.solution
    for right, wrong in changes:
        assert text.count(right) == 1, text
        text = text.replace(right, wrong)
    return told(exercise, numbers_of(exercise, text), set())


def test_one_is_told_as_one():
    found = named((DB, "pass"))
    assert found and not any(said.startswith("two slips") for said in found)


def test_two_are_told_as_two():
    found = named((DB, "grads.b[...] = dy.sum(axis=0)"), (DX, "return -dy @ self.W.T"))
    assert found and all(said.startswith("two slips: ") for said in found)
    assert any("the opposite sign" in said and "added" in said for said in found)


def test_of_two_curated_ones_their_sentences_alone_are_told():
    assert named(("dE @ k * scale", "dE @ k"), ("@ q * scale", "@ q"), exercise=SCALED) == [
        "two slips: 1/√d stands between q and the score: it is a factor of dq; "
        "and 1/√d stands between k and the score: it is a factor of dk"]


def test_a_number_that_no_mistake_gives_is_not_guessed():
    assert named((DB, "pass"), (DX, "return 1.37 * dy @ self.W.T")) == []


def test_two_of_which_one_goes_through_the_other_are_not_guessed():
    mean = "mean = (alpha * dalpha).sum(axis=1, keepdims=True)"
    minus = "alpha * (dalpha - mean)"
    one = (mean, mean.replace("sum", "mean"))
    other = (minus, minus.replace("-", "+"))
    assert named(one, exercise=SOFTMAX) and named(other, exercise=SOFTMAX)
    assert named(one, other, exercise=SOFTMAX) == []


def test_none_where_the_numbers_are_not_finite():
    numbers = dict.fromkeys(kept()["linear"][0].numbers, float("nan"))
    assert told(LINEAR, numbers, set()) == []


def test_what_is_right_is_no_two_mistakes():
    assert named() == []
