"""Attention, layers and a whole Transformer compared with PyTorch."""

import laws
import numpy as np
import pytest

from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.models import PAIRS
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.models.transformer import Transformer
from numpy_attention.models.transformer_layers import DecoderLayer, EncoderLayer

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
from torch import nn  # noqa: E402
from torch_transformer import TorchTransformer  # noqa: E402

B, T, S, D, HEADS, INNER = 3, 4, 5, 6, 2, 7
PRECISIONS = pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-8), (np.float32, 1e-5)])


def tensors(*arrays):
    return [torch.from_numpy(array.copy()).requires_grad_() for array in arrays]


def arrays_of(rng, dtype, *shapes):
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@PRECISIONS
def test_scaled_dot_product(rng, dtype, tolerance):
    shapes = (B, HEADS, T, D), (B, HEADS, S, D), (B, HEADS, S, INNER), (B, HEADS, T, INNER)
    arrays = arrays_of(rng, dtype, *shapes)
    visible = rng.random((B, 1, T, S)) < 0.6
    visible[..., 0] = True
    q, k, v = tensors(*arrays[:3])
    theirs = nn.functional.scaled_dot_product_attention(q, k, v, torch.from_numpy(visible))
    theirs.backward(torch.from_numpy(arrays[3]))
    attention = ScaledDotProductAttention()
    y, _, cache = attention.forward(*arrays[:3], visible)
    found = y, *attention.backward(arrays[3], None, cache)
    laws.assert_close(list(found), numbers(theirs, q.grad, k.grad, v.grad), tolerance)


def numbers(*tensors):
    return [tensor.detach().numpy() for tensor in tensors]


def fill(layer, ours):
    """Copy a MultiHeadAttention's weights to nn.MultiheadAttention. Keys have no bias here."""
    with torch.no_grad():
        weights = np.concatenate([ours.W_q, ours.W_k, ours.W_v], 1).T.copy()
        biases = np.concatenate([ours.b_q, 0 * ours.b_q, ours.b_v])
        layer.in_proj_weight.copy_(torch.from_numpy(weights))
        layer.in_proj_bias.copy_(torch.from_numpy(biases))
        layer.out_proj.weight.copy_(torch.from_numpy(ours.W_o.T.copy()))
        layer.out_proj.bias.copy_(torch.from_numpy(ours.b_o))


def gradients(layer):
    W_q, W_k, W_v = np.split(layer.in_proj_weight.grad.numpy().T, 3, axis=1)
    b_q, _, b_v = np.split(layer.in_proj_bias.grad.numpy(), 3)
    return {"W_q": W_q, "b_q": b_q, "W_k": W_k, "W_v": W_v, "b_v": b_v,
            "W_o": layer.out_proj.weight.grad.numpy().T, "b_o": layer.out_proj.bias.grad.numpy()}


@PRECISIONS
def test_multi_head(rng, dtype, tolerance):
    ours = randomize(MultiHeadAttention.create(rng, D, D, heads=HEADS, dtype=dtype), rng)
    theirs = nn.MultiheadAttention(D, HEADS, batch_first=True,
                                   dtype=torch.from_numpy(ours.W_q).dtype)
    fill(theirs, ours)
    shapes = (B, T, D), (B, S, D), (B, T, D), (B, T, S)
    queries, memory, dy, dweights = arrays_of(rng, dtype, *shapes)
    mask = np.arange(S) < np.array([[5], [3], [1]])
    q, m = tensors(queries, memory)
    y, weights = theirs(q, m, m, key_padding_mask=torch.from_numpy(~mask))
    ((y * torch.from_numpy(dy)).sum() + (weights * torch.from_numpy(dweights)).sum()).backward()
    found, attended, cache = ours.forward(queries, memory, np.repeat(mask[:, None], T, 1))
    grads = ours.zeros_like()
    dqueries, dmemory = ours.backward(dy, dweights, cache, grads)
    laws.assert_close([found, attended, dqueries, dmemory],
                      [t.detach().numpy() for t in (y, weights, q.grad, m.grad)], tolerance)
    laws.assert_close(dict(grads.named_parameters()), gradients(theirs), tolerance)


@PRECISIONS
def test_layer_norm(rng, dtype, tolerance):
    ours = randomize(LayerNorm.create(D, dtype), rng)
    theirs = nn.LayerNorm(D, dtype=torch.from_numpy(ours.g).dtype)
    with torch.no_grad():
        theirs.weight.copy_(torch.from_numpy(ours.g))
        theirs.bias.copy_(torch.from_numpy(ours.b))
    x, dy = arrays_of(rng, dtype, (T, B, D), (T, B, D))
    tensor, = tensors(x)
    theirs(tensor).backward(torch.from_numpy(dy))
    y, cache = ours.forward(x)
    grads = ours.zeros_like()
    dx = ours.backward(dy, cache, grads)
    laws.assert_close([y, dx, grads.g, grads.b],
                      numbers(theirs(tensor), tensor.grad, theirs.weight.grad, theirs.bias.grad),
                      tolerance)


def fill_rest(theirs, ours, norms):
    """Copy the feed-forward part and the norms, in PyTorch's order."""
    with torch.no_grad():
        for linear, layer in ((theirs.linear1, ours.feed_forward.inner),
                              (theirs.linear2, ours.feed_forward.outer)):
            linear.weight.copy_(torch.from_numpy(layer.W.T.copy()))
            linear.bias.copy_(torch.from_numpy(layer.b))
        for k, around in enumerate(norms, 1):
            getattr(theirs, f"norm{k}").weight.copy_(torch.from_numpy(around.norm.g))
            getattr(theirs, f"norm{k}").bias.copy_(torch.from_numpy(around.norm.b))


def check_rest(theirs, grads, norms, tolerance):
    found = {}
    wanted = {}
    for name, linear, layer in (("inner", theirs.linear1, grads.feed_forward.inner),
                                ("outer", theirs.linear2, grads.feed_forward.outer)):
        found |= {name: layer.W, f"{name} b": layer.b}
        wanted |= {name: linear.weight.grad.numpy().T, f"{name} b": linear.bias.grad.numpy()}
    for k, around in enumerate(norms, 1):
        norm = getattr(theirs, f"norm{k}")
        found |= {f"g {k}": around.norm.g, f"b {k}": around.norm.b}
        wanted |= {f"g {k}": norm.weight.grad.numpy(), f"b {k}": norm.bias.grad.numpy()}
    laws.assert_close(found, wanted, tolerance)


@pytest.mark.parametrize("pre_norm", [False, True])
@PRECISIONS
def test_encoder_layer(rng, dtype, tolerance, pre_norm):
    ours = EncoderLayer.create(rng, D, HEADS, INNER, pre_norm=pre_norm, dtype=dtype)
    randomize(ours, rng)
    theirs = nn.TransformerEncoderLayer(D, HEADS, INNER, 0.0, batch_first=True, norm_first=pre_norm,
                                        dtype=torch.from_numpy(ours.attention.W_q).dtype)
    fill(theirs.self_attn, ours.attention)
    fill_rest(theirs, ours, (ours.around_attention, ours.around_feed_forward))
    x, dy = arrays_of(rng, dtype, (B, S, D), (B, S, D))
    mask = np.arange(S) < np.array([[5], [3], [1]])
    dy *= mask[:, :, None]                          # outputs at padding may differ
    tensor, = tensors(x)
    y = theirs(tensor, src_key_padding_mask=torch.from_numpy(~mask))
    y.backward(torch.from_numpy(dy))
    found, _, cache = ours.forward(x, np.repeat(mask[:, None], S, 1))
    grads = ours.zeros_like()
    dx = ours.backward(dy, cache, grads)
    laws.assert_close([found[mask], dx], [y.detach().numpy()[mask], tensor.grad.numpy()], tolerance)
    parameters = dict(grads.attention.named_parameters())
    laws.assert_close(parameters, gradients(theirs.self_attn), tolerance)
    check_rest(theirs, grads, (grads.around_attention, grads.around_feed_forward), tolerance)


@pytest.mark.parametrize("pre_norm", [False, True])
@PRECISIONS
def test_decoder_layer(rng, dtype, tolerance, pre_norm):
    ours = DecoderLayer.create(rng, D, HEADS, INNER, pre_norm=pre_norm, dtype=dtype)
    randomize(ours, rng)
    theirs = nn.TransformerDecoderLayer(D, HEADS, INNER, 0.0, batch_first=True, norm_first=pre_norm,
                                        dtype=torch.from_numpy(ours.attention.W_q).dtype)
    fill(theirs.self_attn, ours.attention)
    fill(theirs.multihead_attn, ours.source_attention)
    around = ours.around_attention, ours.around_source, ours.around_feed_forward
    fill_rest(theirs, ours, around)
    y, memory, dy = arrays_of(rng, dtype, (B, T, D), (B, S, D), (B, T, D))
    mask = np.arange(S) < np.array([[5], [3], [1]])
    causal = np.tri(T, dtype=bool)
    tensor, source = tensors(y, memory)
    out = theirs(tensor, source, tgt_mask=torch.from_numpy(~causal),
                 memory_key_padding_mask=torch.from_numpy(~mask))
    out.backward(torch.from_numpy(dy))
    visible = np.broadcast_to(causal, (B, T, T))
    found, _, cache = ours.forward(y, visible, memory, np.repeat(mask[:, None], T, 1))
    grads = ours.zeros_like()
    dtarget, dmemory = ours.backward(dy, None, cache, grads)
    laws.assert_close([found, dtarget, dmemory], numbers(out, tensor.grad, source.grad), tolerance)
    parameters = dict(grads.attention.named_parameters())
    laws.assert_close(parameters, gradients(theirs.self_attn), tolerance)
    parameters = dict(grads.source_attention.named_parameters())
    laws.assert_close(parameters, gradients(theirs.multihead_attn), tolerance)
    residuals = grads.around_attention, grads.around_source, grads.around_feed_forward
    check_rest(theirs, grads, residuals, tolerance)


def parts(ours, theirs):
    """Return (ours, theirs) for every array outside the layers."""
    yield ours.source_embedding.E, theirs.source_embedding.weight
    yield ours.target_embedding.E, theirs.target_embedding.weight
    yield ours.output.b, theirs.bias
    stack = theirs.stack
    for norm, other in ((ours.encoder_norm, stack.encoder.norm),
                        (ours.decoder_norm, stack.decoder.norm)):
        yield norm.g, other.weight
        yield norm.b, other.bias


@PRECISIONS
def test_whole_model(rng, dtype, tolerance):
    ours = Transformer.create(rng, 9, 9, size=8, layers=2, heads=HEADS, inner=INNER, pre_norm=True,
                              dropout=0.0, smoothing=0.0, dtype=dtype)
    randomize(ours, rng)
    theirs = TorchTransformer(9, 9, 8, 2, HEADS, INNER).to(torch.from_numpy(ours.vector).dtype)
    for layer, other in layers(ours, theirs):
        fill(other.self_attn, layer.attention)
        norms = [layer.around_attention, layer.around_feed_forward]
        if isinstance(layer, DecoderLayer):
            fill(other.multihead_attn, layer.source_attention)
            norms.insert(1, layer.around_source)
        fill_rest(other, layer, norms)
    with torch.no_grad():
        for mine, tensor in parts(ours, theirs):
            tensor.copy_(torch.from_numpy(mine))
    grads = ours.zeros_like()
    loss, _ = ours.loss_and_grad(PAIRS, None, 0.5, grads)
    ids = (PAIRS.source, PAIRS.target_in, PAIRS.target_out)
    wanted = theirs.loss(*map(torch.from_numpy, ids))
    (0.5 * wanted).backward()
    assert loss == pytest.approx(wanted.item(), rel=tolerance)
    for mine, tensor in parts(grads, theirs):
        laws.assert_close(mine, tensor.grad.numpy(), tolerance)
    for layer, other in layers(grads, theirs):
        parameters = dict(layer.attention.named_parameters())
        laws.assert_close(parameters, gradients(other.self_attn), tolerance)
        norms = [layer.around_attention, layer.around_feed_forward]
        if isinstance(layer, DecoderLayer):
            parameters = dict(layer.source_attention.named_parameters())
            laws.assert_close(parameters, gradients(other.multihead_attn), tolerance)
            norms.insert(1, layer.around_source)
        check_rest(other, layer, norms, tolerance)


def layers(ours, theirs):
    """Return (ours, theirs) for every layer."""
    yield from zip(ours.encoder, theirs.stack.encoder.layers)
    yield from zip(ours.decoder, theirs.stack.decoder.layers)
