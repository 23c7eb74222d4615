"""RNN, LSTM and GRU compared with PyTorch: outputs, last states, gradients; ragged batches."""

import laws
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[parity]'")

from converters import cell_gradients, to_torch  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

from numpy_attention.cells.bidirectional import Bidirectional  # noqa: E402
from numpy_attention.cells.gru import GRU  # noqa: E402
from numpy_attention.cells.lstm import LSTM  # noqa: E402
from numpy_attention.cells.rnn import RNN  # noqa: E402
from numpy_attention.gradcheck import randomize  # noqa: E402
from numpy_attention.gradcheck.cases.case import ragged  # noqa: E402

T, B, I, H = 6, 4, 3, 5
LENGTHS = [6, 2, 5, 1]
PRECISIONS = [(np.float64, 1e-8), (np.float32, 1e-5)]


def leaf(array):
    return torch.from_numpy(array.copy()).requires_grad_()


def as_tuple(state):
    return state if isinstance(state, tuple) else (state,)


@pytest.mark.parametrize("dtype, tolerance", PRECISIONS)
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("kind", [RNN, LSTM, GRU])
def test_cell(rng, kind, both, padded, dtype, tolerance):
    cells = [randomize(kind.create(rng, I, H, dtype=dtype), rng) for _ in range(1 + both)]
    layer = Bidirectional(*cells) if both else cells[0]
    theirs = to_torch(*cells)
    xs = rng.standard_normal((T, B, I)).astype(dtype)
    mask = ragged(T, LENGTHS if padded else [T] * B)
    first = [tuple(rng.standard_normal((B, H)).astype(dtype) for _ in as_tuple(cell.zero_state(B)))
             for cell in cells]

    state = [one if kind is LSTM else one[0] for one in first]
    ys, last, cache = layer.forward(xs, tuple(state) if both else state[0], mask)
    dys, dlast = laws.upstream_of((ys * 1, last))
    dys *= mask[:, :, None]
    grads = layer.zeros_like()
    dxs, dfirst = layer.backward(dys, dlast, cache, grads)

    torch_xs = leaf(xs)
    torch_first = [leaf(np.stack(parts)) for parts in zip(*first)]      # h, c: (directions, B, H)
    packed = pack_padded_sequence(torch_xs, torch.tensor(mask.sum(0)), enforce_sorted=False)
    torch_ys, torch_last = theirs(packed, tuple(torch_first) if kind is LSTM else torch_first[0])
    torch_ys, _ = pad_packed_sequence(torch_ys, total_length=T)
    torch_last = as_tuple(torch_last)
    loss = (torch_ys * torch.from_numpy(dys)).sum()
    for h, dh in zip(torch_last, layer_states(dlast, both)):
        loss = loss + (h * torch.from_numpy(dh)).sum()
    loss.backward()

    ours = {"ys": np.where(mask[:, :, None], ys, 0), "dxs": dxs, "last": layer_states(last, both),
            "dfirst": layer_states(dfirst, both), "grads": dict(grads.named_parameters())}
    suffixes = {"forward_cell.": "l0", "backward_cell.": "l0_reverse"} if both else {"": "l0"}
    wanted = {"ys": torch_ys.detach().numpy(), "dxs": torch_xs.grad.numpy(),
              "last": [h.detach().numpy() for h in torch_last],
              "dfirst": [h.grad.numpy() for h in torch_first],
              "grads": {prefix + name: array for prefix, suffix in suffixes.items()
                        for name, array in cell_gradients(theirs, suffix).items()}}
    laws.assert_close(ours, wanted, tolerance)


def layer_states(state, both):
    """Return [h, c] or [h], each (directions, B, H), stacked as in PyTorch."""
    each = [as_tuple(one) for one in (state if both else (state,))]
    return [np.stack(parts) for parts in zip(*each)]


@pytest.mark.parametrize("dtype, tolerance", PRECISIONS)
def test_embedding_and_cross_entropy(rng, dtype, tolerance):
    from numpy_attention.layers.embedding import Embedding
    from numpy_attention.layers.output import Output
    words = randomize(Embedding.create(rng, 9, I, dtype=dtype), rng)
    output = randomize(Output.create(rng, I, 9, dtype=dtype, words=words), rng)         # tied
    ids, targets = rng.integers(0, 9, (2, 20))
    x, cache = words.forward(ids)
    grads = output.zeros_like()
    loss, dx = output.loss_and_grad(x, targets, dtype(0.3), grads)
    words.backward(dx, cache, grads.words)

    E, b = leaf(words.E), leaf(output.b)
    torch_x = torch.nn.functional.embedding(torch.from_numpy(ids), E)
    torch_x.retain_grad()
    logits = torch_x @ E.T + b
    torch_loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(targets),
                                                   reduction="sum")
    (0.3 * torch_loss).backward()
    assert loss == pytest.approx(torch_loss.item(), rel=tolerance)
    wanted = [torch_x.grad.numpy(), E.grad.numpy(), b.grad.numpy()]
    laws.assert_close([dx, grads.words.E, grads.b], wanted, tolerance)
