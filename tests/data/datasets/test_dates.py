"""Dates in many spellings: their meaning, and which characters are linked."""

import datetime

import numpy as np
import pytest

from numpy_attention.data.datasets import dates as dates_module
from numpy_attention.data.datasets.dates import dates


@pytest.mark.parametrize(
    "layout, text, sure, possible",
    [
        ("{Month} {th}, {yyyy}", "March 3rd, 2020", {(0, 5), (0, 6), (6, 9)},
         {(k, j) for k in range(5) for j in (5, 6)} | {(6, 8)}),
        ("{Wed} {dd} {Mon} {yyyy}", "Tue 03 Mar 2020", {(4, 8), (5, 9), (7, 5), (7, 6)},
         {(k, j) for k in (7, 8, 9) for j in (5, 6)}),
        ("{m}/{d}/{yyyy}", "3/3/2020", {(0, 6), (2, 9)}, {(0, 5), (2, 8)}),
        ("{dd}.{mm}.{yyyy}", "03.03.2020", {(0, 8), (1, 9), (3, 5), (4, 6)}, set()),
    ],
)  # fmt: skip
def test_date_links(layout, text, sure, possible):
    pair = dates_module.date_pair(datetime.date(2020, 3, 3), layout)
    year = {(text.index("2020") + k, k) for k in range(4)}
    assert "".join(pair.source) == text and "".join(pair.target) == "2020-03-03"
    assert pair.sure == sure | year and pair.possible == sure | year | possible


def test_dates_can_be_parsed_back():
    pairs = dates(np.random.default_rng(0), 3000)
    lower = sum("".join(pair.source).islower() for pair in pairs)
    with_letters = sum(any(map(str.isalpha, pair.source)) for pair in pairs)
    assert 0.2 < lower / with_letters < 0.3 and len(dates_module.FORMATS) >= 10
    for pair in pairs:
        date = datetime.date.fromisoformat("".join(pair.target))
        assert 1900 <= date.year <= 2099
        text = "".join(pair.source).lower()
        for weekday in dates_module.WEEKDAYS:
            if weekday[:3].lower() in text:
                assert dates_module.WEEKDAYS[date.weekday()] == weekday
        for i, j in pair.sure:
            if pair.source[i].isdigit():
                assert pair.source[i] == pair.target[j]
            else:
                month = dates_module.MONTHS[date.month - 1]
                assert j in (5, 6) and text[i:i + 3] == month[:3].lower()
        assert not {j for _, j in pair.possible} & {4, 7}
        assert {j for _, j in pair.possible} == {0, 1, 2, 3, 5, 6, 8, 9}


def test_ordinals_and_ambiguous_orders():
    day = datetime.date(2023, 1, 1)
    ordinals = [dates_module._suffix(k) for k in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 30, 31)]
    assert ordinals == ["st", "nd", "rd", "th", "th", "th", "th", "st", "nd", "rd", "th", "st"]
    spelled = {}
    for shift in range(365):
        for layout in dates_module.FORMATS:
            date = day + datetime.timedelta(shift)
            text = dates_module.date_pair(date, layout).source
            assert spelled.setdefault(text, date) == date  # a spelling has one meaning


DAY = datetime.date(2020, 3, 3)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("arguments, message", [
    ((RNG, 1, 999, 2000), "first_year = 999; expected"),
    ((RNG, 1, 2000, 10_000), "last_year = 10000; expected"),
    ((RNG, 1, 2001, 2000), "first_year = 2001 and last_year = 2000; expected 1000 ≤ first"),
])
def test_invalid_years(arguments, message):
    with pytest.raises(ValueError, match="^" + message):
        dates(*arguments)


def test_first_and_last_valid_year():
    for year in (1000, 9999):
        (pair,) = dates(np.random.default_rng(0), 1, year, year)
        assert pair.target[:4] == tuple(str(year))


def test_seeded_dates_do_not_change_between_versions():
    pairs = dates(np.random.default_rng(0), 6)
    assert ["".join(pair.source) for pair in pairs] == [
        "Sat 15 Feb 2070", "16 dec 1953", "19 january 1915", "Sun 27 Aug 2062",
        "Friday, September 22nd, 2000", "Fri 24 Nov 2045",
    ]  # fmt: skip
