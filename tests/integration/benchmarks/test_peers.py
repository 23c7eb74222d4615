"""Implementations in other libraries compute the same as the package with the same weights."""

import laws
import numpy as np
import per_step
import pytest
import sides
from worker import tiny

from numpy_attention.data.vocabulary import EOS
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.gradcheck import randomize
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch

V = 9


def plain_steps(size, threads):
    return per_step.per_step(size, threads, lambda: None)


def jax_steps(size, threads):
    pytest.importorskip("jax", reason="JAX is not installed: pip install -e '.[peers]'")
    import jax_side
    return jax_side.jax_step(size, threads, lambda: None)


@pytest.mark.parametrize("steps, module, name", [
    (plain_steps, "per_step", "a"), (plain_steps, "per_step", "e"),
    (jax_steps, "jax_side", "a"), (jax_steps, "jax_side", "c"), (jax_steps, "jax_side", "e"),
])
def test_losses_of_training_steps_match(monkeypatch, steps, module, name):
    """So clipping and optimizer match too; the rate is large enough to change the loss soon."""
    if module == "jax_side":
        pytest.importorskip("jax", reason="JAX is not installed: pip install -e '.[peers]'")
    kind, _, clip = sides.rate_and_clip(sides.MODELS[name])
    for one in ("sides", module):
        monkeypatch.setattr(f"{one}.rate_and_clip", lambda size: (kind, 0.02, clip))
    size = tiny(sides.MODELS[name])
    ours, theirs = sides.ours(size, 1, lambda: None), steps(size, 1)
    losses = [ours() for _ in range(6)]
    assert [theirs() for _ in range(6)] == pytest.approx(losses, rel=1e-4)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_plain_numpy_gradients_match(rng, cell):
    size = tiny(sides.MODELS["a"]) | {"cell": cell}
    model = randomize(sides.our_language_model(size, rng), rng)
    batch = sides.batch_of(size, rng)
    expected = model.zeros_like()
    total, _ = model.loss_and_grad(batch, None, 1.0, expected)
    loss, grads, _ = per_step.loss_and_grad(
        dict(model.named_parameters()), size, batch.inputs, batch.targets,
        per_step.zero_states(size))
    assert loss == pytest.approx(total, rel=1e-5)
    laws.assert_close(grads, dict(expected.named_parameters()), 1e-5)


# ---- searches in PyTorch ------------------------------------------------------------------------


@pytest.fixture
def source(rng):
    """Source ids (S, B) of unequal lengths, with </s> at the end."""
    lengths = rng.integers(1, 7, 30)
    ids = np.zeros((7, 30), np.int64)
    for b, n in enumerate(lengths):
        ids[:n, b] = rng.integers(4, V, n)
        ids[n, b] = EOS
    return ids


@pytest.fixture(params=["rnnsearch", "luong"])
def model_and_searcher(request, rng, source):
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
    from pytorch import torch_decoding, torch_luong, torch_rnnsearch
    if request.param == "rnnsearch":
        ours = randomize(RNNSearch.create(
            rng, V, V, 3, 6, alignment=5, maxout=4, readout="current", reset="after", update="old",
            init="modern", dtype=np.float64), rng)
        theirs = torch_rnnsearch.TorchRNNSearch(V, V, 3, 6, 5, 4).double()
        return ours, torch_decoding.RNNSearcher(torch_rnnsearch.copy_weights(ours, theirs))
    ours = LuongTranslator.create(rng, V, V, 3, 6, layers=1, dtype=np.float64)
    randomize(ours, rng)
    theirs = torch_luong.TorchLuong(V, V, 3, 6).double()
    return ours, torch_decoding.LuongSearcher(torch_luong.copy_weights(ours, theirs))


@pytest.mark.parametrize("beam", [None, 1, 5])
def test_searches_match(source, model_and_searcher, beam):
    import torch
    from pytorch import torch_decoding
    ours, searcher = model_and_searcher
    if beam is None:
        expected = [found.ids for found in greedy(ours, source, source != 0)]
        found = torch_decoding.greedy(searcher, torch.from_numpy(source))
    else:
        expected = [found[0].ids for found in beam_search(ours, source, source != 0, beam)]
        found = torch_decoding.beam_search(searcher, torch.from_numpy(source), beam)
    assert found == expected and len(set(map(len, expected))) > 3
