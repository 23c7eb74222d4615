"""Language models compared with PyTorch: carried states, ragged rows, every attention."""

import laws
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[parity]'")

from torch_language_model import TorchLanguageModel, TorchNGram, TorchReader, copy_weights, named  # noqa: E402

from numpy_attention.attention.readout_config import FORMS  # noqa: E402
from numpy_attention.data.batching import TextBatch  # noqa: E402
from numpy_attention.gradcheck import randomize  # noqa: E402
from numpy_attention.gradcheck.cases.case import V  # noqa: E402
from numpy_attention.gradcheck.cases.models import TEXT  # noqa: E402
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel  # noqa: E402
from numpy_attention.models.language_model import LanguageModel  # noqa: E402

PRECISIONS = [(np.float64, 1e-8), (np.float32, 1e-5)]
H = 6
LATER = TextBatch(np.array([[5, 4, 7], [6, 7, 8], [4, 5, 0], [8, 0, 0], [7, 0, 0]]),
                  np.array([[6, 7, 8], [4, 5, 5], [8, 4, 0], [7, 0, 0], [4, 0, 0]]), np.arange(3))
ATTENTIVE = {
    "single": {"attention": "single"},
    "combined": {"attention": "combined"},
    "combined, a window": {"attention": "combined", "window": 2},
    "combined, memory": {"attention": "combined", "carried": 3},
    "single, memory and window": {"attention": "single", "carried": 6, "window": 3},
    "attention": {"attention": "attention"},
    "key-value": {"attention": "key-value", "window": 3, "carried": 2},
    "key-value-predict": {"attention": "key-value-predict"},
    "key-value-predict, memory": {"attention": "key-value-predict", "carried": 4, "cell": "lstm",
                                  "layers": 2, "tied": False},
    "ngram": {"attention": "ngram"},
    "ngram, memory": {"attention": "ngram", "carried": 1, "cell": "rnn", "tied": False},
    "key-value, linear": {"attention": "key-value", "activation": "linear"},
    "projection": {"attention": "projection"},
    "projection, linear": {"attention": "projection", "activation": "linear", "tied": False},
    "bigram": {"attention": "ngram", "carried": 1, "order": 2},
}


def parity(model, theirs, tolerance):
    """Compare loss, gradients and weights on two batches with a carried state."""
    copy_weights(model, theirs.to(torch.from_numpy(model.vector).dtype))
    state = None
    torch_state = None
    for batch in (TEXT, LATER):
        inputs, targets = map(torch.from_numpy, (batch.inputs, batch.targets))
        grads = model.zeros_like()
        before = state
        loss, state = model.loss_and_grad(batch, before, 0.3, grads)
        theirs.zero_grad()
        torch_loss, after = theirs.loss(inputs, targets, torch_state)
        (0.3 * torch_loss).backward()
        assert loss == pytest.approx(torch_loss.item(), rel=tolerance)
        assert model.loss(batch, before)[0] == pytest.approx(loss, rel=tolerance)
        wanted = named(theirs, lambda parameter: parameter.grad.numpy())
        laws.assert_close(dict(grads.named_parameters()), wanted, tolerance)
        if theirs.reader is not None:
            weights, _ = model.weights(batch, before)
            wanted = theirs(inputs, torch_state)[1]
            assert (weights is None) == (wanted is None)
            if wanted is not None:
                # the states of padded steps differ, and so do their weights
                real = batch.inputs != 0
                laws.assert_close(weights[real], wanted.detach().numpy()[real], tolerance)
        torch_state = after


@pytest.mark.parametrize("dtype, tolerance", PRECISIONS)
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_language_model(rng, cell, tied, dtype, tolerance):
    embedding = H if tied else 4
    model = LanguageModel.create(rng, V, H, layers=2, cell=cell, embedding=embedding, tied=tied,
                                 dtype=dtype)
    parity(randomize(model, rng), TorchLanguageModel(V, H, 2, cell, embedding, tied), tolerance)


@pytest.mark.parametrize("dtype, tolerance", PRECISIONS)
@pytest.mark.parametrize("name", ATTENTIVE)
def test_attentive_language_model(name, dtype, tolerance):
    # gradients of scores nearly cancel; in float32 this leaves a difference of 3e-6 from PyTorch
    parity(*pair(np.random.default_rng(2), dtype, **ATTENTIVE[name]), tolerance)


def pair(rng, dtype=np.float64, attention="combined", layers=1, cell="gru", tied=True, dropout=0.0,
         **settings):
    """Return the same AttentiveLanguageModel here and in PyTorch, with sizes that differ."""
    model = AttentiveLanguageModel.create(rng, V, attention, H, layers, cell, embedding=5,
                                          tied=tied, dropout=dropout, dtype=dtype, **settings)
    outputs = model.reader.output_size
    if attention in ("ngram", "projection"):
        order = settings.pop("order", 4) if attention == "ngram" else 2
        reader = TorchNGram(H, outputs, order, **settings)
    else:
        reader = TorchReader(H, outputs, **FORMS[attention], **settings)
    theirs = TorchLanguageModel(V, H, layers, cell, 5, tied, dropout, reader)
    return randomize(model, rng), theirs


def test_dropout_is_applied_in_the_same_places(rng):
    """Compare mean losses over many draws, since the masks themselves cannot be equal."""
    model, theirs = pair(rng, layers=2, dropout=0.3)
    copy_weights(model, theirs.double())
    ids = [torch.from_numpy(array) for array in (LATER.inputs, LATER.targets)]
    torch.manual_seed(0)
    with torch.no_grad():
        their_losses = [theirs.loss(*ids)[0].item() for _ in range(250)]
        theirs.eval()
        assert theirs.loss(*ids)[0].item() == pytest.approx(model.loss(LATER)[0], rel=1e-10)
    grads = model.zeros_like()
    losses = [model.loss_and_grad(LATER, None, 1.0, grads, np.random.default_rng(k))[0]
              for k in range(250)]
    error = np.hypot(np.std(losses), np.std(their_losses)) / np.sqrt(250)
    assert abs(np.mean(losses) - np.mean(their_losses)) < 4 * error
    assert np.std(losses) == pytest.approx(np.std(their_losses), rel=0.3)
