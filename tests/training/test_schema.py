"""The schema of a checkpoint's text: what it takes, and how it says what it does not."""

import pytest

from numpy_attention.training.schema import (
    DURATION, FINITE, HEADER, HISTORY, NUMBER, PLAIN, SCALAR, TEXT, TRAINING, TREE, Every, Fields,
    Maybe, check, shown, too_deep)
from numpy_attention.training.settings import FLAG, whole

LINE = {"epoch": 1, "seconds": 0.5, "train_perplexity": float("inf")}


@pytest.mark.parametrize("value, schema", [
    ("a", TEXT), (None, Maybe(TEXT)), ([1, 2], Every(whole(1))), (True, FLAG),
    (10**20, NUMBER), (float("nan"), NUMBER), (0, DURATION),
    ([None, "a", 1], PLAIN), (None, SCALAR), ([0, [None, 0]], TREE), (None, TREE),
    ({"a": 1, "b": []}, Fields({"a": whole(1)})),
    ({}, Fields(optional={"a": TEXT})),
    ([LINE | {"valid_loss": 3.5}], HISTORY),
])
def test_what_is_as_it_says(value, schema):
    check(value, schema)


@pytest.mark.parametrize("value, schema, message", [
    (1, TEXT, "its entry 'about' is 1, expected a text"),
    ([1, "2"], Every(whole(1)), "its entry '[1]' is \"2\", expected a whole number of at least 1"),
    ({}, Fields({"a": Fields({"b": TEXT})}), "it has no 'a'"),
    ({"a": {}}, Fields({"a": Fields({"b": TEXT})}), "it has no 'a.b'"),
    ({"a": {"b": None}}, Fields({"a": Fields({"b": TEXT})}), "its entry 'a.b' is null, expected"),
    ([], Fields(), "is [], expected a dict"),
    ({"a": 1}, Fields(optional={"a": TEXT}), "'a' is 1, expected a text"),
    ({"a": 1}, Fields(others=TEXT), "'a' is 1, expected a text"),
    (True, whole(0), "is true, expected a whole number"),
    (10**400, NUMBER, "expected a number"), (float("nan"), DURATION, "is NaN, expected a finite"),
    ([[1]], PLAIN, "or a list of these"), ([], SCALAR, "is [], expected a text, a number"),
    ([1], TREE, "the shape of a state"), ([False], TREE, "the shape of a state"),
    ([LINE, {}], HISTORY, "it has no '[1].epoch'"),
    ([LINE | {"seconds": "2"}], HISTORY, "'[0].seconds' is \"2\", expected"),
])
def test_what_is_not(value, schema, message):
    with pytest.raises(ValueError) as told:
        check(value, schema)
    assert message in str(told.value)


def test_long_values_are_cut():
    assert len(shown("x" * 5000)) < 80 and shown(["ü"]) == '["ü"]'


def test_too_deep():
    deep = []
    for _ in range(15):
        deep = [deep]
    assert not too_deep(deep) and too_deep({"a": deep}) and not too_deep("text")


@pytest.mark.parametrize("value, holds", [
    (int(1e300) - 1, True), (int(1e300), False), (2 * 10**300 - 1, False), (1e308, True),
], ids=["below", "at", "above", "a float"])
def test_the_largest_number(value, holds):
    assert (value in NUMBER) is holds
    assert (value in FINITE) is (value in DURATION) is (value < 1e300)


def test_lists_are_of_one_kind_throughout():
    assert [1, "a", None] in PLAIN and [1, {}] not in PLAIN
    assert [0, [None]] in TREE and [0, 1] not in TREE


def test_a_value_is_cut_after_thirty_letters():
    assert shown("a" * 29) == '"' + "a" * 29 + "…" and shown("a" * 28) == '"' + "a" * 28 + '"'


def test_what_is_no_list_is_told():
    with pytest.raises(ValueError, match=r"its entry 'trainer.history' is \{\}, expected a list"):
        check({}, HISTORY, "trainer.history")


@pytest.mark.parametrize("about, message", [
    ({"version": 3}, "'version' is 3, expected a text"),
    ({"about": {"kind": 3}}, "'about.kind' is 3, expected a text"),
    ({"about": 3}, "'about' is 3, expected a dict"),
])
def test_what_a_header_may_say(about, message):
    with pytest.raises(ValueError, match=message):
        check(about, HEADER)
    check({"version": "1", "about": {"kind": "x"}, "more": 1}, HEADER)


def test_what_a_line_of_history_may_say():
    line = {"epoch": 1, "seconds": 0.5, "train_perplexity": 2.0}
    check([line | {"valid_loss": 1}], HISTORY)
    with pytest.raises(ValueError, match=r"'\[0\].valid_loss' is \"x\", expected a number"):
        check([line | {"valid_loss": "x"}], HISTORY)


TRAINED = {
    "optimizer": "SGD()", "best_loss": None, "state": [0],
    "trainer": {
        "seed": 3, "threads": 2, "average": "token", "clip": 5.0, "epoch": 0, "position": 4,
        "step": 4, "seconds": 1.5, "history": [LINE], "bad_epochs": 0, "stopped": False,
        "epoch_loss": 2.5, "epoch_tokens": 9, "epoch_seconds": 0.5,
    },
}


@pytest.mark.parametrize("name, value, expected", [
    ("optimizer", None, "a text"), ("best_loss", "x", "a finite number"), ("best_loss", [0], "a f"),
    ("state", 1.5, "the shape of a state"), ("state", "x", "the shape"), ("trainer", 0, "a dict"),
    ("trainer", "x", "a dict"),
])
def test_what_a_training_says(name, value, expected):
    check(TRAINED, TRAINING)
    check(TRAINED | {"best_loss": 0.5, "state": None}, TRAINING)
    with pytest.raises(ValueError, match=f"its entry '{name}' is .*, expected {expected}"):
        check(TRAINED | {name: value}, TRAINING)
