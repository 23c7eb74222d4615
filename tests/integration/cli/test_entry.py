"""An option's entry: what follows from it for help, for defaults, and for what is refused."""

import argparse

import pytest

from numpy_attention.cli.entry import (
    Against, By, Option, With, Without, flag, listed, settled, word)
from numpy_attention.cli.values import whole

OPTIONS = [
    Option("model", "which", default="a", choices=["a", "b", "c"]),
    Option("size", "how large", whole(1), By("model", {"a": 1, "b": 2, "c": 2})),
    Option("window", "of b", default="all", choices=["all", "near", "far"],
           only=[With("model", ["b", "c"], "--model {} has none")]),
    Option("width", "how wide", whole(1), 10, only=[Without("window", {"all": "all is seen"})]),
    Option("rate", "how fast", float, 0.5, only=[With("model", ["c"])]),
    flag("sample", "draw"),
    Option("beam", "search", whole(1), 5, only=[Against("sample", "--sample does not search")]),
    Option("seed", "of --sample", whole(0), 0, only=[With("sample", [True])]),
]


def help_of(name):
    return next(option for option in OPTIONS if option.name == name).help_text()


@pytest.mark.parametrize("given, expected", [
    ({}, dict(model="a", size=1, window=None, rate=None, beam=5, seed=None, sample=False)),
    ({"model": "b"}, dict(size=2, window="all", width=10, rate=None)),
    ({"model": "c", "window": "near"}, dict(window="near", width=10, rate=0.5)),
    ({"sample": True}, dict(seed=0, sample=True)),
    ({"size": 9}, dict(size=9)),
])
def test_what_is_not_given_has_its_default(given, expected):
    values = settled(OPTIONS, given)
    assert {name: values[name] for name in expected} == expected


@pytest.mark.parametrize("given, message", [
    ({"window": "near"},
     "--window is given, but --model a has none: leave it out, or choose --model b or c"),
    ({"model": "b", "width": 3},
     "--width is given, but all is seen: leave it out, or choose --window near or far"),
    ({"model": "b", "rate": 1},
     "--rate is given, but it belongs to --model c: leave it out, or choose --model c"),
    ({"seed": 0}, "--seed is given, but it belongs to --sample: leave it out"),
    ({"sample": True, "beam": 2}, "--beam is given, but --sample does not search: leave it out"),
])
def test_what_means_nothing_is_refused(given, message):
    with pytest.raises(ValueError) as error:
        settled(OPTIONS, given)
    assert str(error.value) == message


@pytest.mark.parametrize("name, text", [
    ("model", "which (default: a)"),
    ("size", "how large (default: 1 for a, 2 for b and c)"),
    ("window", "of --model b or c: of b (default: all)"),
    ("width", "how wide; not with --window all (default: 10)"),
    ("rate", "of --model c: how fast (default: 0.5)"),
    ("sample", "draw"),
    ("beam", "search; not with --sample (default: 5)"),
    ("seed", "of --sample: of --sample (default: 0)"),
])
def test_help_says_all_of_it(name, text):
    assert help_of(name) == text


@pytest.mark.parametrize("default, otherwise, kind, text", [
    (None, "", "value", "x"), (None, "what was there", "value", "x (default: what was there)"),
    (1e-3, "", "value", "x (default: 0.001)"), (1.0, "", "value", "x (default: 1)"),
    (True, "", "switch", "x (default: on)"), (False, "", "switch", "x (default: off)"),
    (False, "", "flag", "x"),
])
def test_defaults_are_written_as_one_would(default, otherwise, kind, text):
    option = Option("name", "x", default=default, otherwise=otherwise, kind=kind)
    assert option.help_text() == text


def test_argparse_knows_what_is_given():
    parser = argparse.ArgumentParser()
    options = [
        word("run", "folder", "RUN"), word("more", "words", "WORD", "*"),
        Option("max_length", "5 % of it", whole(1), 7), flag("all", "print"),
        Option("tied", "share", default=True, kind="switch"),
    ]
    for option in options:
        option.add_to(parser)
    nothing = dict(run="a", more=[], max_length=None, all=None, tied=None)
    assert vars(parser.parse_args(["a"])) == nothing
    everything = parser.parse_args("a b c --max-length 3 --all --no-tied".split())
    assert vars(everything) == dict(run="a", more=["b", "c"], max_length=3, all=True, tied=False)
    assert "5 % of it (default: 7)" in parser.format_help()
    with pytest.raises(argparse.ArgumentTypeError, match="'0': expected a whole number"):
        options[2].value("0")


def test_words_are_listed():
    assert listed([], "or") == ""
    assert listed(["a"], "or") == "a"
    assert listed(["a", "b", "c"], "and") == "a, b and c"
