"""States carried from batch to batch are trees: an array (B, …), None, or a tuple of trees."""

import numpy as np


def tree_map(f, *trees):
    """Call `f` on the arrays at each position of `trees`, and return the tree of results.

    All trees have the same structure. None stays None.
    """
    if isinstance(trees[0], tuple):
        return tuple(tree_map(f, *items) for items in zip(*trees, strict=True))
    return None if trees[0] is None else f(*trees)


def rows_of(tree, k, n):
    """Divide the rows of every array into n nearly equal parts; return a tree of the k-th parts.

    k: from 0 to n − 1. The method `share` divides the rows of a batch in the same way.
    """
    return tree_map(lambda array: array[len(array) * k // n:len(array) * (k + 1) // n], tree)


def join_rows(trees):
    """Concatenate trees of the same structure along the rows, the first axis of their arrays."""
    return tree_map(lambda *arrays: np.concatenate(arrays), *trees)


def leaves(tree):
    """Return the arrays of a tree as a list, from left to right."""
    if isinstance(tree, tuple):
        return [array for item in tree for array in leaves(item)]
    if tree is None:
        return []
    return [tree]


def describe(tree):
    """Return the structure of a tree for JSON: nested lists with 0 for an array, None for None."""
    if isinstance(tree, tuple):
        return [describe(item) for item in tree]
    return None if tree is None else 0


def rebuild(shape, arrays):
    """Return the tree whose structure is `shape`, with its arrays taken from the iterator `arrays`.

    shape: nested lists, 0 and None, as `describe` returns them.
    """
    if isinstance(shape, list):
        return tuple(rebuild(item, arrays) for item in shape)
    return None if shape is None else next(arrays)


def last_leaf(tree):
    """Return the last array of a tree."""
    return last_leaf(tree[-1]) if isinstance(tree, tuple) else tree


def last_leaf_alone(tree, array):
    """Return a tree with the structure of `tree`: `array` as its last leaf, and None elsewhere."""
    if not isinstance(tree, tuple):
        return array
    return (None,) * (len(tree) - 1) + (last_leaf_alone(tree[-1], array),)


def cut_columns(array, like):
    """Split the columns of an array (B, …) into a tree with the structure and widths of `like`."""
    if not isinstance(like, tuple):
        return array
    widths = [sum(leaf.shape[1] for leaf in leaves(part)) for part in like]
    parts = np.split(array, np.cumsum(widths)[:-1], axis=1)
    return tuple(cut_columns(part, one) for part, one in zip(parts, like))


def join_columns(tree):
    """Concatenate the arrays of a tree along the columns, which is the inverse of `cut_columns`."""
    arrays = leaves(tree)
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1)
