"""Checks of arguments that are not arrays: errors, each with a message on one line."""

from pathlib import Path

import numpy as np
import pytest

from numpy_attention.validation import arguments as a

RNG = np.random.default_rng(0)


INVALID = {
    "None of a kind": (lambda: a.check_kind("text", None, str, "a text"),
                       TypeError, "^text is None; expected a text$"),
    "a class with the methods": (lambda: a.check_methods("model", Path, "a model", "exists"),
                                 TypeError, "^model is the class Path; pass an instance$"),
    "no function": (lambda: a.check_function("keep", 7, "a function"),
                    TypeError, "^keep is 7, of type int; expected a function$"),
    "a seed": (lambda: a.check_generator(7), TypeError, "^rng is 7, of type int; expected numpy"),
    "NumPy's older kind": (lambda: a.check_generator(np.random.RandomState(0)),
                           TypeError, "RandomState"),
    "a word for a flag": (lambda: a.check_flags(tied="no"),
                          TypeError, "^tied is 'no', of type str; expected True or False$"),
    "one for a flag": (lambda: a.check_flags(tied=1), TypeError, "tied is 1"),
    "NaN": (lambda: a.check_number("p", np.nan, 0, 1, "a fraction"),
            ValueError, "^p = nan; expected a fraction$"),
    "infinity": (lambda: a.check_number("p", np.inf), ValueError, "p = inf; expected a finite n"),
    "an integer that is no float": (lambda: a.check_number("p", 10**400), ValueError,
                                        "p = 1000"),
    "True for a number": (lambda: a.check_number("p", True), ValueError, "p = True"),
    "text for a number": (lambda: a.check_number("p", "3"), ValueError, "p = '3'"),
    "too small": (lambda: a.check_number("p", -0.1, 0), ValueError, "p = -0.1"),
    "a list for a name": (lambda: a.check_name("cell", ["gru"], ("gru", "rnn")),
                          ValueError, r"^cell = \['gru'\]; expected one of 'gru', 'rnn'$"),
    "one of many names": (lambda: a.check_name("name", "x", [f"name{i}" for i in range(90)]),
                          ValueError, r"'name0', 'name1', .*', … \(90 in all\)$"),
    "half of a character": (lambda: a.check_text("title", "\ud800"), ValueError, "surrogate"),
    "a string for a list": (lambda: a.check_list("ids", "ab", "ids"), TypeError, "list of ids$"),
    "a set for a list": (lambda: a.as_list("tokens", {"a"}, "tokens"), TypeError, "list of tokens"),
    "a dict for a list": (lambda: a.as_list("tokens", {"a": 1}, "tokens"), TypeError, "list of"),
    "a number for a list": (lambda: a.as_list("tokens", np.array(3), "tokens"), TypeError, "list"),
    "floats for ids": (lambda: a.as_integers("ids", [4, 5.5]), TypeError, "ids contains 5.5; .*64"),
    "lists for ids": (lambda: a.as_integers("ids", [[4], [5, 6]]), TypeError, "^ids has 2 dim"),
    "rows of ids": (lambda: a.as_integers("ids", [[4], [5]]), TypeError, "^ids has 2 dimensions; "),
    "huge ids": (lambda: a.as_integers("ids", [10**20]), TypeError, "contains 10*; expected 64-"),
    "complex numbers": (lambda: a.as_numbers("weights", [1j]), TypeError, "contains complex"),
    "numbers in words": (lambda: a.as_numbers("weights", ["1"]), TypeError, "contains text; "),
    "one string": (lambda: a.check_tokens("prompt", "a b"),
                   TypeError, r"^prompt is the string 'a b'; .* Split it with .split\(\)"),
    "bytes among tokens": (lambda: a.check_tokens("prompt", ["a", b"b"]),
                           TypeError, "^prompt contains b'b', of type bytes; expected only"),
    "tokens in rows": (lambda: a.check_tokens("prompt", np.array([["a"]])),
                       TypeError, "an array with 2 dimensions"),
    "another thing": (lambda: a.check_all("pairs", ["a", 7], str, "a Pair"),
                      TypeError, r"^pairs\[1\] is 7, of type int; expected a Pair$"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_arguments(name):
    call, error, words = INVALID[name]
    with pytest.raises(error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_valid_arguments():
    a.check_kind("text", "x", str, "a text")
    a.check_methods("model", Path("x"), "a model", "exists")
    a.check_function("keep", len, "a function")
    a.check_generator(RNG)
    a.check_flags(tied=True, bias=np.False_)
    a.check_number("p", np.float32(0.5), 0, 1)
    a.check_number("clip", np.inf, 0, finite=False)
    a.check_name("cell", np.str_("gru"), {"gru": 1})
    a.check_text("title", "né\0")
    a.check_list("ids", range(3), "ids")
    a.check_tokens("prompt", np.array(["a", "b"]))
    a.check_all("pairs", ["a"], str, "a word")
    assert a.as_list("tokens", (c for c in "ab"), "tokens") == ["a", "b"]
    assert a.as_integers("ids", []).shape == (0,)
    np.testing.assert_array_equal(a.as_integers("ids", (4, 5)), [4, 5])
    np.testing.assert_array_equal(a.as_numbers("weights", [[True, 2]]), [[1.0, 2.0]])
