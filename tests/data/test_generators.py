import datetime

import numpy as np
import pytest

from numpy_attention.data import dates as dates_module
from numpy_attention.data.generators import copy, dates, grammar_en_fr, reverse, split
from numpy_attention.data.grammar import _pair
from numpy_attention.data.pairs import Pair
from numpy_attention.data.splits import distinct, split_of, split_pairs

GENERATORS = [copy, reverse, dates, grammar_en_fr]


@pytest.mark.parametrize("generate", GENERATORS)
def test_sources_are_distinct_and_the_seed_decides(generate):
    pairs = generate(np.random.default_rng(3), 300)
    assert len(pairs) == 300 == len({pair.source for pair in pairs})
    assert pairs == generate(np.random.default_rng(3), 300)
    assert pairs != generate(np.random.default_rng(4), 300)


@pytest.mark.parametrize("generate", GENERATORS)
def test_splits_share_no_source_for_any_seed(generate):
    sizes = {"train": 200, "valid": 15, "test": 10}
    first = split(generate, np.random.default_rng(0), **sizes)
    second = split(generate, np.random.default_rng(1), **sizes)
    assert [len(part) for part in first] == [200, 15, 10]
    sources = [{pair.source for pairs in parts for pair in pairs} for parts in zip(first, second)]
    train, valid, test = sources
    assert not train & valid and not train & test and not valid & test


def test_split_by_target_keeps_dates_apart():
    options = {"first_year": 2000, "last_year": 2001, "key": lambda pair: pair.target}
    parts = split(dates, np.random.default_rng(0), train=1500, valid=50, test=50, **options)
    days = [{pair.target for pair in part} for part in parts]
    assert not days[0] & days[1] and not days[0] & days[2] and not days[1] & days[2]


def test_split_of_looks_at_words_only():
    sentences = [f"w{k} and v{k % 7}".split() for k in range(2000)]
    found = [split_of(sentence) for sentence in sentences]
    shouted = [[word.upper() for word in sentence] + ["!"] for sentence in sentences]
    assert found == [split_of(sentence) for sentence in shouted]
    assert 60 < found.count("test") < 140 and 60 < found.count("valid") < 140
    assert split_of(["!"]) in ("train", "valid", "test")
    assert split_of("in the beginning".split(), held_out=0.999) != "train"


def test_split_pairs_keeps_every_pair_once():
    pairs = [Pair([str(k % 150)], [str(k)]) for k in range(300)]
    parts = split_pairs(pairs, held_out=0.2)
    together = [pair for part in parts for pair in part]
    assert sorted(pair.target for pair in together) == sorted(pair.target for pair in pairs)
    assert not {p.source for p in parts[0]} & {p.source for p in parts[1] + parts[2]}
    with pytest.raises(ValueError, match="1 pairs leave the .* part empty"):
        split_pairs(pairs[:1])
    with pytest.raises(ValueError, match="held_out = 1.5"):
        split_pairs(pairs, 1.5)


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
    for options in ({"vocabulary_size": 0}, {"min_length": 0}, {"min_length": 5, "max_length": 4}):
        with pytest.raises(ValueError, match="expected vocabulary_size"):
            reverse(np.random.default_rng(0), 1, **options)
    with pytest.raises(ValueError, match="count = 0"):
        dates(np.random.default_rng(0), 0)
    with pytest.raises(ValueError, match="only 1 different sources found of the 2"):
        distinct(lambda rng: Pair(["a"], ["a"]), None, 2, max_misses=50)
    for years in ((2001, 2000), (999, 2000), (2000, 10_000)):
        with pytest.raises(ValueError, match="expected 1000"):
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
