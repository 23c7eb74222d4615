"""One pass over the flat vectors: sums of gradient twins, their norm, and the optimizers' updates.

Every update reads its gradient g times `factor` (the clipping) and leaves 0 there, ready for the
next step. All are elementwise, so that a vector may be updated slice by slice.
"""

import math

import numpy as np

from numpy_attention.kernels.elementary import kernel, reduction
from numpy_attention.kernels.guard import guarded


@guarded(total="N", other="N")
@kernel
def gather(total, other):
    """total += other, other = 0."""
    zero = total.dtype.type(0)
    for i in range(total.shape[0]):
        total[i] += other[i]
        other[i] = zero


@guarded(table="N D", found="N bool")
@kernel
def touched_rows(table, found):
    """found_i: whether row i has a number that is not 0."""
    for i in range(table.shape[0]):
        found[i] = False
        for j in range(table.shape[1]):
            if table[i, j] != 0:
                found[i] = True
                break


@guarded(g="N")
@reduction
def squared_norm(g):
    """Σ g_i² in float64."""
    total = np.float64(0)
    for i in range(g.shape[0]):
        total += np.float64(g[i]) * np.float64(g[i])
    return total


@guarded(w="N", g="N", velocity="N")
@kernel
def momentum(w, g, velocity, rate, mu, factor):
    """v = μ v + g,  w −= rate v."""
    zero = w.dtype.type(0)
    for i in range(w.shape[0]):
        velocity[i] = mu * velocity[i] + factor * g[i]
        w[i] -= rate * velocity[i]
        g[i] = zero


@guarded(w="N", g="N")
@kernel
def sgd(w, g, rate):
    """w −= rate g; `factor` is in the rate."""
    zero = w.dtype.type(0)
    for i in range(w.shape[0]):
        w[i] -= rate * g[i]
        g[i] = zero


@guarded(w="N", g="N", m="N", v="N")
@kernel
def adam(w, g, m, v, rate, beta1, beta2, root2, epsilon, factor):
    """m = β₁ m + (1 − β₁) g,  v = β₂ v + (1 − β₂) g²,  w −= rate m / (√v / root2 + ε).

    rate holds 1 / (1 − β₁ᵗ), root2 is √(1 − β₂ᵗ): the bias corrections.
    """
    zero = w.dtype.type(0)
    one = w.dtype.type(1)
    for i in range(w.shape[0]):
        gi = factor * g[i]
        m[i] = beta1 * m[i] + (one - beta1) * gi
        v[i] = beta2 * v[i] + (one - beta2) * gi * gi
        w[i] -= rate * m[i] / (math.sqrt(v[i]) / root2 + epsilon)
        g[i] = zero


@guarded(w="N", g="N", squares="N", deltas="N")
@kernel
def adadelta(w, g, squares, deltas, rate, rho, epsilon, factor):
    """s = ρ s + (1 − ρ) g²,  δ = g √(d + ε) / √(s + ε),  d = ρ d + (1 − ρ) δ²,  w −= rate δ."""
    zero = w.dtype.type(0)
    one = w.dtype.type(1)
    for i in range(w.shape[0]):
        gi = factor * g[i]
        squares[i] = rho * squares[i] + (one - rho) * gi * gi
        delta = gi * math.sqrt(deltas[i] + epsilon) / math.sqrt(squares[i] + epsilon)
        deltas[i] = rho * deltas[i] + (one - rho) * delta * delta
        w[i] -= rate * delta
        g[i] = zero
