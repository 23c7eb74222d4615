"""Optimizers: their formulas, PyTorch's results, and what they refuse."""

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
    """The weights after each gradient."""
    weights = weights.copy()
    vectors = {name: np.zeros_like(weights) for name in optimizer.slots}
    path = []
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
def test_as_pytorch(name, problem):
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
def test_rate_is_a_share_of_the_learning_rate(name, problem):
    optimizer = OPTIMIZERS[name]
    half = replace(optimizer, learning_rate=0.5 * optimizer.learning_rate)
    np.testing.assert_allclose(run(optimizer, *problem, rate=0.5), run(half, *problem), rtol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_whole_gradient_at_the_whole_rate_unless_told(name, problem):
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
def test_settings_are_the_papers_unless_told(kind, settings):
    assert vars(kind()) == settings


@pytest.mark.parametrize("optimizer, wanted", [
    (SGD(momentum=0.9), {"velocity": 2.0}),
    (Adam(), {"m": 0.2, "v": 0.004}),
    (Adadelta(), {"squares": 0.2, "deltas": 0.05 * 4 * 1e-6 / (0.2 + 1e-6)}),
])
def test_vectors_hold_what_their_names_say(optimizer, wanted):
    """Checkpoints keep them by these names."""
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
    (lambda: Adam(beta1=1.0), r"beta1 = 1.0: expected a number in \[0, 1\)"),
    (lambda: Adam(beta2=1.5), "beta2 = 1.5"),
    (lambda: Adam(epsilon=float("inf")), "epsilon = inf"),
    (lambda: Adadelta(0.0), "learning_rate = 0.0"),
    (lambda: Adadelta(rho=-0.1), "rho = -0.1"),
    (lambda: Adadelta(epsilon=0.0), "epsilon = 0.0"),
    (lambda: Adam("0.1"), "learning_rate = '0.1': expected a positive number"),
    (lambda: SGD(np.array(1.0)), "learning_rate = array"),
])
def test_bad_settings(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("change, error, message", [
    ({"gradient": np.zeros((3, 4))}, ValueError, r"gradient has shape \(3, 4\), expected \(12,\)"),
    ({"gradient": np.zeros(11)}, ValueError, r"gradient has shape \(11,\), expected \(12,\)"),
    ({"gradient": np.zeros(13)}, ValueError, r"gradient has shape \(13,\), expected \(12,\)"),
    ({"gradient": np.zeros(12, np.float32)}, TypeError, "gradient is float32, expected float64"),
    ({"gradient": [0.0] * 12}, TypeError, "gradient is a list, expected a NumPy array"),
    ({"weights": np.zeros(12, np.int64)}, TypeError, "weights are int64, expected an array of"),
    ({"weights": np.zeros(12, np.float16)}, TypeError, "weights are float16"),
    ({"weights": np.zeros(12, complex)}, TypeError, "weights are complex128"),
    ({"weights": [0.0] * 12}, TypeError, "weights are list"),
    ({"weights": np.zeros((12, 1))}, ValueError, r"weights have shape \(12, 1\), expected one"),
])
def test_what_would_overwrite_memory_is_refused(optimizer, change, error, message):
    given = {"weights": np.zeros(12), "gradient": np.zeros(12)} | change
    vectors = {name: np.zeros(12) for name in optimizer.slots}
    with pytest.raises(error, match=message):
        optimizer.update(given["weights"], given["gradient"], vectors, 1)


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("change, message", [
    ({"step": 0}, "step = 0: expected a whole number of at least 1"),
    ({"step": 1.5}, "step = 1.5: expected a whole number"),
    ({"rate": None}, "rate = None: expected a finite number of at least 0"),
    ({"rate": float("nan")}, "rate = nan: expected a finite number"),
    ({"factor": -1}, "factor = -1: expected a finite number of at least 0"),
    ({"factor": "1"}, "factor = '1': expected a finite number of at least 0"),
])
def test_numbers_that_cannot_be_change_nothing(optimizer, change, message):
    weights, gradient = np.ones(3), np.ones(3)
    vectors = {name: np.zeros(3) for name in optimizer.slots}
    with pytest.raises(ValueError, match=message):
        optimizer.update(weights, gradient, vectors, **{"step": 1} | change)
    assert (weights == 1).all() and (gradient == 1).all()


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_what_cannot_be_written_is_refused(optimizer):
    names = ["weights", "gradient", *optimizer.slots]
    for frozen in names:
        given = {name: np.zeros(3) for name in names}
        given[frozen].flags.writeable = False
        with pytest.raises(ValueError, match=f"{frozen} is read-only, and is written to"):
            optimizer.update(given.pop("weights"), given.pop("gradient"), given, 1)


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if OPTIMIZERS[name].slots])
def test_slots_are_like_the_weights(name):
    optimizer = OPTIMIZERS[name]
    for slot in optimizer.slots:
        vectors = {one: np.zeros(12) for one in optimizer.slots}
        for wrong, error in ((np.zeros(5), ValueError), (np.zeros(12, np.int32), TypeError)):
            with pytest.raises(error, match=f"{slot} (has shape|is int32)"):
                optimizer.update(np.zeros(12), np.zeros(12), vectors | {slot: wrong}, 1)
        del vectors[slot]
        with pytest.raises(ValueError, match="one vector like the weights for each"):
            optimizer.update(np.zeros(12), np.zeros(12), vectors, 1)
