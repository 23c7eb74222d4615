"""The gradient check: correct layers pass, and reports of wrong ones lead to the mistake."""

import numpy as np
import pytest

from numpy_attention.gradcheck import (
    GradientError,
    gradcheck,
    numeric_gradient,
    protocol,
    randomize,
    relative_errors,
)
from numpy_attention.layers.linear import Linear


def linear(rng, *sizes):
    return randomize(Linear.create(rng, *sizes, dtype=np.float64), rng)


def test_correct_layer_passes_and_reports_every_gradient(rng):
    report = gradcheck(linear(rng, 3, 2), rng.standard_normal((4, 3)), rng=rng)
    assert list(report.errors) == ["W", "b", "input[0]"]
    assert report.worst == max(report.errors.values()) < 1e-8
    assert "Linear: 3 gradients" in repr(report) and "input[0]" in repr(report)


def test_function_without_parameters(rng):
    def forward(x, y):
        return x * y, np.sin(x), (x, y)

    def backward(dproduct, dsine, cache, grads):
        x, y = cache
        assert grads is None
        return dproduct * y + dsine * np.cos(x), dproduct * x

    x, y = rng.standard_normal((2, 3, 4))
    assert gradcheck(None, x, y, rng=rng, forward=forward, backward=backward).worst < 1e-8


def test_numeric_gradient_of_a_cubic():
    x = np.array([[1.0, -2.0], [0.5, 3.0]])
    kept = x.copy()
    np.testing.assert_allclose(numeric_gradient(lambda: (x**3).sum(), x), 3 * x**2, rtol=1e-10)
    assert (x == kept).all()
    with pytest.raises(ValueError, match="contiguous"):
        numeric_gradient(lambda: 0.0, x.T)


def test_relative_errors():
    analytic = np.array([1.0, 2.0, 0.0, np.nan, 1e-4])
    numeric = np.array([1.0, 1.0, 0.0, 1.0, 2e-4])
    errors = relative_errors(analytic, numeric)
    np.testing.assert_allclose(errors, [0, 0.5, 0, np.inf, 1e-4 / 1e-3])


@pytest.mark.parametrize("spoil, suspect", [
    (lambda g: -g, "the wrong sign"),
    (lambda g: 2 * g, "a factor"),
    (lambda g: 0 * g, "assigned where it is to be added"),
    (lambda g: g.T, "a transpose|two things exchanged"),
    (lambda g: g * np.array([1, 1, 1.5]), "wrong only at .2. along axis 1"),    # no gates
    (lambda g: np.full_like(g, np.nan), "not finite"),
])
def test_wrong_gradient_is_reported_with_line_and_kind(rng, spoil, suspect):
    layer = linear(rng, 3, 3)

    def backward(dy, cache, grads):
        dx = layer.backward(dy, cache, grads)
        grads.W[...] = spoil(grads.W.copy())
        return dx

    with pytest.raises(GradientError, match=suspect) as caught:
        gradcheck(layer, rng.standard_normal((4, 3)), rng=rng, backward=backward)
    message = str(caught.value)
    assert message.startswith("Linear: wrong gradient for W; right: b, input[0]\n")
    assert "    grads.W[...] = spoil(grads.W.copy())" in message.splitlines()
    assert "W: 9 of 9 elements" in message or "W: 3 of 9" in message or "W: 6 of 9" in message
    assert len(message.splitlines()) < 15
    full = caught.value.report.full
    assert "W, backward:" in full and "W, central differences:" in full


def test_single_wrong_element_is_reported(rng):
    layer = linear(rng, 4, 3)

    def backward(dy, cache, grads):
        dx = layer.backward(dy, cache, grads)
        grads.W[2, 1] *= 1 + 1e-4
        return dx

    with pytest.raises(GradientError, match="1 of 12 elements are wrong; element .2, 1.") as caught:
        gradcheck(layer, rng.standard_normal((5, 4)), rng=rng, backward=backward)
    assert "grads.W[2, 1] *= 1 + 1e-4" in str(caught.value).splitlines()[2]


def test_wrong_shapes_and_missing_gradients_are_reported(rng):
    layer = linear(rng, 4, 3)
    x = rng.standard_normal((5, 4))
    with pytest.raises(GradientError, match=r"input\[0\] has shape \(4, 5\); expected \(5, 4\)"):
        gradcheck(layer, x, rng=rng, backward=lambda *args: layer.backward(*args).T.copy())
    with pytest.raises(GradientError, match=r"expected float gradients for input\[0\]. Ret"):
        gradcheck(layer, x, rng=rng, backward=lambda *args: None)


def test_float32_and_nonfinite_outputs_raise(rng):
    layer = linear(rng, 4, 3)
    with pytest.raises(TypeError, match=r"input\[0\] is float32"):
        gradcheck(layer, np.ones((5, 4), np.float32), rng=rng)
    with pytest.raises(TypeError, match="W is float32"):
        gradcheck(layer.astype(np.float32), np.ones((5, 4)), rng=rng)
    with pytest.raises(ValueError, match="contains NaN in"):
        gradcheck(layer, np.full((5, 4), np.nan), rng=rng, forward=lambda x: (x, x),
                  backward=lambda dy, cache, grads: dy)


def test_arrays_of_the_caller_are_unchanged(rng):
    layer = linear(rng, 4, 3)
    x = rng.standard_normal((5, 4))
    weights_before = layer.vector.copy()
    x_before = x.copy()
    gradcheck(layer, x, rng=rng)
    assert (layer.vector == weights_before).all() and (x == x_before).all()


def test_protocol_checks_gradients_of_the_weights(rng):
    """An attention whose backward ignores dweights must not pass."""
    from numpy_attention.attention.additive import AdditiveAttention

    class IgnoresWeights(AdditiveAttention):
        def step_backward(self, dcontext, dweights, cache, dmemory, grads):
            return super().step_backward(dcontext, None, cache, dmemory, grads)

    attention = randomize(IgnoresWeights.create(rng, 3, 4, 5, dtype=np.float64), rng)
    forward, backward = protocol(attention, np.ones((2, 6), bool))
    with pytest.raises(GradientError):
        gradcheck(attention, rng.standard_normal((3, 2, 3)), rng.standard_normal((2, 6, 4)),
                  rng=rng, forward=forward, backward=backward)
