"""States that models carry from batch to batch: arrays (B, …), tuples of them, or None."""

import numpy as np


def tree_map(f, *trees):
    """Apply f to the arrays that stand at the same place of every tree; None stays None."""
    if isinstance(trees[0], tuple):
        return tuple(tree_map(f, *items) for items in zip(*trees))
    return None if trees[0] is None else f(*trees)


def rows_of(tree, k, n):
    """The k-th of n nearly equal parts of the rows, cut where batches are cut."""
    def part(array):
        return array[len(array) * k // n:len(array) * (k + 1) // n]
    return tree_map(part, tree)


def join_rows(trees):
    """The parts of a tree put together again."""
    return tree_map(lambda *arrays: np.concatenate(arrays), *trees)


def leaves(tree):
    """The arrays of a tree in order."""
    if isinstance(tree, tuple):
        return [array for item in tree for array in leaves(item)]
    if tree is None:
        return []
    return [tree]


def describe(tree):
    """The tree's shape for JSON: nested lists, 0 for an array, None; `rebuild` is the way back."""
    if isinstance(tree, tuple):
        return [describe(item) for item in tree]
    return None if tree is None else 0


def rebuild(shape, arrays):
    """The tree of this shape from an iterator over its arrays."""
    if isinstance(shape, list):
        return tuple(rebuild(item, arrays) for item in shape)
    return None if shape is None else next(arrays)
