"""Bootstrap confidence intervals: coverage, weighting, and argument errors."""

import numpy as np
import pytest

from numpy_attention.bootstrap import Interval, mean_interval


def test_interval_of_many_numbers_is_normal(rng):
    totals = rng.normal(3.0, 2.0, 4000)
    found = mean_interval(totals, np.ones(4000), rng)
    error = totals.std() / np.sqrt(4000)
    assert found.mean == pytest.approx(totals.mean())
    assert found.low == pytest.approx(found.mean - 1.96 * error, abs=0.2 * error)
    assert found.high == pytest.approx(found.mean + 1.96 * error, abs=0.2 * error)
    half = mean_interval(totals, np.ones(4000), rng, level=0.5)
    assert found.low < half.low < half.mean < half.high < found.high


def test_mean_is_over_tokens_and_resampling_over_units(rng):
    """The samples differ by how often they contain the sentence of 90 tokens."""
    counts = np.array([90] + [1] * 9)
    totals = np.array([180.0] + [5.0] * 9)
    found = mean_interval(totals, counts, rng)
    assert found.mean == pytest.approx((180 + 45) / 99)
    assert found.high == pytest.approx(5.0)         # a third of the samples lack the long sentence
    assert 2.0 < found.low < found.mean


def test_coverage_matches_the_level(rng):
    held = 0
    for _ in range(200):
        counts = rng.integers(1, 20, 80)
        totals = counts * 0.7 + rng.normal(0, 1, 80) * np.sqrt(counts)
        found = mean_interval(totals, counts, rng, draws=300)
        held += found.low <= 0.7 <= found.high
    assert 0.89 <= held / 200 <= 0.99


def test_same_seed_gives_same_interval(rng):
    totals = rng.normal(size=30)
    one, other = (mean_interval(totals, np.ones(30), np.random.default_rng(5)) for _ in range(2))
    assert one == other != mean_interval(totals, np.ones(30), np.random.default_rng(6))


def test_samples_with_zero_count_are_skipped():
    counts = np.array([1.0] + [0.0] * 9)
    found = mean_interval(np.array([2.0] + [0.0] * 9), counts, np.random.default_rng(0))
    assert found == Interval(2.0, 2.0, 2.0) and str(found) == "2.000 (2.000 to 2.000)"


@pytest.mark.parametrize("totals, counts, message", [
    ([], [], "sum to 0; expected a positive, finite sum"),
    ([1, 2], [1], "expected .* the same length"),
    ([np.nan], [1], "totals contains NaN or inf"), ([1.0], [np.inf], "counts sum to inf"),
    ([1.0], [0], "sum to 0; expected"), ([[1.0]], [[1]], r"\(1, 1\); expected 1-D arrays"),
])
def test_data_without_a_mean_raise(totals, counts, message, rng):
    with pytest.raises(ValueError, match=message):
        mean_interval(totals, counts, rng)


@pytest.mark.parametrize("how, error, message", [
    (dict(rng=7), TypeError, "rng"), (dict(draws=0), ValueError, "draws = 0"),
    (dict(level=1.0), ValueError, "level = 1.0"), (dict(totals=["a"]), TypeError, "totals"),
])
def test_invalid_arguments(how, error, message, rng):
    given = dict(totals=[1.0], counts=[1], rng=rng) | how
    with pytest.raises(error, match=message):
        mean_interval(**given)
