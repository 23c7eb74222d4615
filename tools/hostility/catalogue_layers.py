"""Right calls of the layers."""

from inspect import signature

import numpy as np

from hostility.right_calls import (Call, alike, anything, array, either, ids, integers, optional,
                                   whole)
from numpy_attention.initializers import glorot
from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.dropout import Dropout, position_names
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.maxout import Maxout
from numpy_attention.layers.output import Output
from numpy_attention.layers.positional import positional_encoding
from numpy_attention.layers.residual import Residual

F = np.float32


def draw(rng, *shape):
    """Normal numbers in float32."""
    return rng.standard_normal(shape).astype(F)


def generator(value):
    return isinstance(value, np.random.Generator)


def dtype_of_training(value):
    """float32 and float64, however they are said."""
    if isinstance(value, (np.ndarray, np.generic)):
        return False
    return value in (np.float32, np.float64, "float32", "f4", "float", "double") or (
        isinstance(value, np.dtype) and value in (np.float32, np.float64))


def create(kind, sizes, others=None, **right):
    """The call of a `create`, sizes by the names of its parameters."""
    drawn = {"init": glorot} if "init" in signature(kind.create).parameters else {}
    arguments = {"rng": np.random.default_rng(0), **sizes, **(others or {}), **drawn, "dtype": F}
    tests = {name: whole(1) for name in sizes} | {"dtype": dtype_of_training, "rng": generator}
    return Call(f"{kind.__name__}.create", lambda **given: kind.create(**given).vector, arguments,
                tests | right)


def forward_backward(layer, *inputs, right=None, unread=None, names=("x",), upstream="dy"):
    """The calls of a layer's two passes."""
    title = type(layer).__name__
    y, cache = layer.forward(*inputs)
    arguments = {upstream: np.ones_like(y), "cache": cache, "grad": layer.zeros_like()}

    def backward(**given):
        return layer.backward(given[upstream], given["cache"], given["grad"]), given["grad"]

    return [
        Call(f"{title}.forward", lambda **given: layer.forward(*given.values())[0],
             dict(zip(names, inputs)), right or {}, unread or {}),
        Call(f"{title}.backward", backward, arguments, {}, {upstream: True} if unread else {}),
    ]


def linear(rng, z):
    layer = Linear.create(rng, z.I, z.O)
    return forward_backward(layer, draw(rng, z.T, z.B, z.I), right={"x": array(..., z.I)}) + [
        create(Linear, {"inputs": z.I, "outputs": z.O})]


def embedding(rng, z):
    layer = Embedding.create(rng, z.V, z.D)
    given = rng.integers(0, z.V, (z.T, z.B))
    forward, backward = forward_backward(layer, given, names=("ids",))
    forward.right = {"ids": ids(z.V, ...)}
    backward.right = {"cache": ids(z.V, z.T, z.B)}
    return [forward, backward, create(Embedding, {"vocabulary": z.V, "size": z.D})]


def dropout(rng, z):
    layer = Dropout(0.4)
    x = draw(rng, z.T, z.B, z.D)
    names = position_names(z.T, np.arange(z.B))
    y, cache = layer.forward(x, np.random.default_rng(0), names)

    def forward(x, rng, names):
        return layer.forward(x, rng, names)[0]

    def rate(rate):
        return Dropout(rate).rate

    return [
        Call("Dropout.forward", forward, {"x": x, "rng": np.random.default_rng(0), "names": names},
             {"x": either(z.T, z.B, None), "rng": optional(generator),
              "names": optional(integers(z.T, z.B))}, {"x": True}),
        Call("Dropout.backward", layer.backward, {"dy": np.ones_like(y), "cache": cache},
             {"cache": lambda value: value is None or alike(value, cache), "dy": either(*y.shape)},
             {"dy": True}),
        Call("Dropout", rate, {"rate": 0.4},
             {"rate": lambda value: isinstance(value, (int, float, np.floating))
              and not isinstance(value, bool) and 0 <= value < 1}),
        Call("position_names", position_names, {"T": z.T, "rows": np.arange(z.B)},
             {"T": whole(0), "rows": integers(None)}),
    ]


def maxout(rng, z):
    forward, backward = forward_backward(Maxout(), draw(rng, z.T, 2 * z.H), upstream="dt")

    def even(value):
        floats = array(..., None)(value) or array(..., None, dtype=np.float64)(value)
        return floats and value.shape[-1] % 2 == 0
    forward.right = {"x": even}
    backward.right = {"grad": anything}
    return [forward, backward]


def layer_norm(rng, z):
    layer = LayerNorm.create(z.D)
    return forward_backward(layer, draw(rng, z.T, z.B, z.D), right={"x": array(..., z.D)}) + [
        Call("LayerNorm.create", lambda size, dtype: LayerNorm.create(size, dtype).vector,
             {"size": z.D, "dtype": F}, {"size": whole(1), "dtype": dtype_of_training})]


def deep_output(rng, z):
    layer = DeepOutput.create(rng, z.H, z.I, z.D, 3)
    parts = [draw(rng, z.B, size) for size in (z.H, z.I, z.D)]
    return forward_backward(layer, *parts, names=("s", "Ey", "c"), upstream="dt") + [
        create(DeepOutput, {"hidden": z.H, "embedding": z.I, "context": z.D, "size": 3})]


def feed_forward(rng, z):
    layer = FeedForward.create(rng, z.D, z.H)
    return forward_backward(layer, draw(rng, z.T, z.B, z.D), right={"x": array(..., z.D)}) + [
        create(FeedForward, {"size": z.D, "inner": z.H})]


def residual(rng, z):
    """Both kinds, one of them."""
    layer = Residual(LayerNorm.create(z.D), Dropout(0.0), bool(rng.random() < 0.5))
    x = draw(rng, z.T, z.B, z.D)
    fx = draw(rng, z.T, z.B, z.D)
    inside, entered = layer.enter(x)
    y, left = layer.leave(x, fx)

    def leave_backward(dy, cache, grad):
        return layer.leave_backward(dy, cache, grad), grad

    def enter_backward(dinput, dx, cache, grad):
        return layer.enter_backward(dinput, dx, cache, grad), grad

    title = "Residual pre-norm" if layer.pre_norm else "Residual"
    return [
        Call(f"{title} enter", lambda x: layer.enter(x)[0], {"x": x}, {"x": array(..., z.D)}),
        Call(f"{title} leave", lambda x, fx: layer.leave(x, fx)[0], {"x": x, "fx": fx}),
        Call(f"{title} leave_backward", leave_backward,
             {"dy": np.ones_like(y), "cache": left, "grad": layer.zeros_like()}),
        Call(f"{title} enter_backward", enter_backward,
             {"dinput": np.ones_like(y), "dx": np.ones_like(y), "cache": entered,
              "grad": layer.zeros_like()}, {} if layer.pre_norm else {"cache": anything}),
    ]


def output(rng, z):
    layer = Output.create(rng, z.D, z.V)
    x = draw(rng, z.T, z.D)
    targets = rng.integers(0, z.V, z.T)
    rows = {"x": array(None, z.D)}

    def loss_and_grad(x, targets, scale, grad, smoothing):
        return layer.loss_and_grad(x, targets, scale, grad, smoothing), grad

    def finite(value):
        return isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)

    def share(value):
        return finite(value) and 0 <= value < 1

    return [
        Call("Output.loss", layer.loss, {"x": x, "targets": targets}, {"targets": ids(z.V, z.T)}),
        Call("Output.logits", layer.logits, {"x": x}, rows),
        Call("Output.log_probabilities", layer.log_probabilities, {"x": x}, rows),
        Call("Output.loss_and_grad", loss_and_grad,
             {"x": x, "targets": targets, "scale": 0.5, "grad": layer.zeros_like(),
              "smoothing": 0.1},
             {"targets": ids(z.V, z.T), "scale": finite, "smoothing": share}),
        create(Output, {"size": z.D, "vocabulary": z.V}),
    ]


def positions(rng, z):
    def even(value):
        return whole(0)(value) and value % 2 == 0
    return [Call("positional_encoding", positional_encoding,
                 {"length": z.T, "size": 2 * z.H, "dtype": F, "start": 2},
                 {"length": whole(0), "size": even, "dtype": dtype_of_training,
                  "start": whole(0)})]


MAKERS = {"linear": linear, "embedding": embedding, "dropout": dropout, "maxout": maxout,
          "layer norm": layer_norm, "deep output": deep_output, "feed forward": feed_forward,
          "residual": residual, "output": output, "positions": positions}
