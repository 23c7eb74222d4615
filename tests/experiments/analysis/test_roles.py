"""Gradients of a state by role: their sizes and directions in cases where both are known."""

import numpy as np
import pytest

from numpy_attention.data.batching import DocumentBatches, TextBatches
from numpy_attention.experiments.analysis import role_gradients
from numpy_attention.experiments.analysis.roles import PAIRS, ROLES
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel

V = 11
TEXT = TextBatches(np.random.default_rng(2).integers(4, V, 100), batch_size=3, steps=6)
MEETING = {
    "attention": set(PAIRS),
    "combined": set(PAIRS),
    "single": {pair for pair in PAIRS if pair[0] != "query"},
    "key-value": {("query", "key"), ("value", "predict")},
    "key-value-predict": {("query", "key")},
}


def model_of(rng, name, **more):
    return AttentiveLanguageModel.create(rng, V, name, hidden=6, layers=1, init=0.8,
                                         dtype=np.float64, **more)


def loss_by_role(model, batch, role, h):
    """Return Σ −log p of a batch with states h, except that one role uses the states in `role`."""
    reader = model.reader
    own, _, _ = model.read(batch)
    n = len(reader.W_x)

    def part(which):
        start = n * reader.read_by[which]
        return (h if which == role else own)[..., start:start + n]

    T, B = batch.inputs.shape
    visible = np.tri(T, T, -1, dtype=bool)[:, None].repeat(B, 1)
    r, _, _ = reader.attention.forward(
        part("query"), np.ascontiguousarray(part("key").swapaxes(0, 1)),
        np.ascontiguousarray(part("value").swapaxes(0, 1)), visible)
    y = part("predict") @ reader.W_x + r @ reader.W_r
    y = np.tanh(y if reader.b is None else y + reader.b)
    return model.output.loss(y.reshape(T * B, -1), batch.targets.ravel())


@pytest.mark.parametrize("name", MEETING)
def test_gradient_of_each_role_by_central_differences(name, rng):
    model = model_of(rng, name)
    batch = TEXT.batch(0)
    h, _, _ = model.read(batch)
    numeric = {}
    for role in ROLES:
        dh = np.zeros_like(h)
        for place in np.ndindex(h.shape):
            nudged = [h.copy(), h.copy()]
            nudged[0][place] += 1e-5
            nudged[1][place] -= 1e-5
            high, low = (loss_by_role(model, batch, role, one) for one in nudged)
            dh[place] = (high - low) / 2e-5
        numeric[role] = dh
    one = DocumentBatches([[*column, last] for column, last in zip(
        batch.inputs.T, batch.targets[-1])], batch_size=3)
    found = role_gradients(model, one, rng)
    for role, dh in numeric.items():
        norm = np.sqrt((dh**2).sum(2).mean())
        if name == "single" and role == "query":
            assert found.norms[role] is None and norm < 1e-9
            continue
        assert found.norms[role].mean == pytest.approx(norm, rel=1e-6, abs=1e-9)
        assert found.norms[role].low < norm < found.norms[role].high
    assert list(found.cosines) == list(PAIRS)
    for pair, cosine in found.cosines.items():
        if pair not in MEETING[name]:
            assert cosine is None
            continue
        a, b = (numeric[role] for role in pair)
        lengths = np.linalg.norm(a, axis=2) * np.linalg.norm(b, axis=2)
        # the first state is never a query, and the last is never a key
        there = lengths > 1e-12
        wanted = ((a * b).sum(2)[there] / lengths[there]).mean()
        assert cosine.mean == pytest.approx(wanted, abs=1e-4)
        assert -1 <= cosine.low < cosine.mean < cosine.high <= 1


@pytest.mark.parametrize("name", MEETING)
def test_padding_is_ignored_and_states_are_carried(name, rng):
    model = model_of(rng, name, carried=3)
    documents = [list(rng.integers(4, V, n)) for n in (9, 4, 14)]
    together = role_gradients(model, DocumentBatches(documents, 3, steps=5), rng)
    separate = [role_gradients(model, DocumentBatches([one], 1, steps=5), rng) for one in documents]
    sizes = [len(one) - 1 for one in documents]
    for role in ROLES:
        if together.norms[role] is not None:
            squares = [one.norms[role].mean**2 for one in separate]
            wanted = np.sqrt(np.average(squares, weights=sizes))
            assert together.norms[role].mean == pytest.approx(wanted, rel=1e-9)


def test_value_and_prediction_gradients_that_agree(rng):
    """The gradients agree if W_r = W_x and each step attends only to the previous one."""
    model = model_of(rng, "key-value", window=1)
    document = DocumentBatches([[4, 5, 5, 5, 5, 5, 5, 5]], 1)
    for sign in (1, -1):
        model.reader.W_r[...] = sign * model.reader.W_x
        model.cells.cells[0].U[...] = 0                 # h_t depends only on the current word
        model.cells.cells[0].b[:] = -9                  # the cell forgets
        found = role_gradients(model, document, rng)
        assert sign * found.cosines["value", "predict"].mean > 0.9


def test_chunk_of_one_step_has_no_cosine(rng):
    found = role_gradients(model_of(rng, "attention"), DocumentBatches([[4, 5]], 1), rng)
    assert set(found.cosines.values()) == {None}
    assert found.norms["value"] == (0, 0, 0) and found.norms["predict"].mean > 0


def test_model_is_unchanged(rng):
    model = model_of(rng, "attention", dropout=0.5)
    before = model.vector.copy()
    found = [role_gradients(model, TEXT, np.random.default_rng(1)) for _ in range(2)]
    assert found[0] == found[1] and (model.vector == before).all()
