"""Optimizers and schedules: their formulas, PyTorch's results, slices, and what they refuse."""

import numpy as np
import pytest

from numpy_attention.training.optimizers import SGD, Adadelta, Adam
from numpy_attention.training.schedules import Constant, Decay, LinearDecay, Warmup

OPTIMIZERS = {"sgd": SGD(0.3), "momentum": SGD(0.3, momentum=0.9), "adam": Adam(0.01), "adadelta": Adadelta(0.7)}


def run(optimizer, weights, gradients, rate=1.0, factor=1.0):
    """The weights after each gradient."""
    weights, vectors, path = weights.copy(), {name: np.zeros_like(weights) for name in optimizer.slots}, []
    for step, gradient in enumerate(gradients, 1):
        gradient = gradient.copy()
        optimizer.update(weights, gradient, vectors, step, rate, factor)
        assert not gradient.any()                      # left at 0 for the next step
        path.append(weights.copy())
    return np.array(path)


@pytest.fixture
def problem(rng):
    return rng.standard_normal(33), rng.standard_normal((6, 33))


def test_momentum_by_hand(problem):
    weights, gradients = problem
    velocity = 0
    for g, after in zip(gradients, run(OPTIMIZERS["momentum"], weights, gradients, rate=0.5)):
        velocity = 0.9 * velocity + g
        weights = weights - 0.15 * velocity
        np.testing.assert_allclose(after, weights, rtol=1e-12)


def test_adam_by_hand(problem):
    weights, gradients = problem
    m = v = 0
    for t, (g, after) in enumerate(zip(gradients, run(OPTIMIZERS["adam"], weights, gradients)), 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        weights = weights - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(after, weights, rtol=1e-9)


def test_adadelta_by_hand(problem):
    weights, gradients = problem
    s = d = 0
    for g, after in zip(gradients, run(OPTIMIZERS["adadelta"], weights, gradients)):
        s = 0.95 * s + 0.05 * g**2
        delta = g * np.sqrt(d + 1e-6) / np.sqrt(s + 1e-6)
        d = 0.95 * d + 0.05 * delta**2
        weights = weights - 0.7 * delta
        np.testing.assert_allclose(after, weights, rtol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_as_pytorch(name, problem):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    weights, gradients = problem
    parameter = torch.nn.Parameter(torch.tensor(weights))
    theirs = {"sgd": lambda p: torch.optim.SGD(p, 0.3), "momentum": lambda p: torch.optim.SGD(p, 0.3, momentum=0.9),
              "adam": lambda p: torch.optim.Adam(p, 0.01),
              "adadelta": lambda p: torch.optim.Adadelta(p, 0.7, rho=0.95, eps=1e-6)}[name]([parameter])
    for g, after in zip(gradients, run(OPTIMIZERS[name], weights, gradients)):
        parameter.grad = torch.tensor(g)
        theirs.step()
        np.testing.assert_allclose(after, parameter.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_factor_scales_the_gradient(name, problem):
    weights, gradients = problem
    np.testing.assert_allclose(run(OPTIMIZERS[name], weights, gradients, factor=0.25),
                               run(OPTIMIZERS[name], weights, 0.25 * gradients), rtol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_float32_agrees_and_stays_float32(name, problem):
    weights, gradients = problem
    low = run(OPTIMIZERS[name], weights.astype(np.float32), gradients.astype(np.float32))
    assert low.dtype == np.float32
    np.testing.assert_allclose(low, run(OPTIMIZERS[name], weights, gradients), atol=1e-5)


def test_schedules():
    assert Constant()(7, 3) == 1
    decay = Decay(full_epochs=4, divisor=2)             # Zaremba's small model: full for 4 epochs, then halved
    assert [decay(0, epoch) for epoch in range(7)] == [1, 1, 1, 1, 0.5, 0.25, 0.125]
    line = LinearDecay(steps=10, last=0.1)
    assert line(1, 0) == 1 and line(11, 0) == pytest.approx(0.1) and line(500, 9) == pytest.approx(0.1)
    assert line(6, 0) == pytest.approx(0.55)


def test_warmup_is_the_transformers_schedule():
    warmup, size = Warmup(steps=4), 512
    assert [warmup(step, 0) for step in range(1, 5)] == [0.25, 0.5, 0.75, 1]
    assert warmup(16, 0) == warmup(16, 9) == 0.5 and warmup(400, 0) == pytest.approx(0.1)
    for step in (1, 3, 4, 5, 90):               # Vaswani et al. 2017, equation 3
        equation = size**-0.5 * min(step**-0.5, step * 4**-1.5)
        assert (size * 4)**-0.5 * warmup(step, 0) == pytest.approx(equation, rel=1e-12)


@pytest.mark.parametrize("make, words", [
    (lambda: SGD(-1.0), "learning_rate = -1.0"), (lambda: SGD(1.0, momentum=1.0), "momentum = 1.0"),
    (lambda: Adam(float("nan")), "learning_rate = nan"), (lambda: Adam(beta2=1.5), "beta2 = 1.5"),
    (lambda: Adadelta(epsilon=0.0), "epsilon = 0.0"), (lambda: Decay(2, 0.5), "divisor"),
    (lambda: LinearDecay(0), "at least one step"), (lambda: Warmup(0), r"Warmup\(steps=0\): expected at least one step"),
    (lambda: Warmup(-3), "at least one step"),
])
def test_bad_settings(make, words):
    with pytest.raises(ValueError, match=words):
        make()
