"""Carried states as nested tuples of arrays: split, joined, and described as JSON."""

import json

import numpy as np
import pytest

from numpy_attention.trees import describe, join_rows, leaves, rebuild, rows_of

TREE = ((np.arange(10.0).reshape(5, 2), np.arange(5.0)), None, np.arange(15).reshape(5, 3))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_rows_split_and_joined(n):
    joined = join_rows([rows_of(TREE, k, n) for k in range(n)])
    assert all(np.array_equal(a, b) for a, b in zip(leaves(joined), leaves(TREE)))
    assert joined[1] is None


def test_json_round_trip():
    again = rebuild(json.loads(json.dumps(describe(TREE))), iter(leaves(TREE)))
    assert again[1] is None and again[0][1] is TREE[0][1] and again[2] is TREE[2]
    assert leaves(None) == [] and rebuild(describe(None), iter([])) is None
