"""LuongTranslator compared with PyTorch: loss, weights and gradients."""

import laws
import numpy as np
import pytest

from numpy_attention.data.batching import pair_batch
from numpy_attention.models.luong import LuongTranslator

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
from torch_luong import TorchLuong, copy_weights, encoder_cells  # noqa: E402

BATCH = pair_batch([[4, 5, 6, 7], [5, 7], [6, 4, 4]], [[4, 5], [8, 7, 4, 9], [5]])
FORMS = [
    {"score": "dot", "layers": 2},
    {"score": "general", "layers": 1, "bidirectional": True},
    {"score": "concat", "layers": 2, "bidirectional": True},
    {"score": "dot", "layers": 2, "feeding": False},
    {"score": "concat", "layers": 2, "bidirectional": True, "query": "previous"},
    {"score": "scaled-dot", "layers": 1, "feeding": False, "query": "previous"},
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-8), (np.float32, 1e-5)])
def test_loss_weights_and_gradients(rng, dtype, tolerance, form):
    ours = LuongTranslator.create(rng, 9, 11, embedding=3, hidden=6, layers=form["layers"],
                                  attention=form["score"],
                                  bidirectional=form.get("bidirectional", False),
                                  input_feeding=form.get("feeding", True),
                                  query=form.get("query", "current"), init=0.6, dtype=dtype)
    theirs = TorchLuong(9, 11, 3, 6, **form).to(torch.from_numpy(np.zeros(1, dtype)).dtype)
    copy_weights(ours, theirs)
    ids = (BATCH.source, BATCH.target_in, BATCH.target_out)
    source, target_in, target_out = map(torch.as_tensor, ids)
    loss = theirs.loss(source, target_in, target_out)
    loss.backward()
    grads = ours.zeros_like()
    found, _ = ours.loss_and_grad(BATCH, None, 1.0, grads)
    assert found == pytest.approx(loss.item(), rel=tolerance)
    mask = BATCH.target_mask
    their_weights = theirs(source, target_in)[1].detach().numpy()
    laws.assert_close(ours.weights(BATCH)[mask], their_weights[mask], tolerance)
    wanted = gradients(ours, theirs, form["score"])
    laws.assert_close(dict(grads.named_parameters()), wanted, tolerance)


def g(parameter):
    return parameter.grad.numpy()


def gradients(ours, theirs, score, H=6, E=3):
    """Return PyTorch's gradients under the names of the parameters here."""
    wanted = {
        "source_embedding.E": g(theirs.source_embedding.weight),
        "target_embedding.E": g(theirs.target_embedding.weight),
        "C": g(theirs.W_c.weight)[:, :H].T,
        "W": g(theirs.W_c.weight)[:, H:].T,
        "output.words.E": g(theirs.output.weight),
        "output.b": g(theirs.output.bias),
    }
    for layer, cell in enumerate(theirs.decoder):
        inputs = g(cell.weight_ih).T
        wanted[f"decoder.cells.{layer}.W"] = inputs[:E] if layer == 0 else inputs
        wanted[f"decoder.cells.{layer}.U"] = g(cell.weight_hh).T
        wanted[f"decoder.cells.{layer}.b"] = g(cell.bias_ih)
        if layer == 0 and ours.F is not None:
            wanted["F"] = inputs[E:]
    names = {id(module): name for name, module in ours.modules()}
    for suffix, cell in encoder_cells(ours):
        name = names[id(cell)]
        wanted[f"{name}.W"] = g(getattr(theirs.encoder, f"weight_ih_{suffix}")).T
        wanted[f"{name}.U"] = g(getattr(theirs.encoder, f"weight_hh_{suffix}")).T
        wanted[f"{name}.b"] = g(getattr(theirs.encoder, f"bias_ih_{suffix}"))
    if "dot" not in score:
        wanted["attention.W_a"] = g(theirs.W_a.weight).T
    if score == "concat":
        wanted["attention.U_a"] = g(theirs.U_a.weight).T
        wanted["attention.v_a"] = g(theirs.v_a)
    return wanted
