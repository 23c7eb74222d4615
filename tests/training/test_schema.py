"""The schema of a checkpoint's JSON: valid values, and errors for invalid ones."""

import pytest

from numpy_attention.training.schema import (
    DURATION,
    FINITE,
    HISTORY,
    NUMBER,
    PLAIN,
    SCALAR,
    TEXT,
    TREE,
    Every,
    Fields,
    Maybe,
    check,
    short_json,
)
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
def test_valid_values(value, schema):
    check(value, schema)


@pytest.mark.parametrize("value, schema, message", [
    (1, TEXT, "'about' is 1; expected a string"),
    ([1, "2"], Every(whole(1)), "'[1]' is \"2\"; expected an integer from 1 to 10⁹"),
    ({}, Fields({"a": Fields({"b": TEXT})}), "'a' is missing"),
    ({"a": {}}, Fields({"a": Fields({"b": TEXT})}), "'a.b' is missing"),
    ({"a": {"b": None}}, Fields({"a": Fields({"b": TEXT})}), "'a.b' is null; expected"),
    ([], Fields(), "is []; expected a dict"),
    ({"a": 1}, Fields(optional={"a": TEXT}), "'a' is 1; expected a string"),
    ({"a": 1}, Fields(others=TEXT), "'a' is 1; expected a string"),
    (True, whole(0), "is true; expected an integer"),
    (10**400, NUMBER, "below 10³⁰⁰"), (float("nan"), DURATION, "is NaN; expected a finite"),
    ([[1]], PLAIN, "or a flat list of these"), ([1, [2]], PLAIN, "or a flat list"),
    (5, Every(whole(1)), "'about' is 5; expected a list"),
    ([], SCALAR, "is []; expected a string, a number"),
    ([1], TREE, "0, null or nested lists"), ([False], TREE, "0, null or nested lists"),
    ([0, 1], TREE, "0, null or nested lists"),
    ([LINE, {}], HISTORY, "'[1].epoch' is missing"),
    ([LINE | {"valid_loss": "2"}], HISTORY, "'[0].valid_loss' is \"2\"; expected a number"),
    ([LINE | {"seconds": "2"}], HISTORY, "'[0].seconds' is \"2\"; expected"),
])
def test_invalid_values(value, schema, message):
    with pytest.raises(ValueError) as error:
        check(value, schema)
    assert message in str(error.value)


def test_long_values_are_shortened():
    assert short_json("x" * 28) == f'"{"x" * 28}"' and short_json("x" * 5000) == f'"{"x" * 29}…'
    assert short_json(["ü"]) == '["ü"]'


@pytest.mark.parametrize("value, holds", [
    (int(1e300) - 1, True), (int(1e300), False), (2 * 10**300 - 1, False), (1e308, True),
], ids=["below", "at", "above", "a float"])
def test_largest_number(value, holds):
    assert (value in NUMBER) is holds
    assert (value in FINITE) is (value in DURATION) is (value < 1e300)
