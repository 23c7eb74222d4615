"""Errors for targets that cannot be checked, and warnings for numbers that are not parameters."""

import contextlib
import inspect
import warnings
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.cells.gru import GRU
from numpy_attention.gradcheck import GradientError, NotAParameter, gradcheck, protocol, randomize
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.linear import Linear
from numpy_attention.module import Array, Module

MASK = np.ones((2, 4), bool)


def linear(rng):
    return randomize(Linear.create(rng, 3, 2, dtype=np.float64), rng), rng.standard_normal((4, 3))


def one_line(error):
    text = str(error.value)
    assert "\n" not in text
    return text


# ---- missing methods ----------------------------------------------------------------------------


def test_attention_must_be_wrapped(rng):
    attention = AdditiveAttention.create(rng, 2, 3, 4, dtype=np.float64)
    with pytest.raises(TypeError) as error:
        gradcheck(attention, np.ones((2, 3)), rng=rng)
    assert one_line(error) == ("AdditiveAttention has no forward method; to check an attention, "
                               "pass queries (T, B, Q) and values (B, S, D) after the target, "
                               "or use `forward, backward = protocol(attention, mask)`")


def test_cell_without_forward(rng):
    class Cell(Module):
        def _step(self, t, steps):
            """"""

    class Public(Module):
        def step(self, x, h):
            """"""

    for kind in (dataclass(Cell), dataclass(Public)):
        with pytest.raises(TypeError, match=f"{kind.__name__} has no forward method; derive "
                           "the class from numpy_attention"):
            gradcheck(kind(), np.ones((2, 3)), rng=rng)


def test_missing_pass_is_named(rng):
    class Half:
        def forward(self, x):
            return x, x

    with pytest.raises(TypeError) as error:
        gradcheck(Half(), np.ones(2), rng=rng)
    assert one_line(error) == ("Half has no backward method; write it in the class, "
                               "or pass a function as backward=…")
    with pytest.raises(TypeError, match="^forward is None; pass a function, or a target with"):
        gradcheck(None, np.ones(2), rng=rng, backward=len)
    with pytest.raises(TypeError, match="^backward is 7, of type int; pass a function"):
        gradcheck(Half(), np.ones(2), rng=rng, backward=7)


def test_invalid_targets(rng):
    with pytest.raises(TypeError, match="^target is the class GRU; expected an instance, or"):
        gradcheck(GRU, np.ones(2), rng=rng)

    class Bare(Module):
        forward = backward = len

    with pytest.raises(TypeError, match="^Bare is a Module but not a dataclass; write @dataclass"):
        gradcheck(Bare(), np.ones(2), rng=rng)


def test_attention_with_a_missing_method(rng):
    class Half:
        read = step = step_backward = len

    with pytest.raises(TypeError) as error:
        protocol(Half(), MASK)
    assert one_line(error) == ("Half has no read_backward: an attention needs read, step, "
                               "step_backward, read_backward")
    for invalid in (None, 7, AdditiveAttention):
        with pytest.raises(TypeError, match="^attention is .*; expected an instance of a class w"):
            protocol(invalid, MASK)


def test_attention_that_ignores_the_query(rng):
    """The gradient of the query is 0, in the shape of the queries."""
    class Mean(AdditiveAttention):
        def step(self, query, memory, t):
            weights = memory.mask / memory.mask.sum(1, keepdims=True)
            return np.einsum("bs,bsd->bd", weights, memory.values), weights, weights

        def step_backward(self, dcontext, dweights, weights, dmemory, grads):
            dmemory.values[...] += weights[:, :, None] * dcontext[:, None]

        def read_backward(self, memory, dmemory, grads):
            return dmemory.values

    attention = Mean.create(rng, 2, 3, 4, dtype=np.float64)
    forward, backward = protocol(attention, MASK)
    report = gradcheck(attention, np.ones((5, 2, 2)), rng.standard_normal((2, 4, 3)), rng=rng,
                       forward=forward, backward=backward)
    assert not report.analytic["input[0]"].any()
    assert report.analytic["input[0]"].shape == (5, 2, 2)


# ---- what the passes return ---------------------------------------------------------------------


@pytest.mark.parametrize("found", [None, 3.0, (np.ones(2),)])
def test_forward_without_a_cache(rng, found):
    words = (r"^forward returns .*; expected at least one output and a cache. "
             "End it with: return y, cache$")
    with pytest.raises(TypeError, match=words):
        gradcheck(None, np.ones(2), rng=rng, forward=lambda x: found, backward=len)


@pytest.mark.parametrize("found, words", [
    (None, "no gradient"), ((None, None), "no gradient"),
    (np.ones(2), "1 gradient for 2 inputs"),
    ([np.ones(2), np.ones(2)], "a list instead of a tuple"),
    ((np.ones(2),) * 3, "3 gradients for 2 inputs"), ((np.ones(2), 1.5), "1.5, of type float"),
    ((np.ones(2), None), r"no gradient for input\[1\]"),
    ((np.ones(2), [np.ones(2)]),
     r"no gradient for input\[1\] and a gradient for input\[1\]\[0\], which is not "
     "a float input"),
    ((np.ones(2), np.ones(2, int)), r"an array of int64 for input\[1\]"),
])
def test_wrong_number_or_type_of_gradients(rng, found, words):
    with pytest.raises(GradientError, match=rf"^backward returns {words}; expected float "
                       r"gradients for input\[0\] and input\[1\]\. Return one") as error:
        gradcheck(None, np.ones(2), np.ones(2), rng=rng, forward=lambda x, y: (x + y, None),
                  backward=lambda dy, cache, grads: found)
    one_line(error)


@pytest.mark.parametrize("found, words", [
    ((np.ones(2),), "a tuple of length 1"), ([np.ones(2)], "a list of length 1"),
])
def test_single_gradient_must_not_be_in_a_sequence(rng, found, words):
    with pytest.raises(GradientError, match=f"^backward returns {words} instead of an array; "):
        gradcheck(None, np.ones(2), rng=rng, forward=lambda x: (2 * x, None),
                  backward=lambda dy, cache, grads: found)


def test_gradient_of_a_boolean_input_raises(rng):
    words = r"^backward returns a gradient for input\[1\], which is not a float input; "
    with pytest.raises(GradientError, match=words):
        gradcheck(None, np.ones(2), np.array([True, False]), rng=rng,
                  forward=lambda x, mask: (x * mask, None),
                  backward=lambda dy, cache, grads: (dy, dy))


def test_gradient_of_an_integer_input_raises(rng):
    with pytest.raises(GradientError, match=r"input\[0\] has dtype int64; convert it with astype"):
        gradcheck(None, np.arange(2), np.ones(2), rng=rng, forward=lambda x, y: (x + y, None),
                  backward=lambda dy, cache, grads: (dy, dy))


def test_input_may_be_a_tuple(rng):
    pair = rng.standard_normal(2), rng.standard_normal(3)
    forward = lambda pair: (*pair, None)
    report = gradcheck(None, pair, rng=rng, forward=forward, backward=lambda a, b, *_: (a, b))
    assert report.right == ["input[0][0]", "input[0][1]"]


# ---- arrays -------------------------------------------------------------------------------------


def test_arrays_without_elements(rng):
    layer, _ = linear(rng)
    with pytest.raises(ValueError) as error:
        gradcheck(layer, np.ones((0, 3)), rng=rng)
    assert one_line(error) == "input[0] has shape (0, 3); all sizes must be positive"
    with pytest.raises(ValueError, match=r"^input\[1\] has shape \(2, 0\)"):
        gradcheck(layer, np.ones((4, 3)), np.ones((2, 0), bool), rng=rng)
    empty = Linear(np.ones((3, 0)), np.ones(0))
    with pytest.raises(ValueError, match=r"^W has shape \(3, 0\)"):
        gradcheck(empty, np.ones((4, 3)), rng=rng)


def test_nan_raises_before_the_check(rng):
    layer, x = linear(rng)
    layer.b[1] = np.nan
    with pytest.raises(ValueError) as error:
        gradcheck(layer, x, rng=rng)
    assert one_line(error) == ("b contains NaN in 1 of 2 elements; assign values first, or use "
                                "randomize() for parameters")
    layer.b[1] = 0
    x[0] = np.nan
    with pytest.raises(ValueError, match=r"^input\[0\] contains NaN in 3 of 12"):
        gradcheck(layer, x, rng=rng)


def test_infinite_inputs_are_allowed(rng):
    """A mask may set scores to −∞, whose exponential is 0."""
    scores = np.array([0.5, -np.inf])
    report = gradcheck(None, scores, rng=rng, forward=lambda e: (np.exp(e), np.exp(e)),
                       backward=lambda dy, cache, grads: dy * cache)
    assert report.right


# ---- numbers that are not parameters -------------------------------------------------------------


@dataclass(eq=False)
class Scaled(Module):
    """y = W x times all its numbers."""

    W: Array  # (2,)
    number: object = 1.0
    fixed: float = field(default=2.0, metadata={"fixed": True})
    rate: float = 0.5
    unused: float = 1.0
    always: ClassVar[float] = 3.0

    def scale(self):
        number = self.number
        return float(np.sum(number)) * self.fixed * self.rate * self.always

    def forward(self, x):
        return self.scale() * self.W * x, x

    def backward(self, dy, x, grads):
        grads.W += self.scale() * dy * x
        return self.scale() * self.W * dy


@dataclass(eq=False)
class Around(Module):
    inner: Scaled

    def forward(self, x):
        return self.inner.forward(x)

    def backward(self, dy, cache, grads):
        return self.inner.backward(dy, cache, grads.inner)


def nothing_measured(zero):
    """Multiplying by 0 makes every gradient 0, and then the check must not pass."""
    return pytest.raises(ValueError, match="checked") if zero else contextlib.nullcontext()


@pytest.mark.parametrize("number, kind", [
    (0.7, "float"), (np.float64(0.7), "float64"), ([0.5, 2], "list"), ((0.5,), "tuple"),
    (0.0, "float")])
def test_number_used_by_forward_warns(rng, number, kind):
    layer = Scaled(rng.standard_normal(2), number)
    line = inspect.getsourcelines(Scaled)[1] + [one.strip() for one in inspect.getsource(
        Scaled).splitlines()].index("number: object = 1.0")
    with pytest.warns(NotAParameter) as warned, nothing_measured(not number):
        gradcheck(layer, rng.standard_normal(2), rng=rng)
    assert len(warned) == 1 and warned[0].filename == __file__
    assert str(warned[0].message) == (
        f"number (line {line}) is a {kind} that forward computes with. Only arrays are "
        "parameters, which are checked and trained. Make it an array (of shape (1,) if it is one "
        'number), or declare it as fixed with field(metadata={"fixed": True})')
    assert layer.number == number and type(layer.number) is type(number)


def test_number_of_a_submodule_warns(rng):
    layer = Around(Scaled(rng.standard_normal(2), 0.7))
    with pytest.warns(NotAParameter, match=r"^inner.number \(line \d+\) is a float"):
        gradcheck(layer, rng.standard_normal(2), rng=rng)


@pytest.mark.parametrize("number", [2, np.array([0.5]), [1, 2], True, []])
def test_integers_and_arrays_do_not_warn(rng, number):
    layer = Scaled(rng.standard_normal(2), number)
    if isinstance(number, np.ndarray):
        layer.backward = lambda dy, x, grads: wrapped(layer, dy, x, grads)
    with warnings.catch_warnings(), nothing_measured(not np.any(number)):
        warnings.simplefilter("error")
        gradcheck(layer, rng.standard_normal(2), rng=rng)


def wrapped(layer, dy, x, grads):
    grads.number += (layer.scale() / layer.number) * (dy * layer.W * x).sum()
    return Scaled.backward(layer, dy, x, grads)


def test_thresholds_do_not_warn(rng):
    """Thresholds are compared with, or make the forward raise if they change."""
    class Threshold(Scaled):
        def scale(self):
            return 1.0 if self.number > 0.5 else 2.0

    class Exact(Scaled):
        def scale(self):
            if self.number not in (0.5, 0.7):
                raise ValueError("a number that is known")
            return 1.0

    class Jumping(Scaled):
        def scale(self):
            return 1.0 if self.number == 0.5 else 5.0

    for kind in (Threshold, Exact, Jumping):
        layer = kind(rng.standard_normal(2), 0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gradcheck(layer, rng.standard_normal(2), rng=rng)
        assert layer.number == 0.5


def test_settings_of_package_layers_do_not_warn(rng):
    layer = Dropout(0.4)
    kept = np.array([1.0, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradcheck(layer, rng.standard_normal(3), rng=rng,
                  forward=lambda x: (x * kept / (1 - layer.rate), None),
                  backward=lambda dy, cache, grads: dy * kept / (1 - layer.rate))
