"""Optimizers: formulas, agreement with PyTorch, and argument errors."""

from dataclasses import replace

import numpy as np
import pytest

from numpy_attention.training.optimizers import SGD, Adadelta, Adam

OPTIMIZERS = {
    "sgd": SGD(0.3),
    "momentum": SGD(0.3, momentum=0.9),
    "adam": Adam(0.01),
    "adadelta": Adadelta(0.7),
}


def run(optimizer, weights, gradients, rate=1.0, factor=1.0):
    """Return the weights after each gradient."""
    weights = weights.copy()
    vectors = {name: np.zeros_like(weights) for name in optimizer.slots}
    path = []
    for step, gradient in enumerate(gradients, 1):
        gradient = gradient.copy()
        optimizer.update(weights, gradient, vectors, step, rate, factor)
        assert not gradient.any()                      # zeroed for the next step
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
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
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
def test_matches_pytorch(name, problem):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    weights, gradients = problem
    parameter = torch.nn.Parameter(torch.tensor(weights))
    theirs = {
        "sgd": lambda p: torch.optim.SGD(p, 0.3),
        "momentum": lambda p: torch.optim.SGD(p, 0.3, momentum=0.9),
        "adam": lambda p: torch.optim.Adam(p, 0.01),
        "adadelta": lambda p: torch.optim.Adadelta(p, 0.7, rho=0.95, eps=1e-6),
    }[name]([parameter])
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
def test_rate_multiplies_the_learning_rate(name, problem):
    optimizer = OPTIMIZERS[name]
    half = replace(optimizer, learning_rate=0.5 * optimizer.learning_rate)
    np.testing.assert_allclose(run(optimizer, *problem, rate=0.5), run(half, *problem), rtol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_default_factor_and_rate_are_1(name, problem):
    weights, (gradient, *_) = problem
    wanted = run(OPTIMIZERS[name], weights, [gradient], rate=1.0, factor=1.0)[0]
    vectors = {slot: np.zeros(33) for slot in OPTIMIZERS[name].slots}
    OPTIMIZERS[name].update(weights, gradient, vectors, 1)
    assert np.array_equal(weights, wanted)


@pytest.mark.parametrize("kind, settings", [
    (SGD, {"learning_rate": 1.0, "momentum": 0.0}),
    (Adam, {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}),
    (Adadelta, {"learning_rate": 1.0, "rho": 0.95, "epsilon": 1e-6}),
])
def test_default_settings_are_those_of_the_papers(kind, settings):
    assert vars(kind()) == settings


@pytest.mark.parametrize("optimizer, wanted", [
    (SGD(momentum=0.9), {"velocity": 2.0}),
    (Adam(), {"m": 0.2, "v": 0.004}),
    (Adadelta(), {"squares": 0.2, "deltas": 0.05 * 4 * 1e-6 / (0.2 + 1e-6)}),
])
def test_names_of_state_vectors(optimizer, wanted):
    """Checkpoints store the vectors under these names."""
    vectors = {name: np.zeros(1) for name in wanted}
    optimizer.update(np.zeros(1), np.full(1, 2.0), vectors, 1)
    assert optimizer.slots == tuple(wanted)
    assert {name: vector[0] for name, vector in vectors.items()} == pytest.approx(wanted)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_float32_agrees_and_stays_float32(name, problem):
    weights, gradients = problem
    low = run(OPTIMIZERS[name], weights.astype(np.float32), gradients.astype(np.float32))
    assert low.dtype == np.float32
    np.testing.assert_allclose(low, run(OPTIMIZERS[name], weights, gradients), atol=1e-5)


@pytest.mark.parametrize("make, words", [
    (lambda: SGD(-1.0), "learning_rate = -1.0"),
    (lambda: SGD(1.0, momentum=1.0), "momentum = 1.0"),
    (lambda: Adam(float("nan")), "learning_rate = nan"),
    (lambda: Adam(beta1=1.0), r"beta1 = 1.0; expected a number in \[0, 1\)"),
    (lambda: Adam(beta2=1.5), "beta2 = 1.5"),
    (lambda: Adam(epsilon=float("inf")), "epsilon = inf"),
    (lambda: Adadelta(0.0), "learning_rate = 0.0"),
    (lambda: Adadelta(rho=-0.1), "rho = -0.1"),
    (lambda: Adadelta(epsilon=0.0), "epsilon = 0.0"),
    (lambda: Adam("0.1"), "learning_rate = '0.1'; expected a positive number"),
    (lambda: SGD(np.array(1.0)), "learning_rate = array"),
])
def test_bad_settings(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("kind", [Adam, Adadelta])
def test_epsilon_that_float32_rounds_to_0_is_refused(kind):
    """With a gradient of 0, the first update would be 0 / 0."""
    optimizer = kind(epsilon=1e-50)
    for dtype in (np.float32, np.float64):
        vectors = {name: np.zeros(3, dtype) for name in optimizer.slots}
        weights, gradient = np.ones(3, dtype), np.zeros(3, dtype)
        if dtype == np.float32:
            with pytest.raises(ValueError, match="epsilon = 1e-50 rounds to 0 in float32, .*1e-38"):
                optimizer.update(weights, gradient, vectors, 1)
        else:
            optimizer.update(weights, gradient, vectors, 1)
        assert (weights == 1).all()
