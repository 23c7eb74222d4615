"""Kernels over flat vectors: sums and norms of gradients, and the updates of the optimizers.

Every update multiplies its gradient g by the clipping factor, and then sets g to 0 for the next
step. All updates are elementwise, so a vector may be updated slice by slice. Most rows of an
embedding's gradient are 0, so `gather` and `sgd` skip each block of BLOCK zeros.
"""

import math

import numpy as np

from numpy_attention.kernels.elementary import kernel, reduction
from numpy_attention.kernels.guard import guarded

BLOCK = 256             # numbers of a gradient that are compared with 0 at once
SQUARED = 1 << 15       # numbers in a partial sum of squares


@reduction
def any_nonzero(row):
    """Return whether a row has an element other than 0."""
    found = row.shape[0] > 0 and row[0] != 0
    if not found:                           # so a row of a dense gradient is not read twice
        for j in range(row.shape[0]):
            found |= row[j] != 0
    return found


@guarded(total="N", other="N")
@kernel
def gather(total, other):
    """Compute total += other, then set other = 0."""
    zero = total.dtype.type(0)
    for start in range(0, total.shape[0], BLOCK):
        to = total[start:start + BLOCK]
        one = other[start:start + BLOCK]
        if any_nonzero(one):
            for i in range(to.shape[0]):
                to[i] += one[i]
                one[i] = zero


@guarded(table="N D", found="N bool")
@kernel
def touched_rows(table, found):
    """Set found_i to whether row i of the table has an element other than 0."""
    for i in range(table.shape[0]):
        found[i] = any_nonzero(table[i])


@reduction
def sum_of_squares(g):
    """Return Σ g_i² in float64."""
    total = np.float64(0)
    for i in range(g.shape[0]):
        total += np.float64(g[i]) * np.float64(g[i])
    return total


@guarded(g="N")
@kernel
def squared_norm(g, before=0.0):
    """Return before + Σ g_i² in float64, summed in blocks of SQUARED terms."""
    total = before
    for start in range(0, g.shape[0], SQUARED):
        total += sum_of_squares(g[start:start + SQUARED])
    return total


@guarded(w="N", g="N", velocity="N")
@kernel
def momentum(w, g, velocity, rate, mu, factor):
    """Update v = μ v + factor g,  w −= rate v, and set g = 0, where v is `velocity`, μ is `mu`."""
    zero = w.dtype.type(0)
    for i in range(w.shape[0]):
        velocity[i] = mu * velocity[i] + factor * g[i]
        w[i] -= rate * velocity[i]
        g[i] = zero


@guarded(w="N", g="N")
@kernel
def sgd(w, g, rate):
    """Update w −= rate g, and set g = 0. rate: the learning rate times the clipping factor."""
    zero = w.dtype.type(0)
    for start in range(0, w.shape[0], BLOCK):
        ws = w[start:start + BLOCK]
        gs = g[start:start + BLOCK]
        if any_nonzero(gs):
            for i in range(ws.shape[0]):
                ws[i] -= rate * gs[i]
                gs[i] = zero


@guarded(w="N", g="N", m="N", v="N")
@kernel
def adam(w, g, m, v, rate, beta1, beta2, root2, epsilon, factor):
    """Update m = β₁ m + (1 − β₁) g,  v = β₂ v + (1 − β₂) g²,  w −= rate m / (√v / root2 + ε).

    In these equations, g is the gradient times `factor`. To correct the bias of m and v, `rate`
    includes 1 / (1 − β₁ᵗ), and root2 is √(1 − β₂ᵗ).
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
    """Update w by Adadelta. s is `squares`, d is `deltas`, and g is the gradient times `factor`.

    s = ρ s + (1 − ρ) g²,  δ = g √(d + ε) / √(s + ε),  d = ρ d + (1 − ρ) δ²,  w −= rate δ.
    """
    zero = w.dtype.type(0)
    one = w.dtype.type(1)
    for i in range(w.shape[0]):
        gi = factor * g[i]
        squares[i] = rho * squares[i] + (one - rho) * gi * gi
        delta = gi * math.sqrt(deltas[i] + epsilon) / math.sqrt(squares[i] + epsilon)
        deltas[i] = rho * deltas[i] + (one - rho) * delta * delta
        w[i] -= rate * delta
        g[i] = zero
