"""Pairs and their word links, and limits on length and count."""

import re

import numpy as np
import pytest

from numpy_attention.data.pairs import Pair, as_pairs, limited


def test_possible_links_contain_the_sure_ones():
    pair = Pair(("a", "b"), ("x", "y", "z"), sure={(0, 1)}, possible={(1, 2)})
    assert pair.possible == {(0, 1), (1, 2)} and pair.sure == {(0, 1)}
    assert Pair(["a"], ["x"], sure={(0, 0)}).possible == {(0, 0)}
    assert Pair(["a"], ["x"]) == Pair(("a",), ("x",))
    same = Pair(("a", "b"), ("x", "y", "z"), frozenset({(0, 1)}), frozenset({(1, 2)}))
    assert hash(pair) == hash(same)


def test_reversed_swaps_sides_and_links():
    pair = Pair(("a", "b"), ("x", "y", "z"), {(0, 2)}, {(1, 1)})
    assert pair.reversed() == Pair(("x", "y", "z"), ("a", "b"), {(2, 0)}, {(1, 1)})
    assert pair.reversed().reversed() == pair


@pytest.mark.parametrize("link", [(2, 0), (0, 1), (-1, 0), (0, -1)])
def test_links_out_of_range_raise(link):
    with pytest.raises(ValueError, match="position (2|1|-1), which .* has [12] tokens?[.] P"):
        Pair(("a", "b"), ("x",), possible={link})


@pytest.mark.parametrize("field, holds, link", [
    ("sure", list, (True, 0)), ("possible", set, (0, 0.0)), ("sure", set, (0,)),
    ("possible", list, "00")])
def test_links_must_be_pairs_of_integers(field, holds, link):
    message = f"a link in `{field}` is {link!r}; expected two integers, (source position"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        Pair(("a", "b"), ("x",), **{field: holds([link])})


def test_numpy_integers_are_valid_links():
    pair = Pair(("a", "b"), ("x",), sure=np.array([[1, 0]]))
    assert pair == Pair(("a", "b"), ("x",), sure={(1, 0)})


def pairs_of(*lengths):
    return [Pair(("a",) * source, ("x",) * target) for source, target in lengths]


def test_limits():
    pairs = pairs_of((1, 1), (1, 4), (2, 3), (3, 2), (5, 3))
    assert limited(pairs, "some") == pairs
    assert limited(pairs, "some", 2) == pairs_of((2, 3), (3, 2), (5, 3))
    assert limited(pairs, "some", 2, 3) == pairs_of((2, 3), (3, 2))
    assert limited(pairs, "some", None, 3, count=2) == pairs_of((1, 1), (2, 3))
    assert limited(pairs, "some", count=9) == pairs


@pytest.mark.parametrize("limits, message", [
    ((None, 2), "no pair in 'some' has at most 2 tokens on both sides; increase max_length"),
    ((4, None), "has at least 4 tokens on both sides; reduce min_length, or"),
    ((4, 9), "has 4 to 9 tokens on both sides; change min_length and max_length, or"),
])
def test_limits_that_leave_no_pairs_raise(limits, message):
    with pytest.raises(ValueError, match=message):
        limited(pairs_of((3, 3)), "some", *limits)


def test_string_in_a_list_is_named_with_its_number():
    with pytest.raises(TypeError, match=r"pairs\[1\]: target is the string 'un día'; expected"):
        as_pairs([(["a", "day"], ["un", "día"]), (["a", "day"], "un día")])
