"""Plain NumPy, one time step after another, computes what the package computes."""

import laws
import numpy as np
import pytest
import sides
from per_step import loss_and_grad, per_step, zero_states
from same_steps import check_same_steps

from numpy_attention.data.batching import TextBatch
from numpy_attention.gradcheck import randomize

CELLS = ["lstm", "gru"]


@pytest.mark.parametrize("cell", CELLS)
def test_loss_and_gradients_are_ours(rng, cell):
    size = {"vocabulary": 11, "hidden": 5, "layers": 2, "cell": cell, "attention": None,
            "steps": 6, "batch": 3}
    model = randomize(sides.our_language_model(size, rng), rng)
    p = dict(model.named_parameters())
    states = zero_states(size)
    state = None
    for _ in range(2):                              # the second batch from the first one's state
        inputs, targets = rng.integers(4, 11, (2, 6, 3))
        wanted = model.zeros_like()
        expected, state = model.loss_and_grad(
            TextBatch(inputs, targets, np.arange(3)), state, 1.0, wanted)
        loss, grads, states = loss_and_grad(p, size, inputs, targets, states)
        assert loss == pytest.approx(expected, rel=1e-5)
        laws.assert_close(grads, dict(wanted.named_parameters()), 1e-5)


@pytest.mark.parametrize("clip", [0.01, 5.0])
@pytest.mark.parametrize("name", ["a", "e"])
def test_its_training_steps_are_ours(monkeypatch, name, clip):
    check_same_steps(monkeypatch, "per_step", per_step, name, clip)
