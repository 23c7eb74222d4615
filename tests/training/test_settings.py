"""Training options: valid values, parsing from text, and defaults."""

import math
import subprocess
import sys
from dataclasses import fields

import pytest

from numpy_attention.training.settings import (
    DIVISOR,
    FLAG,
    NORM,
    POSITIVE,
    SEEDS,
    LanguageModelTraining,
    Training,
    TranslatorTraining,
    choice,
    whole,
)

KINDS = Training, TranslatorTraining, LanguageModelTraining


@pytest.mark.parametrize("values, inside, outside", [
    (whole(1), [1, 10**9], [0, -1, 1.0, True, "1", None]),
    (whole(0), [0, 1], [-1]),
    (POSITIVE, [1, 1e-300], [0, -1.0, math.inf, math.nan, True, "1"]),
    (NORM, [5, math.inf], [0.0, -math.inf, math.nan]),
    (DIVISOR, [1, 1.2], [0.99, math.inf, math.nan]),
    (FLAG, [True, False], [0, 1, "True", None]),
    (choice("a", "b"), ["a", "b"], ["c", "", "ab", None, 0]),
])
def test_valid_and_invalid_values(values, inside, outside):
    assert all(value in values for value in inside)
    assert not any(value in values for value in outside)


@pytest.mark.parametrize("values, text, value", [
    (whole(1), "12", 12),
    (POSITIVE, "1e-3", 1e-3),
    (NORM, "inf", math.inf),
    (choice("a"), "a", "a"),
])
def test_parsing(values, text, value):
    assert values.read(text) == value


@pytest.mark.parametrize("values, text, expected", [
    (whole(5), "4", "an integer from 5 to 10⁹"),
    (whole(5), "6.0", "an integer from 5 to 10⁹"),
    (POSITIVE, "nan", "a positive number"),
    (POSITIVE, "much", "a positive number"),
    (choice("a", "b"), "c", "one of a, b"),
])
def test_parsing_errors(values, text, expected):
    with pytest.raises(ValueError, match=f"^got '{text}'; expected {expected}$"):
        values.read(text)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_an_option_with_a_valid_default(kind):
    for one in fields(kind):
        about = one.metadata
        assert one.default is None or one.default in about["values"], one.name
        assert about["help"] and "--" not in about["help"] and isinstance(about["offered"], bool)
        for setting, choices in about["of"].items():
            known = {other.name: other.metadata["values"].choices for other in fields(kind)}
            assert set(choices) < set(known[setting]), one.name


@pytest.mark.parametrize("kind, name, value, message", [
    (Training, "epochs", 0, "expected an integer from 1 to"),
    (Training, "minutes", 0.0, "expected a positive number"),
    (Training, "batch_size", None, "expected an integer"),
    (Training, "optimizer", "lion", "expected one of adam, adadelta, sgd"),
    (Training, "clip", 0, "expected a positive number, or inf to clip nothing"),
    (Training, "divisor", 0.5, "expected a number of at least 1"),
    (Training, "order_seed", -1, "expected an integer of at least 0"),
    (TranslatorTraining, "subwords", 4, "expected an integer from 5 to"),
    (TranslatorTraining, "reverse_source", 1, "expected True or False"),
    (LanguageModelTraining, "unit", "lines", "expected one of words, characters$"),
])
def test_invalid_settings(kind, name, value, message):
    with pytest.raises(ValueError, match=f"^{name} = {value!r}; {message}"):
        kind(**{name: value})


LEAST = {"epochs": 1, "batch_size": 1, "full_epochs": 0, "divisor": 1.0, "warmup": 1, "patience": 1,
         "save_steps": 1, "min_count": 1, "max_vocabulary": 5, "seed": 0, "order_seed": 0}


@pytest.mark.parametrize("kind, settings", [
    (Training, LEAST),
    (TranslatorTraining, LEAST | {"subwords": 5, "max_vocabulary": None}),
    (LanguageModelTraining, LEAST | {"steps": 1, "cut": 1}),
])
def test_smallest_valid_settings(kind, settings):
    assert settings.items() <= vars(kind(**settings)).items()


DEFAULTS = {
    "epochs": 10, "minutes": None, "batch_size": 64, "optimizer": "adam", "learning_rate": 0.001,
    "schedule": "constant", "full_epochs": 0, "divisor": 2.0, "warmup": 400, "clip": 1.0,
    "average": "sentence", "patience": None, "average_parameters_from": None, "keep": "best",
    "save_steps": None, "min_count": 1, "max_vocabulary": None, "freeze_vectors": False, "seed": 0,
    "order_seed": None,
}


@pytest.mark.parametrize("kind, defaults", [
    (Training, DEFAULTS),
    (TranslatorTraining, DEFAULTS | {"reverse_source": False, "subwords": None}),
    (LanguageModelTraining, DEFAULTS | {
        "batch_size": 20, "steps": 35, "cut": None, "state": "carried",
        "unit": "words", "frequencies": False}),
])
def test_defaults(kind, defaults):
    """Defaults must not change between versions."""
    assert vars(kind()) == defaults


def test_dependent_and_python_only_options():
    options = {one.name: one.metadata for kind in KINDS for one in fields(kind())}
    assert {name: about["of"] for name, about in options.items() if about["of"]} == {
        "full_epochs": {"schedule": ("decay",)}, "divisor": {"schedule": ("decay",)},
        "warmup": {"schedule": ("warmup",)}, "steps": {"state": ("carried", "article")},
        "cut": {"state": ("sentence",)},
    }
    python_only = {name for name, about in options.items() if not about["offered"]}
    assert python_only == {"average", "keep", "unit"}


def test_subwords_and_max_vocabulary_exclude_each_other():
    with pytest.raises(ValueError, match="^max_vocabulary = 9 .* subwords = 50"):
        TranslatorTraining(subwords=50, max_vocabulary=9)


def test_numpy_is_not_imported():
    """`--help` prints these options and must start quickly."""
    code = ("import sys, numpy_attention.training.settings; "
            "sys.exit('numpy' in sys.modules or 'numba' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_bounds_in_words():
    assert whole(1).expected == "an integer from 1 to 10⁹"
    assert whole(1, 2000).expected == "an integer from 1 to 2,000"
    assert 10**9 in whole(1) and 10**9 + 1 not in whole(1)
    assert 2**64 - 1 in SEEDS and 2**64 not in SEEDS


def test_linear_schedule_limits_epochs():
    """The linear schedule counts the steps of all epochs before the first one."""
    assert Training(schedule="linear", epochs=10_000).epochs == 10_000
    assert Training(schedule="constant", epochs=10_001).epochs == 10_001
    with pytest.raises(ValueError, match="use at most 10,000"):
        Training(schedule="linear", epochs=10_001)
