"""Plain NumPy, one time step after another, computes what the package computes."""

import laws
import numpy as np
import pytest
import sides
from per_step import loss_and_grad, per_step, zero_states
from worker import tiny

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
        loss, grad, states = loss_and_grad(p, size, inputs, targets, states)
        assert loss == pytest.approx(expected, rel=1e-5)
        laws.assert_close(grad, dict(wanted.named_parameters()), 1e-5)


@pytest.mark.parametrize("clip", [0.01, 5.0])
@pytest.mark.parametrize("name", ["a", "e"])
def test_its_training_steps_are_ours(monkeypatch, name, clip):
    """From the same values: so clipping and optimizer are ours too."""
    size = tiny(sides.MODELS[name])
    kind, _, _ = sides.rate_and_clip(size)
    for module in ("sides", "per_step"):
        monkeypatch.setattr(f"{module}.rate_and_clip", lambda size: (kind, 0.02, clip))
    ours = sides.ours(size, 1, lambda: None)
    theirs = per_step(size, 1, lambda: None)
    losses = [ours() for _ in range(6)]
    assert [theirs() for _ in range(6)] == pytest.approx(losses, rel=1e-4)
    assert losses[-1] < losses[0]
