import numpy as np
import pytest

from numpy_attention.data.datasets.dates import dates
from numpy_attention.data.datasets.generators import copy, distinct, reverse
from numpy_attention.data.datasets.grammar import _pair, grammar_en_fr
from numpy_attention.data.pairs import Pair

GENERATORS = [copy, reverse, dates, grammar_en_fr]


@pytest.mark.parametrize("generate", GENERATORS)
def test_sources_are_distinct_and_depend_on_the_seed(generate):
    pairs = generate(np.random.default_rng(3), 300)
    assert len(pairs) == 300 == len({pair.source for pair in pairs})
    assert pairs == generate(np.random.default_rng(3), 300)
    assert pairs != generate(np.random.default_rng(4), 300)


@pytest.mark.parametrize("generate, step", [(copy, 1), (reverse, -1)])
def test_copy_and_reverse(generate, step):
    pairs = generate(np.random.default_rng(0), 200)
    assert pairs == generate(np.random.default_rng(0), 200, 20, 3, 12)
    assert {len(pair.source) for pair in pairs} == set(range(3, 13))
    assert {word for pair in pairs for word in pair.source} == set(map(str, range(20)))
    for pair in pairs:
        places = range(len(pair.source))
        assert pair.target == pair.source[::step] and pair.sure == set(zip(places, places[::step]))
    assert [pair.source for pair in pairs] == [
        pair.source for pair in copy(np.random.default_rng(0), 200)]


def test_smallest_and_largest_valid_sizes():
    rng = np.random.default_rng(0)
    (one,) = copy(rng, 1, vocabulary_size=1, min_length=1, max_length=1)
    assert one == Pair(["0"], ["0"], {(0, 0)})
    (long,) = copy(rng, 1, min_length=1000, max_length=1000)
    assert len(long.source) == 1000
    with pytest.raises(ValueError, match="min_length = 3 and max_length = 1001; expected 1 ≤"):
        copy(rng, 1, max_length=1001)
    assert copy(rng, 1, vocabulary_size=2**31 - 1)
    with pytest.raises(ValueError, match="vocabulary_size = "):
        copy(rng, 1, vocabulary_size=2**31)
    with pytest.raises(ValueError, match="only 10 exist .* lengths from 3 to 12; ask"):
        copy(rng, 10_000_000, vocabulary_size=1)


def test_impossible_requests_raise():
    every = copy(np.random.default_rng(0), 14, vocabulary_size=2, min_length=1, max_length=3)
    assert len(every) == 14
    with pytest.raises(ValueError, match="only 14 exist for vocabulary_size = 2"):
        copy(np.random.default_rng(0), 15, vocabulary_size=2, min_length=1, max_length=3)
    with pytest.raises(ValueError, match="2 different .*, but only 1 could be found"):
        distinct(lambda rng: Pair(["a"], ["a"]), np.random.default_rng(0), 2, max_misses=50)


def sentence(english, french):
    sides = [[tuple(word.split("/")) for word in side.split()] for side in (english, french)]
    return _pair(*sides)


def test_elision_depends_on_the_next_word():
    pair = sentence("the/d man/n", "le/d homme/n")
    assert pair.target == ("l'", "homme") and pair.sure == {(0, 0), (1, 1)}
    assert sentence("the/d hero/n", "le/d héros/n").target == ("le", "héros")
    assert sentence("this/d church/n", "ma/d église/n").target == ("mon", "église")
    assert sentence("i/s see/v", "je/s vois/v").target == ("je", "vois")


def some_pair(rng):
    return Pair(["a"], ["x"])


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("call, error, message", [
    (lambda: distinct(some_pair, 0, 1), TypeError, "rng is .*, of type"),
    (lambda: distinct(some_pair, RNG, 0), ValueError, "count = 0; "),
    (lambda: distinct(some_pair, RNG, 10_000_001), ValueError, "count = 10000001; "),
    (lambda: distinct(lambda rng: 3, RNG, 1), TypeError, "the return value of `draw` is 3, of"),
    (lambda: copy(RNG, 0.5), ValueError, "count = 0.5; "),
    (lambda: copy(RNG, 1, 0), ValueError, "vocabulary_size = 0; "),
    (lambda: copy(RNG, 1, 20, 0), ValueError, "min_length = 0; "),
    (lambda: copy(RNG, 1, 20, 1, 0), ValueError, "max_length = 0; "),
    (lambda: copy(RNG, 1, 20, 5, 4), ValueError, "^min_length = 5 and max_length = 4; exp"),
])
def test_invalid_arguments(call, error, message):
    with pytest.raises(error, match="^" + message):
        call()


def test_keep_sees_the_pair_that_is_returned():
    for generate, side in ((copy, "source"), (reverse, "source"), (reverse, "target")):
        def keep(pair):
            return getattr(pair, side)[0] == "7"

        assert all(map(keep, generate(np.random.default_rng(0), 20, keep=keep)))


def draw_in_turn(sources):
    """Return a function that draws these sources in turn, and those that remain."""
    left = list(sources)
    return lambda rng: Pair([left.pop(0)], ["x"]), left


def test_only_consecutive_misses_count():
    rng = np.random.default_rng(0)
    draw, left = draw_in_turn("aaabbbcccd")
    found = distinct(draw, rng, 4, max_misses=3)
    assert [pair.source for pair in found] == [("a",), ("b",), ("c",), ("d",)] and not left
    draw, left = draw_in_turn("aabbbcd")
    with pytest.raises(ValueError, match="4 different .*, but only 2 could be found"):
        distinct(draw, rng, 4, max_misses=2)
    assert left == ["c", "d"]


def test_distinct_gives_up_after_20_000_misses():
    draw, left = draw_in_turn("a" * 20_010)
    with pytest.raises(ValueError, match="only 1 could be"):
        distinct(draw, np.random.default_rng(0), 2)
    assert len(left) == 9
    draw, left = draw_in_turn("a")
    assert len(distinct(draw, np.random.default_rng(0), 1)) == 1
