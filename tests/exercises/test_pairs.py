"""Two slips of which one goes through the other: tried, kept, found again, and never guessed."""

import numpy as np
import pytest

from numpy_attention.exercises import bank, pairs
from numpy_attention.exercises.bank import is_as_made, told
from numpy_attention.exercises.catalogue import EXERCISES
from numpy_attention.exercises.pairs import Trial, in_order, slips_of
from numpy_attention.exercises.signature import agree, signature

SOFTMAX = EXERCISES["softmax"]
WRITTEN = [one for one in EXERCISES.values() if one.planted is None]
MEAN = "mean = (alpha * dalpha).sum(axis=1, keepdims=True)"


def said_of(exercise, *changes):
    text = exercise.solution
    for right, wrong in changes:
        assert text.count(right) == 1, text
        text = text.replace(right, wrong)
    return told(exercise, bank.numbers_of(exercise, text), set())


def test_one_that_goes_through_the_other():
    found = said_of(SOFTMAX, (MEAN, MEAN.replace("sum", "mean")),
                    ("alpha * (dalpha - mean)", "alpha * (dalpha + mean)"))
    assert found and len(found) <= bank.MOST
    assert any("a mean for a sum" in said and "a plus for a minus" in said for said in found)
    assert all(said.startswith("two slips: ") for said in found)


def test_two_in_one_line():
    found = said_of(SOFTMAX, ("alpha * (dalpha - mean)", "alpha * alpha * (mean - dalpha)"))
    assert any("stands there twice" in said and "the opposite sign" in said for said in found)


def test_three_are_not_guessed():
    assert said_of(SOFTMAX, (MEAN, "mean = 1.7 * (alpha * dalpha).mean(axis=1, keepdims=True)"),
                   ("alpha * (dalpha - mean)", "alpha * (dalpha + mean)")) == []


def test_what_agrees_on_one_seed_alone_is_none():
    row = pairs.kept()["softmax"][0]
    slips = slips_of(SOFTMAX)
    numbers = Trial(SOFTMAX).numbers(slips[row["first"]], slips[row["second"]])
    assert pairs.found(SOFTMAX, numbers)
    changed = {name: one + name.startswith("12 ") for name, one in numbers.items()}
    assert pairs.found(SOFTMAX, changed) == []


def test_none_where_the_numbers_are_not_finite_or_are_none():
    assert pairs.found(SOFTMAX, {}) == []
    assert pairs.found(SOFTMAX, dict.fromkeys(signature(SOFTMAX, SOFTMAX.right), np.nan)) == []


@pytest.mark.parametrize("exercise", WRITTEN, ids=[one.name for one in WRITTEN])
def test_what_is_kept_is_of_this_solution_and_what_is_right_is_no_pair(exercise):
    assert is_as_made(exercise)
    table = pairs.kept()[exercise.name]
    number = len(slips_of(exercise))
    assert (table["first"] < number).all() and (table["second"] < number).all()
    assert (np.diff(table["number"]) >= 0).all()
    assert len(table) <= pairs.MOST_PAIRS
    assert pairs.found(exercise, signature(exercise, exercise.right)) == []


@pytest.mark.parametrize("name", ["linear", "squash", "dot"])
def test_a_pair_is_neither_right_nor_one_of_its_two(name):
    exercise = EXERCISES[name]
    trial = Trial(exercise)
    right = trial.numbers()
    assert agree(right, signature(exercise, exercise.right))
    slips = slips_of(exercise)
    for row in pairs.made(exercise)[::20]:
        both = (slips[row["first"]], slips[row["second"]])
        numbers = trial.numbers(*both)
        for other in (right, *(trial.numbers(one) for one in both)):
            assert not agree(numbers, other)


def test_curated_ones_come_first_and_one_array_for_another_last():
    slips = slips_of(EXERCISES["gru"])
    ordered = [slips[number] for number in in_order(slips)]
    assert ordered[0].curated
    assert "in the place of another" in ordered[-1].said
    assert sorted(in_order(slips)) == list(range(len(slips)))
