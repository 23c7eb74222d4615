"""Carried states as trees of arrays."""

import json

import numpy as np
import pytest

from numpy_attention.trees import cut_columns, describe, join_rows, leaves, rebuild, rows_of

TREE = ((np.arange(10.0).reshape(5, 2), np.arange(5.0)), None, np.arange(15).reshape(5, 3))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_rows_cut_and_joined(n):
    joined = join_rows([rows_of(TREE, k, n) for k in range(n)])
    assert all(np.array_equal(a, b) for a, b in zip(leaves(joined), leaves(TREE)))
    assert joined[1] is None


def test_trees_that_are_not_made_alike():
    rows = np.zeros((5, 2))
    for trees, error, message in (
        ([(rows,), (rows, rows)], ValueError, "trees with 1, 2 parts"),
        ([(rows,), rows], TypeError, "a tree has a ndarray where another has a tuple"),
        ([(rows, None), (rows, rows)], TypeError, "a ndarray where another has None"),
        ([rows, np.zeros((5, 3))], ValueError, r"the rows \(B, …\) has shape \(5, 3\)"),
        ([3, 4], TypeError, "a leaf of the tree is a int, expected a NumPy array"),
        ([np.array(3.0)], ValueError, "an array without axes"),
    ):
        with pytest.raises(error, match=message):
            join_rows(trees)
    for k, n in ((2, 2), (-1, 2), (0, 0), (0.5, 2)):
        with pytest.raises(ValueError, match="[kn] = .*: expected a whole number of at least"):
            rows_of(TREE, k, n)
    with pytest.raises(ValueError, match=r"array \(B, …\) has shape \(5, 4\), expected \(any, 5\)"):
        cut_columns(np.zeros((5, 4)), (rows, np.zeros((5, 3))))


def test_through_json():
    again = rebuild(json.loads(json.dumps(describe(TREE))), iter(leaves(TREE)))
    assert again[1] is None and again[0][1] is TREE[0][1] and again[2] is TREE[2]
    assert leaves(None) == [] and rebuild(describe(None), iter([])) is None
