"""Attention scores whose inner loop NumPy would have to materialise: the additive score, forward and backward."""

from numpy_attention.kernels.elementary import kernel, row_dot, tanh


@kernel
def additive_scores(q, keys, v, mask, hidden, scores):
    """e_bj = v · tanh(q_b + k_bj) at the unmasked positions.

    q (B, A) projected queries, keys (B, S, A), v (A,), mask (B, S); hidden (A,) is room for one row; scores (B, S).
    """
    for b in range(keys.shape[0]):
        qb = q[b]
        for j in range(keys.shape[1]):
            if mask[b, j]:
                k = keys[b, j]
                for a in range(v.shape[0]):
                    hidden[a] = tanh(qb[a] + k[a])
                scores[b, j] = row_dot(hidden, v)
            else:
                scores[b, j] = 0


@kernel
def additive_scores_backward(dscores, q, keys, v, mask, dq, dkeys, dv):
    """With x = tanh(q_b + k_bj):  dv += de x,  da = de v (1 − x²),  dk_bj += da,  dq_b = Σ_j da.

    tanh is computed again: at 0.3 ns an element it costs less than fetching it from memory. Adds to dkeys and dv.
    """
    one = v.dtype.type(1)
    for b in range(keys.shape[0]):
        qb, dqb = q[b], dq[b]
        dqb[:] = 0
        for j in range(keys.shape[1]):
            if mask[b, j]:
                k, dk, de = keys[b, j], dkeys[b, j], dscores[b, j]
                for a in range(v.shape[0]):
                    x = tanh(qb[a] + k[a])
                    da = de * v[a] * (one - x * x)
                    dv[a] += de * x
                    dk[a] += da
                    dqb[a] += da
