"""Right calls of the optimizers, initial values, modules and trees."""

import math
from functools import partial

import numpy as np

from hostility.catalogue_layers import draw, dtype_of_training, generator
from hostility.right_calls import Call, anything, array, either, whole
from numpy_attention.cells.gru import GRU
from numpy_attention.initializers import glorot, initial_values, normal, orthogonal, uniform
from numpy_attention.layers.linear import Linear
from numpy_attention.names import OPTIMIZERS, find
from numpy_attention.trees import cut_columns, join_columns, join_rows, rows_of

F = np.float32


def number(lowest, highest=math.inf, open_end=True):
    """A test for a finite number from `lowest` (without it where open_end) below `highest`."""
    def test(value):
        if isinstance(value, (bool, np.bool_, str, bytes)):
            return False
        if not isinstance(value, (int, float, np.integer, np.floating)):
            return False
        return (lowest < value if open_end else lowest <= value) and value < highest
    return test


def optimizer(name, rng, z):
    kind = find("optimizer", name, OPTIMIZERS)
    made = kind(momentum=0.9) if name == "sgd" else kind()
    n = z.H * z.O
    vectors = {slot: np.abs(draw(rng, n)) for slot in made.slots}

    def update(weights, gradient, step, rate, factor, **vectors):
        made.update(weights, gradient, vectors, step, rate, factor)
        return weights, gradient, vectors

    arguments = {"weights": draw(rng, n), "gradient": draw(rng, n), **vectors, "step": 3,
                 "rate": 0.5, "factor": 0.25}
    settings = {"learning_rate": 0.5}
    return [
        Call(f"{name}.update", update, arguments,
             {"step": whole(1), "rate": number(0, open_end=False),
              "factor": number(0, open_end=False)}),
        Call(f"{name}", lambda learning_rate: kind(learning_rate).learning_rate, settings,
             {"learning_rate": number(0)}),
    ]


def initial(rng, z):
    def drawn(make):
        return lambda rng, shape, dtype: make(rng, shape, dtype)

    def pair(make):
        least = 2 if make is orthogonal else 1
        return lambda value: (isinstance(value, tuple) and len(value) >= least
                              and all(whole(1)(size) for size in value))
    calls = [
        Call(make.__name__, drawn(make),
             {"rng": np.random.default_rng(0), "shape": (z.I, z.H), "dtype": F},
             {"rng": generator, "shape": pair(make), "dtype": dtype_of_training})
        for make in (glorot, orthogonal)]
    calls += [
        Call(f"{make.__name__}(b)", lambda bound, make=make: make(bound)(rng, (2, 3)),
             {"bound": 0.5}, {"bound": number(0, open_end=False)})
        for make in (uniform, normal)]
    known = number(0, open_end=False)
    calls.append(Call("initial_values", lambda init: initial_values(init, None), {"init": 0.5},
                      {"init": lambda value: known(value) or value in ("paper", "modern")}))
    return calls


def modules(rng, z):
    layer = GRU.create(rng, z.I, z.H)
    packed = layer.copy()
    assert packed.vector.size == layer.size
    named = {name: value.copy() for name, value in layer.named_parameters()}

    def load(**values):
        one = layer.copy()
        one.load({**named, **values})
        return one

    def assign(W):
        packed.W = W
        return packed

    def linear(W, b, x):
        return Linear(W, b).forward(x)[0]

    return [
        Call("Module.load", load, {"W": named["W"], "b": named["b"]},
             {name: either(*named[name].shape) for name in ("W", "b")}),
        Call("Module.astype", lambda dtype: layer.astype(dtype), {"dtype": F},
             {"dtype": dtype_of_training}),
        Call("Module.W =", assign, {"W": named["W"]}),
        Call("Linear(W, b)", linear,
             {"W": draw(rng, z.I, z.O), "b": draw(rng, z.O), "x": draw(rng, z.T, z.I)},
             {"b": lambda value: value is None or array(z.O)(value), "x": array(..., z.I)}),
    ]


def trees(rng, z):
    one = draw(rng, z.B, z.H)
    tree = (one, (draw(rng, z.B, z.D), None))
    columns = (one, draw(rng, z.B, z.D))
    side = join_columns(columns)
    share = lambda value: whole(0)(value) and value < 2
    return [
        Call("rows_of", rows_of, {"tree": tree, "k": 1, "n": 2},
             {"tree": anything, "k": share, "n": lambda n: whole(1)(n) and n > 1}),
        Call("join_rows", lambda one: join_rows([(one,), (one,)]), {"one": one},
             {"one": anything}),
        Call("cut_columns", lambda array: cut_columns(array, columns), {"array": side},
             {"array": lambda value: type(value) is np.ndarray and value.ndim == 2
              and value.shape[1] == side.shape[1]}),
    ]


MAKERS = {"initial values": initial, "module": modules, "trees": trees}
MAKERS |= {name: partial(optimizer, name) for name in OPTIMIZERS}
