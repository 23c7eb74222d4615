"""Parts of user code from which edits are built, and the shapes of indexed arrays."""

import ast

import numpy as np

from numpy_attention.gradcheck.locate.rewriting import Declined, path_of, tree_of

# indices that make a mask, or one step of it, fit a value
CUTS = {
    "": lambda mask: mask,
    "[:, None]": lambda mask: mask[:, None],
    "[:, :, None]": lambda mask: mask[:, :, None],
    "[:, None, :]": lambda mask: mask[:, None, :],
    "[:, None, None, :]": lambda mask: mask[:, None, None, :],
    "[t]": lambda mask: mask[0],
    "[t][:, None]": lambda mask: mask[0][:, None],
}


class Written:
    """Parts of user code from which edits of `functions` are built.

    others: functions that are not edited, but whose code is also used
    slices: the syntax trees of all indices, such as i + 1 in x[i + 1]
    indices: the variables used alone as an index, such as "t" in x[t]
    entries: code that reads an item of a dict, such as "step['c']"
    """

    def __init__(self, functions, others=()):
        self.names = {one.__name__ for one in functions}
        self.is_softmax = False
        slices, indices = {}, {}
        bases, dicts = {}, []
        for function in [*functions, *others]:
            try:
                tree = tree_of(function)
            except Declined:
                continue
            text = ast.unparse(tree)
            self.is_softmax |= "softmax" in text or "exp(" in text and "max(" in text
            for one in ast.walk(tree):
                if isinstance(one, ast.Subscript):
                    slices[ast.dump(one.slice)] = one.slice
                    if isinstance(one.slice, ast.Name):
                        indices[one.slice.id] = None
                    if isinstance(getattr(one.slice, "value", None), str) and path_of(one.value):
                        bases.setdefault(path_of(one.value), {})[one.slice.value] = None
                dicts.append(keys_of(one))
        self.slices = list(slices.values())
        self.indices = list(indices)
        for keys in bases.values():
            for others in dicts:
                if keys.keys() & others.keys():
                    keys.update(others)
        self.entries = [f"{base}[{key!r}]" for base, keys in bases.items() for key in keys]


def keys_of(node):
    """Return {"c": None} for a syntax tree of dict(c=c) or {"c": c}, and {} for any other tree."""
    if isinstance(node, ast.Call) and path_of(node.func) == "dict":
        return {one.arg: None for one in node.keywords if one.arg}
    if isinstance(node, ast.Dict):
        return {one.value: None for one in node.keys if isinstance(one, ast.Constant)}
    return {}


def fits(shape, cut, whole):
    """Return whether a mask of this shape, indexed by `cut`, broadcasts to the shape `whole`."""
    try:
        found = CUTS[cut](np.broadcast_to(True, shape)).shape
        return np.broadcast_shapes(found, whole) == whole
    except (IndexError, ValueError):
        return False


def part_of(shape, index):
    """Return the shape of x[index], where x has this shape, or None. index: a syntax tree."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if len(parts) > len(shape):
        return None
    left = list(shape[len(parts):])
    for part, length in reversed(list(zip(parts, shape))):
        if ast.unparse(part) == ":":
            left.insert(0, length)
        elif isinstance(part, ast.Slice):
            return None
    return tuple(left)


def lies_over(shape, whole):
    """Return whether `shape` broadcasts to `whole` and has fewer axes, but at least one."""
    try:
        return 0 < len(shape) < len(whole) and np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        return False
