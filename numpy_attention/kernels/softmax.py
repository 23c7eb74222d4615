"""Softmax over the unmasked positions, weighted sums, log-softmax and cross-entropy."""

import math

from numpy_attention.kernels.elementary import exp, kernel, row_dot, row_max, row_sum
from numpy_attention.kernels.guard import guarded


@guarded(scores="B S", mask="B S bool", weights="B S")
@kernel
def masked_softmax(scores, mask, weights):
    """Compute α_bj = e^{s_bj} / Σ_k e^{s_bk} over the positions where mask is True, 0 elsewhere.

    scores s (B, S), weights α (B, S), mask (B, S) boolean. If mask is False in a whole row, its
    weights are 0. If an unmasked score is NaN, all weights of its row are NaN.
    """
    zero = scores.dtype.type(0)
    for b in range(scores.shape[0]):
        s = scores[b]
        m = mask[b]
        w = weights[b]
        top = zero
        some = False
        for j in range(s.shape[0]):
            if m[j]:
                top = s[j] if (not some or s[j] > top) else top
                some = True
        for j in range(s.shape[0]):
            w[j] = exp(s[j] - top) if m[j] else zero
        if some:
            total = row_sum(w)
            for j in range(s.shape[0]):
                w[j] /= total


@guarded(dweights="B S", weights="B S", dscores="B S")
@kernel
def masked_softmax_backward(dweights, weights, dscores):
    """Compute ds_bj = α_bj (dα_bj − Σ_k α_bk dα_bk), which is 0 where α is 0.

    dweights, weights, dscores (B, S) are dα, α and ds.
    """
    for b in range(weights.shape[0]):
        w = weights[b]
        dw = dweights[b]
        ds = dscores[b]
        # w[j] = exp(s[j] - top) / total
        mean = row_dot(w, dw)
        for j in range(w.shape[0]):
            ds[j] = w[j] * (dw[j] - mean)


@guarded(weights="B S", values="B S D", context="B D")
@kernel
def weighted_sum(weights, values, context):
    """Compute c_b = Σ_j α_bj h_bj.   weights (B, S), values (B, S, D) → context (B, D)."""
    for b in range(weights.shape[0]):
        c = context[b]
        c[:] = 0
        for j in range(weights.shape[1]):
            w = weights[b, j]
            v = values[b, j]
            if w != 0:
                for d in range(c.shape[0]):
                    c[d] += w * v[d]


@guarded(query="B D", values="B S D", mask="B S bool", scores="B S")
@kernel
def dot_scores(query, values, mask, scores):
    """Compute e_bj = q_b · h_bj where mask is True, 0 elsewhere.

    query (B, D), values (B, S, D), mask (B, S) → scores (B, S).
    """
    zero = values.dtype.type(0)
    for b in range(values.shape[0]):
        for j in range(values.shape[1]):
            scores[b, j] = row_dot(values[b, j], query[b]) if mask[b, j] else zero


@guarded(logits="N V", b="V", room="V")
@kernel
def log_softmax(logits, b, room):
    """Compute log p_n = z_n − max z_n − log Σ_v e^{z_nv − max z_n}  with z = logits + b, in place.

    logits (N, V), b (V,); room (V,) is scratch space for one row's exponentials.
    """
    for n in range(logits.shape[0]):
        z = logits[n]
        for v in range(z.shape[0]):
            z[v] += b[v]
        top = row_max(z)
        for v in range(z.shape[0]):
            z[v] -= top
            room[v] = exp(z[v])
        log_total = z.dtype.type(math.log(row_sum(room)))
        for v in range(z.shape[0]):
            z[v] -= log_total


@guarded(logits="N V", b="V", targets="N int < V", losses="N float64")
@kernel
def cross_entropy(logits, b, targets, scale, losses):
    """Compute the loss and gradient of a softmax in one pass, in place.

        z = logits + b,  p = softmax(z),  losses_n = −log p_n[target_n]
        logits becomes ∂/∂z of scale · Σ_n losses_n, which is scale (p − onehot(target))

    logits (N, V), b (V,), targets (N,), losses (N,) float64.
    """
    for n in range(logits.shape[0]):
        z = logits[n]
        target = targets[n]
        for v in range(z.shape[0]):
            z[v] += b[v]
        top = row_max(z)
        z_target = z[target]
        for v in range(z.shape[0]):
            z[v] = exp(z[v] - top)
        total = row_sum(z)
        losses[n] = math.log(total) + top - z_target
        # losses[n] = log(total) + top - z_target,  total = Σ_v exp(z[v] - top)
        share = scale / total
        for v in range(z.shape[0]):
            z[v] *= share
        z[target] -= scale
