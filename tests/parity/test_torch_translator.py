"""RNNSearch compared with PyTorch: weights, loss and all gradients."""

import laws
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[parity]'")

from converters import translator_gradients  # noqa: E402
from torch_rnnsearch import TorchRNNSearch, copy_weights  # noqa: E402

from numpy_attention.data.batching import pair_batch  # noqa: E402
from numpy_attention.gradcheck import randomize  # noqa: E402
from numpy_attention.models.rnnsearch import RNNSearch  # noqa: E402


def pair(rng, dtype, dropout=0.0):
    sizes = {"embedding": 5, "hidden": 6, "alignment": 7, "maxout": 3, "dropout": dropout}
    model = RNNSearch.create(rng, 11, 13, readout="current", reset="after", update="old",
                             init="modern", dtype=dtype, **sizes)
    randomize(model, rng)
    theirs = TorchRNNSearch(11, 13, **sizes).to(torch.from_numpy(model.b_s).dtype)
    return model, copy_weights(model, theirs)


def batch_of(rng, B=5):
    def sentences(vocabulary):
        return [rng.integers(4, vocabulary, n).tolist() for n in rng.integers(1, 9, B)]
    return pair_batch(sentences(11), sentences(13))


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-8), (np.float32, 1e-5)])
def test_weights_loss_and_all_gradients(rng, dtype, tolerance):
    model, theirs = pair(rng, dtype)
    batch = batch_of(rng)
    ids = [torch.from_numpy(array) for array in (batch.source, batch.target_in, batch.target_out)]
    grads = model.zeros_like()
    loss, _ = model.loss_and_grad(batch, None, 1 / batch.size, grads)
    torch_loss = theirs.loss(*ids)
    (torch_loss / batch.size).backward()
    assert loss == pytest.approx(torch_loss.item(), rel=tolerance)
    # past the end of a sentence PyTorch's decoder goes on, and this one keeps its state
    real = batch.target_mask
    their_weights = theirs(*ids[:2])[1].detach().numpy()
    laws.assert_close(model.weights(batch)[real], their_weights[real], tolerance)
    wanted = translator_gradients(theirs)
    assert wanted.keys() == dict(model.named_parameters()).keys()
    laws.assert_close(dict(grads.named_parameters()), wanted, tolerance)


def test_dropout_is_applied_in_the_same_places(rng):
    """Compare mean losses over many draws, since the masks themselves cannot be equal."""
    model, theirs = pair(rng, np.float64, dropout=0.3)
    batch = batch_of(rng, 12)
    ids = [torch.from_numpy(array) for array in (batch.source, batch.target_in, batch.target_out)]
    torch.manual_seed(0)
    with torch.no_grad():
        their_losses = [theirs.loss(*ids).item() for _ in range(120)]
        theirs.eval()
        assert theirs.loss(*ids).item() == pytest.approx(model.loss(batch)[0], rel=1e-10)
    grads = model.zeros_like()
    losses = [model.loss_and_grad(batch, None, 1.0, grads, np.random.default_rng(k))[0]
              for k in range(120)]
    error = np.hypot(np.std(losses), np.std(their_losses)) / np.sqrt(120)
    assert abs(np.mean(losses) - np.mean(their_losses)) < 4 * error
    assert np.std(losses) == pytest.approx(np.std(their_losses), rel=0.4)
