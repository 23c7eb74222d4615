import numpy as np
import pytest

from numpy_attention.data.datasets.dates import dates
from numpy_attention.data.datasets.generators import copy, distinct, reverse
from numpy_attention.data.datasets.grammar import _pair, grammar_en_fr
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
    with pytest.raises(ValueError, match="only 1 different sources found of the 2"):
        distinct(lambda rng: Pair(["a"], ["a"]), np.random.default_rng(0), 2, max_misses=50)


def sentence(english, french):
    sides = [[tuple(word.split("/")) for word in side.split()] for side in (english, french)]
    return _pair(*sides, ())


def test_elision_depends_on_the_next_word():
    pair = sentence("the/d man/n", "le/d homme/n")
    assert pair.target == ("l'", "homme") and pair.sure == {(0, 0), (1, 1)}
    assert sentence("the/d hero/n", "le/d héros/n").target == ("le", "héros")
    assert sentence("this/d church/n", "ma/d église/n").target == ("mon", "église")
    assert sentence("i/s see/v", "je/s vois/v").target == ("je", "vois")


def test_reverse_reads_the_sequences_of_copy_backwards():
    copied = copy(np.random.default_rng(1), 50)
    assert copied == copy(np.random.default_rng(1), 50, 20, 3, 12)
    turned = reverse(np.random.default_rng(1), 50)
    assert turned == reverse(np.random.default_rng(1), 50, 20, 3, 12)
    assert [pair.source for pair in turned] == [pair.source for pair in copied]


@pytest.mark.parametrize("generate", [copy, reverse])
def test_the_least_and_the_most_that_can_be_asked_for(generate):
    rng = np.random.default_rng(0)
    (one,) = generate(rng, 1, vocabulary_size=1, min_length=1, max_length=1)
    assert one == Pair(["0"], ["0"], {(0, 0)})
    (long,) = generate(rng, 1, min_length=1000, max_length=1000)
    assert len(long.source) == 1000
    with pytest.raises(ValueError, match="lengths 3 to 1001; expected 1 ≤ min_length"):
        generate(rng, 1, max_length=1001)
    (far,) = generate(rng, 1, vocabulary_size=2**31 - 1)
    assert all(0 <= int(token) < 2**31 - 1 for token in far.source)
    with pytest.raises(ValueError, match="vocabulary_size = "):
        generate(rng, 1, vocabulary_size=2**31)
    with pytest.raises(ValueError, match="make only 10 of length 3 to 12"):
        generate(rng, 10_000_000, vocabulary_size=1)
    with pytest.raises(ValueError, match="count = "):
        generate(rng, 10_000_001, vocabulary_size=1)


def some_pair(rng):
    return Pair(["a"], ["x"])


RNG = np.random.default_rng(0)
REFUSED = {
    "a seed": (lambda: distinct(some_pair, 0, 1), TypeError, "rng is int"),
    "a seed for copies": (lambda: copy(0, 1), TypeError, "rng is int"),
    "no pairs": (lambda: distinct(some_pair, RNG, 0), ValueError, "count = 0: "),
    "too many": (lambda: distinct(some_pair, RNG, 10_000_001), ValueError, "count = 10000001: "),
    "no copies": (lambda: copy(RNG, 0), ValueError, "count = 0: "),
    "half a copy": (lambda: copy(RNG, 0.5), ValueError, "count = 0.5: "),
    "no misses": (lambda: distinct(some_pair, RNG, 1, None, 0), ValueError, "max_misses = 0: "),
    "no function": (lambda: distinct(1, RNG, 1), TypeError, "draw is 1, of type int: expected a f"),
    "nothing to ask": (lambda: distinct(some_pair, RNG, 1, 3), TypeError, "keep is 3, of type int"),
    "no pair": (lambda: distinct(lambda rng: 3, RNG, 1), TypeError, "what `draw` gives is 3, of"),
    "nothing to choose": (lambda: copy(RNG, 1, 0), ValueError, "vocabulary_size = 0: "),
    "no length": (lambda: copy(RNG, 1, 20, 0), ValueError, "min_length = 0: "),
    "no length at most": (lambda: copy(RNG, 1, 20, 1, 0), ValueError, "max_length = 0: "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_drawn_is_refused_by_its_name(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match="^" + message):
        call()


def test_as_many_as_go_into_memory_may_be_asked_for():
    def stop(rng):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        distinct(stop, RNG, 10_000_000)


def one_after(sources):
    """What draws a pair of each of these in turn, and the sources left."""
    left = list(sources)
    return lambda rng: Pair([left.pop(0)], ["x"]), left


def test_only_misses_in_a_row_are_counted():
    rng = np.random.default_rng(0)
    draw, left = one_after("aaabbbcccd")
    found = distinct(draw, rng, 4, max_misses=3)
    assert [pair.source for pair in found] == [("a",), ("b",), ("c",), ("d",)] and not left
    draw, left = one_after("aabbbcd")
    with pytest.raises(ValueError, match="only 2 different sources found of the 4 asked for"):
        distinct(draw, rng, 4, max_misses=2)
    assert left == ["c", "d"]


def test_misses_count_from_the_first_draw():
    draw, left = one_after("abcd")
    (found,) = distinct(draw, np.random.default_rng(0), 1, lambda p: p.source == ("c",), 3)
    assert found.source == ("c",) and left == ["d"]
    draw, left = one_after("abcd")
    with pytest.raises(ValueError, match="only 0 different"):
        distinct(draw, np.random.default_rng(0), 1, lambda p: False, 1)
    assert left == ["b", "c", "d"]


def test_distinct_gives_up_after_20_000_misses():
    draw, left = one_after("a" * 20_010)
    with pytest.raises(ValueError, match="only 1 different"):
        distinct(draw, np.random.default_rng(0), 2)
    assert len(left) == 9
    draw, left = one_after("a")
    assert len(distinct(draw, np.random.default_rng(0), 1)) == 1
