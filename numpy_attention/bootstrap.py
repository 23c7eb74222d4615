"""Confidence intervals by the bootstrap (Efron 1979), over the sentences or blocks of a text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from numpy_attention.module import Array
from numpy_attention.validation.arguments import as_numbers, check_generator, check_number
from numpy_attention.validation.arrays import check_whole

DRAWS = 1000
LEVEL = 0.95


class Interval(NamedTuple):
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"


def mean_interval(totals: Array, counts: Array, rng: np.random.Generator, draws: int = DRAWS,
                  level: float = LEVEL) -> Interval:
    """Return Σ totals / Σ counts over the units of a text, with its bootstrap interval.

    totals (U,): the total of each unit (a sentence or a block), such as its loss in nats.
    counts (U,): the number of tokens of each unit. draws: the number of samples of U units that rng
    draws with replacement. level: the interval contains this fraction of the samples' means; half
    of the others lie below it, and half above. To compare two models on one text, pass the
    differences of their totals, which makes the bootstrap paired (Koehn 2004).

    Raises ValueError if totals and counts differ in length, if a total is NaN or infinite, or if
    the sum of counts is not positive and finite, and TypeError if rng is not a Generator.
    """
    totals = as_numbers("totals", totals)
    counts = as_numbers("counts", counts)
    check_generator(rng)
    check_whole("draws", draws, 1)
    check_number("level", level, np.nextafter(0, 1), np.nextafter(1, 0), "a fraction in (0, 1)")
    if totals.shape != counts.shape or totals.ndim != 1:
        raise ValueError(f"totals and counts have shapes {totals.shape} and {counts.shape}; "
                         "expected 1-D arrays of the same length")
    if not 0 < counts.sum() < np.inf:
        raise ValueError(f"counts sum to {counts.sum():g}; expected a positive, finite sum")
    if not np.isfinite(totals).all():
        raise ValueError("totals contains NaN or inf; expected finite numbers")
    means = np.full(draws, np.nan)
    for k in range(draws):
        chosen = rng.integers(len(totals), size=len(totals))
        count = counts[chosen].sum()
        if count > 0:                   # a draw may contain no unit that counts
            means[k] = totals[chosen].sum() / count
    return Interval(float(totals.sum() / counts.sum()), *ends(means, level))


def ends(draws: Array | Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Return the numbers (low, high) between which a fraction `level` of `draws` lies.

    draws: one number per bootstrap sample; NaN is ignored. As many are below low as above high.
    """
    outside = (1 - level) / 2
    low, high = np.nanquantile(draws, [outside, 1 - outside])
    return float(low), float(high)
