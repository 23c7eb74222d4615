"""Slips of a statement, a condition, a loop, an order, a number: what is written for each."""

import pytest

from numpy_attention.course.exercises.operators import slips
from numpy_attention.course.exercises.wider import wider


def written(*lines):
    """{the lines of a slip: what is said of it} of a function of these lines."""
    text = "\n    ".join(["def f(x, y, n):", *lines])
    return {slip.text.partition("\n    ")[2].replace("\n    ", "; "): slip.what
            for slip in wider(text, "f")}


@pytest.mark.parametrize("lines, other, what", [
    (["return x"], "return 2 * x", "a factor 2 too many"),
    (["return x"], "return x / 2", "a factor ½ too many"),
    (["return (x, y)"], "return (x, 0 * y)", "nothing comes through"),
    (["return x"], "return x / np.shape(x)[0]",
     "divided by a length of `x`, as if it were a mean"),
    (["x -= y"], "x += y", "a plus for a minus"),
    (["if x < y:", "    x = y"], "if x <= y:;     x = y", "< for ≤, or the other way round"),
    (["if x < y:", "    x = y"], "if True:;     x = y", "a condition that is left out"),
    (["if x < y:", "    x = y"], "if False:;     x = y", "a case that is left out"),
    (["while x < y:", "    x = y"], "while not x < y:;     x = y", "the opposite condition"),
    (["for x in y:", "    n = x"], "for x in list(y)[1:]:;     n = x", "the first is left out"),
    (["for x in y:", "    n = x"], "for x in list(y)[::-1]:;     n = x", "the other way round"),
    (["x = y", "n = x"], "n = x; x = y", "two steps in the other order"),
    (["for x in y:", "    n = x", "y = n"], "for x in y:;     n = x;     y = n",
     "a step within the loop that belongs behind it"),
    (["for x in y:", "    n = x", "    y = n"], "for x in y:;     n = x; y = n",
     "a step behind the loop that belongs into it"),
    (["x = y ** 2"], "x = y ** (2 - 1)", "another number"),
    (["x = np.sqrt(y) + n"], "x = np.sqrt(y + n)", "added within the root, not behind it"),
    (["x = np.sqrt(y + n)"], "x = np.sqrt(y) + n", "added behind the root, not within it"),
])
def test_a_slip(lines, other, what):
    assert written(*lines)[other] == what


def test_what_leaves_a_loop_out_of_turn():
    text = "def f(x):\n    for y in x:\n        if y:\n            continue\n        z = y\n"
    assert any("continue" not in slip.text and slip.what == "continue that is left out"
               for slip in wider(text, "f"))


def test_nothing_that_the_others_have():
    text = "def f(x, y):\n    z = x * y\n    return z * 2"
    others = {slip.text for slip in slips(text, "f")}
    found = [slip.text for slip in wider(text, "f")]
    assert len(found) == len(set(found))
    assert not others & {text, *found}
