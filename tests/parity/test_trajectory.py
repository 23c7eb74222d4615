"""Twenty steps of training beside PyTorch: same data, same initial weights, clipping and Adam, so the same losses.

A gradient check alone misses faults of the optimizer, of clipping and of the normaliser, and biases counted twice.
PyTorch's GRU has two biases where this package has one (but for n); the second is frozen at 0.
"""

import numpy as np
import pytest

from numpy_attention.data.batching import PairBatches
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.training.optimizers import SGD, Adadelta, Adam
from numpy_attention.training.trainer import Trainer

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
from torch_rnnsearch import TorchRNNSearch, copy_weights  # noqa: E402

OPTIMIZERS = {
    "sgd": (SGD(0.5), lambda p: torch.optim.SGD(p, 0.5)),
    "momentum": (SGD(0.1, momentum=0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
    "adam": (Adam(1e-2), lambda p: torch.optim.Adam(p, 1e-2)),
    "adadelta": (Adadelta(1.0), lambda p: torch.optim.Adadelta(p, 1.0, rho=0.95, eps=1e-6)),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_twenty_steps_as_pytorch(name, dtype, threads):
    rng = np.random.default_rng(7)
    sources = [[int(i) for i in rng.integers(4, 20, rng.integers(1, 9))] for _ in range(160)]
    batches = PairBatches(sources, [[i + 1 for i in source[::-1]] for source in sources], batch_size=8)
    ours = RNNSearch.create(rng, 20, 22, embedding=9, hidden=12, alignment=10, maxout=7, readout="current", reset="after",
                            update="old", init="modern", dtype=dtype)
    theirs = copy_weights(ours, TorchRNNSearch(20, 22, 9, 12, 10, 7).to(torch.from_numpy(np.zeros(1, dtype)).dtype))
    H = 12
    for cell, suffix in ((theirs.encoder, "_l0"), (theirs.encoder, "_l0_reverse"), (theirs.decoder, "")):
        getattr(cell, "bias_hh" + suffix).register_hook(
            lambda g: torch.cat([torch.zeros(2 * H, dtype=g.dtype), g[2 * H:]]))     # only n's second bias exists here
    optimizer, torch_optimizer = OPTIMIZERS[name]
    torch_optimizer = torch_optimizer(theirs.parameters())
    trainer = Trainer(ours, optimizer, batches, rng=rng, clip=1.0, threads=threads, progress=False)
    losses = []
    step = trainer.train_step

    def noted(batch, *rest):
        loss, tokens = step(batch, *rest)
        losses.append(loss / tokens)
        return loss, tokens
    trainer.train_step = noted
    order = batches.order(np.random.default_rng([trainer.seed, 0]))
    assert len(order) == 20
    trainer.fit(1)
    for i, place in enumerate(order):
        batch = batches.batch(place)
        torch_optimizer.zero_grad()
        loss = theirs.loss(*map(torch.as_tensor, (batch.source, batch.target_in, batch.target_out)))
        (loss / batch.size).backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        torch_optimizer.step()
        assert abs(losses[i] - loss.item() / batch.tokens) < 1e-4, f"step {i}"
    assert min(losses) < losses[0]
    reference = copy_weights(ours, TorchRNNSearch(20, 22, 9, 12, 10, 7).to(next(theirs.parameters()).dtype))
    for (label, mine), other in zip(reference.named_parameters(), theirs.parameters()):
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=0,
                                   atol=1e-4 if dtype == np.float64 else 5e-3, err_msg=label)
