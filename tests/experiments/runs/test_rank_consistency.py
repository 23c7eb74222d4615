"""Consistency checks between ranks before training; each difference is reported by name."""

import json
import platform

import at_ranks
import numba
import numpy as np
import pytest

from numpy_attention import __version__
from numpy_attention.experiments.runs.provenance import (
    blas,
    check_rank_consistency,
    digest,
    digest_of,
    processor,
)
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess


class Two(SingleProcess):
    """Rank 0 of two, where the other is about to train with different settings."""

    count = 2

    def __init__(self, **changes):
        self.changes = changes
        self.given = None

    def allgather(self, value):
        place, self.given = value
        return [("here", self.given), ("there", self.given | self.changes)]


def known(made, valid=None):
    """Return what rank 0 reports about itself."""
    ranks = Two()
    check_rank_consistency(ranks, made, at_ranks.pairs(5), valid, 3)
    return ranks.given


def test_compared_values():
    made = at_ranks.translator()
    pairs = at_ranks.pairs(5)
    assert known(made, pairs[:2]) == {
        "numpy_attention": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "numba": numba.__version__,
        "BLAS": blas(),
        "processor": processor(),
        "settings": digest(json.dumps(made.configuration(), sort_keys=True).encode()),
        "training text": digest_of(made.sentences(pairs)),
        "validation text": digest_of(made.sentences(pairs[:2])),
        "initial values": digest(made.model.vector.tobytes()),
        "threads": 3,
    }
    assert known(made)["validation text"] is None


@pytest.mark.parametrize("name", [
    "numpy_attention", "Python", "NumPy", "numba", "BLAS", "processor", "settings", "training text",
    "validation text", "initial values", "threads"])
def test_difference_is_reported_by_name(name):
    made = at_ranks.translator()
    mine = known(made)[name]
    with pytest.raises(ValueError) as error:
        check_rank_consistency(Two(**{name: "other"}), made, at_ranks.pairs(5), None, 3)
    assert str(error.value) == (
        "rank 1 on host there differs from rank 0 on host here in "
        f"{name} (other instead of {mine}). Use the same on every rank")


def test_order_of_settings_is_ignored():
    made = at_ranks.translator()
    before = known(made)["settings"]
    made.settings = dict(reversed(made.settings.items()))
    assert known(made)["settings"] == before


def test_single_process():
    assert check_rank_consistency(SINGLE_PROCESS, None, None, None, None) is None
