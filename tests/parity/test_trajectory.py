"""Twenty training steps compared with PyTorch: same data, weights, clipping and losses.

Gradient checks do not find errors in the optimizer, in clipping or in the normalizer, nor biases
that are added twice. PyTorch's GRU has two biases per gate where this package has one (except for
n), and so has its LSTM; the second one is frozen at 0.
"""

import numpy as np
import pytest

from numpy_attention.data.batching import PairBatches, TextBatches
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.training.optimizers import SGD, Adadelta, Adam
from numpy_attention.training.schedules import Decay
from numpy_attention.training.trainer import Trainer

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
import torch_language_model  # noqa: E402
from torch_rnnsearch import TorchRNNSearch, copy_weights  # noqa: E402

OPTIMIZERS = {
    "sgd": (SGD(0.5), lambda p: torch.optim.SGD(p, 0.5)),
    "momentum": (SGD(0.1, momentum=0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
    "adam": (Adam(1e-2), lambda p: torch.optim.Adam(p, 1e-2)),
    "adadelta": (Adadelta(1.0), lambda p: torch.optim.Adadelta(p, 1.0, rho=0.95, eps=1e-6)),
}


def losses_of(trainer, epochs):
    """Return the loss per token of every training step."""
    losses = []
    step = trainer.train_step

    def recording_step(batch, *rest):
        loss, tokens = step(batch, *rest)
        losses.append(loss / tokens)
        return loss, tokens
    trainer.train_step = recording_step
    trainer.fit(epochs)
    return losses


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_twenty_steps_match_pytorch(name, dtype, threads):
    rng = np.random.default_rng(7)
    sources = [[int(i) for i in rng.integers(4, 20, rng.integers(1, 9))] for _ in range(160)]
    targets = [[i + 1 for i in source[::-1]] for source in sources]
    batches = PairBatches(sources, targets, batch_size=8)
    H = 12
    ours = RNNSearch.create(rng, 20, 22, embedding=9, hidden=H, alignment=10, maxout=7,
                            readout="current", reset="after", update="old", init="modern",
                            dtype=dtype)
    theirs = to_torch(ours, dtype)
    cells = ((theirs.encoder, "_l0"), (theirs.encoder, "_l0_reverse"), (theirs.decoder, ""))
    for cell, suffix in cells:
        # only n has a second bias here
        getattr(cell, "bias_hh" + suffix).register_hook(
            lambda g: torch.cat([torch.zeros(2 * H, dtype=g.dtype), g[2 * H:]]))
    optimizer, make = OPTIMIZERS[name]
    torch_optimizer = make(theirs.parameters())
    trainer = Trainer(ours, optimizer, batches, rng=rng, clip=1.0, threads=threads, progress=False)
    order = batches.order(np.random.default_rng([trainer.seed, 0]))
    assert len(order) == 20
    losses = losses_of(trainer, 1)
    for i, place in enumerate(order):
        batch = batches.batch(place)
        torch_optimizer.zero_grad()
        ids = (batch.source, batch.target_in, batch.target_out)
        loss = theirs.loss(*map(torch.as_tensor, ids))
        (loss / batch.size).backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        torch_optimizer.step()
        assert abs(losses[i] - loss.item() / batch.tokens) < 1e-4, f"step {i}"
    assert min(losses) < losses[0]
    tolerance = 1e-4 if dtype == np.float64 else 5e-3
    for (label, mine), other in zip(to_torch(ours, dtype).named_parameters(), theirs.parameters()):
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=0,
                                   atol=tolerance, err_msg=label)


def to_torch(ours, dtype):
    """Return the same RNNSearch in PyTorch, with the same weights."""
    theirs = TorchRNNSearch(20, 22, 9, 12, 10, 7)
    return copy_weights(ours, theirs.to(torch_dtype(dtype)))


def torch_dtype(dtype):
    return torch.from_numpy(np.zeros(1, dtype)).dtype


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_epochs_of_zaremba_match_pytorch(tied, dtype, threads):
    """Carry the state through the ten steps of an epoch, then reset it and halve the rate."""
    rng = np.random.default_rng(7)
    batches = TextBatches(rng.integers(4, 20, 5)[rng.integers(0, 5, 1195)], batch_size=10, steps=12)
    assert len(batches) == 10 and batches.batch(batches.order()[-1]).tokens < 10 * 12
    ours = LanguageModel.create(rng, 20, hidden=12, layers=2, tied=tied, dtype=dtype)
    theirs = torch_language_model.TorchLanguageModel(20, 12, 2, tied=tied).to(torch_dtype(dtype))
    torch_language_model.copy_weights(ours, theirs)
    for name, parameter in theirs.cells.named_parameters():
        parameter.requires_grad_(not name.startswith("bias_hh"))
    optimizer = torch.optim.SGD([p for p in theirs.parameters() if p.requires_grad], 1.0)
    trainer = Trainer(ours, SGD(1.0), batches, rng=rng, schedule=Decay(1, 2.0), average="sentence",
                      clip=5.0, threads=threads, progress=False)
    losses = losses_of(trainer, 2)
    clipped = 0
    state = None
    for i, start in enumerate(2 * batches.order()):
        batch = batches.batch(start)
        if i % 10 == 0:
            state = None
        optimizer.param_groups[0]["lr"] = 0.5 if i >= 10 else 1.0
        optimizer.zero_grad()
        loss, state = theirs.loss(*map(torch.as_tensor, (batch.inputs, batch.targets)), state)
        (loss / batch.size).backward()
        clipped += torch.nn.utils.clip_grad_norm_(theirs.parameters(), 5.0).item() > 5
        optimizer.step()
        assert abs(losses[i] - loss.item() / batch.tokens) < 1e-4, f"step {i}"
    assert 0 < clipped < 20 and losses[-1] < losses[0] - 0.5
    for name, array in torch_language_model.named(theirs, lambda p: p.detach()).items():
        mine = dict(ours.named_parameters())[name]
        np.testing.assert_allclose(mine, array.numpy(), rtol=0, atol=1e-4, err_msg=name)
