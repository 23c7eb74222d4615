"""Helpers of lesson 05: lesson 04's GRU step, the deep output, a figure, reversed sources."""

from dataclasses import replace

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import plotting

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


# ---- for the experiments -------------------------------------------------------------------------


def reversed_sources(pairs):
    """The same pairs, each with its source in reversed order."""
    return [replace(pair, source=pair.source[::-1]) for pair in pairs]


def draw_gradients(norms, styles):
    """The figure of GradientWatch.norms.

    styles: {name: the number of its curve style}, the fixed vector first.
    """
    fixed = next(iter(styles))
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharex=True,
                                sharey=True)
    for when, ax in zip(("before training", "after one epoch"), axes):
        for name, style in styles.items():
            shares = norms[name, when] / norms[name, when].sum()
            ax.semilogy(np.arange(1, len(shares) + 1), shares, label=name,
                        **plotting.base.curve_style(style))
        ax.set_xlabel("position of the source symbol")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.grid(alpha=0.3)
        first, last = norms[fixed, when][[0, -1]]
        ratio = f"1/{last / first:.0f} of" if first < last else f"{first / last:.1f} times"
        ax.set_title(f"{when.capitalize()}, fixed vector (blue):\n"
                     f"the first symbol's gradient is {ratio} the last one's")
    axes[0].set_ylabel("share of the gradient (norm, log scale)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
