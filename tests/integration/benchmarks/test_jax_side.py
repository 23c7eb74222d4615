"""The models in JAX compute what the package computes."""

import laws
import numpy as np
import pytest
import sides
from same_steps import check_same_steps

from numpy_attention.gradcheck import randomize

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install -e '.[peers]'")
import jax_side  # noqa: E402

SIZES = {
    "lstm": {"vocabulary": 11, "hidden": 5, "layers": 2, "cell": "lstm", "attention": None,
             "steps": 6, "batch": 3},
    "gru": {"vocabulary": 11, "hidden": 5, "layers": 2, "cell": "gru", "attention": None,
            "steps": 6, "batch": 3},
    "rnnsearch": {"model": "rnnsearch", "vocabulary": 11, "embedding": 3, "hidden": 4,
                  "alignment": 6, "maxout": 5, "batch": 3, "low": 2, "high": 7},
}


@pytest.mark.parametrize("name", SIZES)
def test_loss_and_gradients_are_ours(rng, name):
    size = SIZES[name]
    model = randomize(sides.our_model(size, rng), rng)
    p = {name: jax.numpy.array(array) for name, array in model.named_parameters()}
    loss_of, states = jax_side.loss_of(size)
    state = None
    for _ in range(2):                              # the second batch from the first one's state
        batch = sides.batch_of(size, rng)
        wanted = model.zeros_like()
        ids = sides.arrays_of(size, batch)
        assert sides.is_text(size) != (ids[0] == 0).any()           # sentences are padded
        expected, state = model.loss_and_grad(batch, state, 1.0, wanted)
        gradient = jax.value_and_grad(loss_of, has_aux=True)
        (loss, states), grads = gradient(p, states, *ids)
        assert float(loss) == pytest.approx(expected, rel=1e-5)
        found = {name: np.asarray(array) for name, array in grads.items()}
        laws.assert_close(found, dict(wanted.named_parameters()), 1e-5)


@pytest.mark.parametrize("clip", [0.01, 5.0])
@pytest.mark.parametrize("name", ["a", "c", "e"])
def test_its_training_steps_are_ours(monkeypatch, name, clip):
    check_same_steps(monkeypatch, "jax_side", jax_side.jax_step, name, clip)
