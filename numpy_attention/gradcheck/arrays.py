"""Functions on trees of arrays. A tree is an array, None, or a tuple of trees (an LSTM's state)."""

import numpy as np

from numpy_attention.validation.messages import typed_repr


def float_arrays(value, name):
    """Yield (name, array) for each float array in `value`: an array, or nested lists and tuples."""
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from float_arrays(item, f"{name}[{i}]")
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
        yield name, value


def outputs_of(forward, inputs):
    """Return forward(*inputs). Raises TypeError unless it is a tuple of outputs and a cache."""
    found = forward(*inputs)
    if not isinstance(found, tuple) or len(found) < 2:
        raise TypeError(f"forward returns {typed_repr(found)}; expected at least one output "
                        "and a cache. End it with: return y, cache")
    for output in found[:-1]:
        if not is_tree(output):
            raise TypeError(f"an output of forward is {typed_repr(output)}; expected an array of "
                            "numbers, a tuple of arrays, or None")
    return found


def is_tree(value):
    if isinstance(value, tuple):
        return all(map(is_tree, value))
    return value is None or np.asarray(value).dtype.kind in "fiub"


def copy_arrays(value):
    if isinstance(value, (list, tuple)):
        return type(value)(copy_arrays(item) for item in value)
    if isinstance(value, np.ndarray):
        return np.array(value, order="C")
    return value


def combined(function, *trees):
    """Apply `function` to corresponding arrays of several trees; return a tree of the results."""
    if isinstance(trees[0], (list, tuple)):
        return type(trees[0])(combined(function, *items) for items in zip(*trees))
    return None if trees[0] is None else function(*trees)


def random_like(value, rng):
    if isinstance(value, tuple):
        return tuple(random_like(item, rng) for item in value)
    return None if value is None else rng.standard_normal(np.shape(value))


def dot(value, upstream):
    if isinstance(value, tuple):
        return sum(dot(item, up) for item, up in zip(value, upstream))
    if value is None:
        return 0.0
    return float(np.add.reduce(value * upstream, axis=None))        # faster than np.sum
