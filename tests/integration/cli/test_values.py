"""Readers of option values: what they take, and how they say what they expected."""

import pytest

from numpy_attention.cli.values import (
    not_negative, picture, positive, seeds, share, share_kept, whole)

TAKEN = [
    (whole(2), "2", 2),
    (whole(0), "0", 0),
    (positive, "1e-3", 0.001),
    (share, "0", 0.0),
    (share, "0.99", 0.99),
    (not_negative, "0", 0.0),
    (share_kept, "1", 1.0),
    (seeds, "1", (1,)),
    (seeds, "0-2", (0, 1, 2)),
    (seeds, "5,0-1,3", (5, 0, 1, 3)),
    (seeds, "7-7", (7,)),
    (seeds, str(2**64 - 1), (2**64 - 1,)),
    (seeds, "0-999", tuple(range(1000))),
    (picture, "b.png", "b.png"),
    (picture, "B.SVG", "B.SVG"),
]
REFUSED = [
    (whole(2), "1", "whole number of at least 2"),
    (whole(0), "-1", "at least 0"),
    (whole(0), "1.5", "whole number"),
    (whole(0), "", "whole number"),
    (positive, "0", "a positive number"),
    (positive, "inf", "a positive number"),
    (positive, "nan", "a positive number"),
    (positive, "two", "number"),
    (share, "1", "below 1"),
    (share, "-0.1", "0 or more"),
    (share, "nan", "share"),
    (not_negative, "-1", "at least 0"),
    (not_negative, "inf", "at least 0"),
    (share_kept, "0", "above 0"),
    (share_kept, "1.1", "at most 1"),
    (seeds, "", "such as 0-2 or 0,3,5"),
    (seeds, "2-0", "such as"),
    (seeds, "0-2,5-4", "such as"),
    (seeds, "0,", "such as"),
    (seeds, "1-", "such as"),
    (seeds, "0-1-2", "such as"),
    (seeds, "0-2,1", "each once"),
    (seeds, "0-1000", "at most 1,000"),
    (seeds, "0-18446744073709551615", "at most 1,000"),
    (seeds, "18446744073709551616", "below 2⁶⁴"),
    (picture, "a.gif", ".png"),
    (picture, "no/folder.png", "there is no folder no"),
    (picture, "png", ".png"),
]


@pytest.mark.parametrize("read, text, value", TAKEN)
def test_taken(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize("read, text, expected", REFUSED)
def test_refused(read, text, expected):
    with pytest.raises(ValueError) as error:
        read(text)
    assert repr(text) in str(error.value)
    assert expected in str(error.value)
