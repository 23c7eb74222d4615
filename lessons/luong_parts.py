"""Comparisons of lesson 07's code with the library."""

import numpy as np

from numpy_attention.data.batching import pair_batch
from numpy_attention.gradcheck import randomize
from numpy_attention.models.luong import LuongTranslator


def check_same(attention, score, score_backward, s, M, *weights):
    """Compare a score and its backward pass with one of the library's attentions.

    Both run from s and M to the context and back, from the same random dc. AssertionError: the
    context, the weights, or a gradient differs.
    """
    dc = np.random.default_rng(9).standard_normal(M.shape[1])
    scores, cache = score(s, M, *weights)
    exps = np.exp(scores - scores.max())
    alpha = exps / exps.sum()
    dalpha = M @ dc
    ds, dM, *dweights = score_backward(alpha * (dalpha - alpha @ dalpha), cache)
    ours = [alpha @ M, alpha, ds, dM + np.outer(alpha, dc), *dweights]
    _check_equal(ours, _attended(attention, s, M, dc))


def check_same_look(attention, look, attend_backward, s, M, *weights):
    """The same for a function that returns context and weights, such as local_p."""
    dc = np.random.default_rng(9).standard_normal(M.shape[1])
    context, alpha, cache = look(s, M, *weights)
    ours = [context, alpha, *attend_backward(dc, np.zeros(len(M)), cache)]
    _check_equal(ours, _attended(attention, s, M, dc))


def check_same_decoder(kind, rng):
    """Compare lesson 07's PlainDecoder, or another kind, with the library's decoder.

    Annotations and the first state are those of the library's encoder of two sentences.
    AssertionError: s̃, the weights, or the gradient of a parameter differs.
    """
    model = LuongTranslator.create(rng, 9, 9, embedding=3, hidden=4, layers=1, cell="rnn",
                                   attention="dot", input_feeding=True, dtype=np.float64)
    randomize(model, rng)
    batch = pair_batch([[4, 6, 5, 6, 7], [5, 7]], [[5, 8, 7], [6, 4, 5]])
    memory, states, _ = model.encode(batch.source, batch.source_mask)
    ys = model.target_embedding.E[batch.target_in]
    plain = kind(*_decoders(model))
    feds, alphas, cache = plain.forward(ys, states[0], memory.values, memory.mask)
    read_out, weights, known = model.forward(batch)
    _check_equal([feds.reshape(read_out.shape), alphas], [read_out, weights])
    dread_out = rng.standard_normal(read_out.shape)
    ours = plain.zeros_like()
    plain.backward(dread_out.reshape(feds.shape), np.zeros_like(alphas), cache, ours)
    theirs = model.zeros_like()
    model.backward(dread_out, None, known, theirs)
    _check_equal([array for _, array in ours.named_parameters()], _decoders(theirs))


def _decoders(model):
    """W, U, b, F, C and W_h of a LuongTranslator with an Elman cell, or of its gradient."""
    cell = model.decoder.cells[0]
    return [cell.W, cell.U, cell.b, model.F, model.C, model.W]


def _attended(attention, s, M, dc):
    """The library's context, weights, ds, dM and gradients of its own parameters, for one query."""
    memory = attention.read(M[None], np.ones((1, len(M)), bool))
    dmemory = memory.gradient()
    grads = attention.zeros_like()
    context, alpha, cache = attention.step(s[None], memory, 0)
    ds = attention.step_backward(dc[None], None, cache, dmemory, grads)
    dM = attention.read_backward(memory, dmemory, grads)
    return [context[0], alpha[0], ds[0], dM[0], *(array for _, array in grads.named_parameters())]


def _check_equal(ours, theirs):
    for number, (mine, one) in enumerate(zip(ours, theirs, strict=True)):
        assert np.allclose(mine, one, rtol=1e-10, atol=1e-12), f"result {number} differs"
