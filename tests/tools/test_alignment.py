"""IBM Model 1 of benchmarks/alignment.py against the same expectation maximisation in plain loops."""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from alignment import NULL, Model1  # noqa: E402


def in_loops(sources, targets, size, iterations):
    t = defaultdict(lambda: 1 / size)
    for _ in range(iterations):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in zip(sources, targets):
            for f in target:
                total = sum(t[e, f] for e in [NULL, *source])
                for e in [NULL, *source]:
                    counts[e, f] += t[e, f] / total
                    totals[e] += t[e, f] / total
        t = {(e, f): count / totals[e] for (e, f), count in counts.items()}
    return t


@pytest.fixture
def sentences():
    """A source of random words, each of which the target says as itself + 3, in another order."""
    rng = np.random.default_rng(0)
    sources = [rng.integers(4, 12, rng.integers(1, 6)).tolist() for _ in range(60)]
    return sources, [[word + 3 for word in rng.permutation(source).tolist()] for source in sources]


def test_model1_is_the_plain_loops(sentences):
    model, t = Model1(*sentences, size=15, iterations=3), in_loops(*sentences, 15, 3)
    assert {divmod(int(key), 15): pytest.approx(value) for key, value in zip(model.keys, model.t)} == t
    assert (np.diff(model.log_likelihoods) > 0).all()


def test_model1_learns_a_dictionary_and_points_nowhere_for_words_it_never_saw(sentences):
    weights = Model1(*sentences, size=15, iterations=10).weights([4, 9, 6], [9, 7, 12, 1])
    assert weights.shape == (4, 3) and weights[:3].argmax(1).tolist() == [2, 0, 1]
    assert (weights[:3].max(1) > 0.5).all() and not weights[3].any()
