"""Helpers of lesson 05: lesson 04's GRU step and the deep output."""

import numpy as np

# ---- one step of lesson 04's GRU -----------------------------------------------------------------


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def gru(a, h, cell):
    """One step from the input's term a (3H,) and the state h (H,) → next state, cache."""
    a_r, a_z, a_n = np.split(a, 3)
    u_r, u_z, u_n = np.split(h @ cell.U, 3)
    r = sigmoid(a_r + u_r)
    z = sigmoid(a_z + u_z)
    m = u_n + cell.b_n              # lesson 04's s; here s is the decoder's state
    n = np.tanh(a_n + r * m)
    return (1 - z) * n + z * h, (h, r, z, m, n)


def gru_backward(dnext, cache, cell, grads):
    """→ da (3H,), dh (H,); adds to grads.U and grads.b_n."""
    h, r, z, m, n = cache
    # h' = (1 − z) ∘ n + z ∘ h, n = tanh(a_n + r ∘ m)
    da_n = dnext * (1 - z) * (1 - n**2)
    dm = da_n * r
    # r and z are sigmoids
    da_r = da_n * m * r * (1 - r)
    da_z = dnext * (h - n) * z * (1 - z)
    # [u_r, u_z, u_n] = h U
    du = np.concatenate([da_r, da_z, dm])
    grads.U += np.outer(h, du)
    grads.b_n += dm
    return np.concatenate([da_r, da_z, da_n]), dnext * z + du @ cell.U.T


# ---- the deep output -----------------------------------------------------------------------------


def read_out(s, word, c, y, model):
    """From the decoder's state to the loss of one word → −log P(y), cache."""
    deep = model.deep_output
    o = s @ deep.U_o + word @ deep.V_o + c @ deep.C_o + deep.b          # (2d,)
    t = np.maximum(o[::2], o[1::2])                                     # (d,), maxout
    logits = t @ model.output.words.E.T + model.output.b                # (V,)
    p = np.exp(logits - logits.max())
    p /= p.sum()
    return -np.log(p[y]), (s, word, c, y, o, t, p)


def read_out_backward(cache, model, grads):
    """→ ds, dword, dc; adds to the gradients of the output's parameters."""
    s, word, c, y, o, t, p = cache
    deep = model.deep_output
    # L = −log softmax(t Oᵀ + b_O)[y]
    dlogits = p - np.eye(len(p))[y]
    grads.output.words.E += np.outer(dlogits, t)
    grads.output.b += dlogits
    dt = dlogits @ model.output.words.E
    # t = the larger of each pair of neighbours
    do = np.repeat(dt, 2) * (o == np.repeat(t, 2))
    # o = s U_o + word V_o + c C_o + b_o
    grads.deep_output.U_o += np.outer(s, do)
    grads.deep_output.V_o += np.outer(word, do)
    grads.deep_output.C_o += np.outer(c, do)
    grads.deep_output.b += do
    return do @ deep.U_o.T, do @ deep.V_o.T, do @ deep.C_o.T
