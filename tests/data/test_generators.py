import datetime

import numpy as np
import pytest

from numpy_attention.data import dates as dates_module
from numpy_attention.data.dates import dates
from numpy_attention.data.generators import copy, distinct, reverse
from numpy_attention.data.grammar import _pair, grammar_en_fr
from numpy_attention.data.pairs import Pair

GENERATORS = [copy, reverse, dates, grammar_en_fr]


@pytest.mark.parametrize("generate", GENERATORS)
def test_sources_are_distinct_and_the_seed_decides(generate):
    pairs = generate(np.random.default_rng(3), 300)
    assert len(pairs) == 300 == len({pair.source for pair in pairs})
    assert pairs == generate(np.random.default_rng(3), 300)
    assert pairs != generate(np.random.default_rng(4), 300)


def test_copy_and_reverse():
    for pair in copy(np.random.default_rng(0), 200, vocabulary_size=5, min_length=2, max_length=6):
        assert pair.target == pair.source and 2 <= len(pair.source) <= 6
        assert pair.sure == {(k, k) for k in range(len(pair.source))}
        assert set(pair.source) <= set("01234")
    pairs = reverse(np.random.default_rng(0), 200)
    assert {len(pair.source) for pair in pairs} == set(range(3, 13))
    for pair in pairs:
        assert pair.target == pair.source[::-1] and len(pair.sure) == len(pair.source)
        for i, j in pair.sure:
            assert pair.source[i] == pair.target[j] and i + j == len(pair.source) - 1


def test_impossible_requests_end_in_an_error():
    every = copy(np.random.default_rng(0), 14, vocabulary_size=2, min_length=1, max_length=3)
    assert len(every) == 14
    with pytest.raises(ValueError, match="make only 14 of length 1 to 3"):
        copy(np.random.default_rng(0), 15, vocabulary_size=2, min_length=1, max_length=3)
    for options in ({"vocabulary_size": 0}, {"min_length": 0}, {"min_length": 5, "max_length": 4},
                    {"max_length": 10**20}):
        with pytest.raises(ValueError, match="(size|length) = 0: expected a whole|1 ≤ min_length"):
            reverse(np.random.default_rng(0), 1, **options)
    with pytest.raises(ValueError, match="count = 0"):
        dates(np.random.default_rng(0), 0)
    with pytest.raises(ValueError, match="only 1 different sources found of the 2"):
        distinct(lambda rng: Pair(["a"], ["a"]), np.random.default_rng(0), 2, max_misses=50)
    for years in ((2001, 2000), (999, 2000), (2000, 10_000)):
        with pytest.raises(ValueError, match="expected 1000|number of at least 1,?000"):
            dates(np.random.default_rng(0), 1, *years)


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


def test_dates_read_back():
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


def test_months_may_be_possible_only():
    for pair in dates(np.random.default_rng(0), 200, sure_months=False):
        assert all(pair.source[i].isdigit() for i, _ in pair.sure)
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
            assert spelled.setdefault(text, date) == date  # one spelling never means two days


def sentence(english, french):
    sides = [[tuple(word.split("/")) for word in side.split()] for side in (english, french)]
    return _pair(*sides, ())


def test_elision_depends_on_the_next_word():
    pair = sentence("the/d man/n", "le/d homme/n")
    assert pair.target == ("l'", "homme") and pair.sure == {(0, 0), (1, 1)}
    assert sentence("the/d hero/n", "le/d héros/n").target == ("le", "héros")
    assert sentence("this/d church/n", "ma/d église/n").target == ("mon", "église")
    assert sentence("i/s see/v", "je/s vois/v").target == ("je", "vois")
