"""A deep output with maxout and the loss of whole sentences (Bahdanau et al. 2015, A.2.2).

    u_t = s_t U_o + E[y_{t−1}] V_o + c_t C_o + b_u,  m_tk = max(u_t,2k, u_t,2k+1),
    log p_t = log softmax(m_t W_o + b_o),  nll_t = −log p_t(target_t) if the target is known,
    loss = Σ nll / B,  score_b = Σ_t nll_tb / the number of b's targets
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import ragged
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class DeepOutput(Module):
    E: Array    # (V, I)
    U_o: Array  # (H, 2K)
    V_o: Array  # (I, 2K)
    C_o: Array  # (D, 2K)
    b_u: Array  # (2K,)
    W_o: Array  # (K, V)
    b_o: Array  # (V,)

    def forward(self, s, c, before, targets, known):
        """Return loss, scores (B,), cache. s (T, B, H), c (T, B, D), others (T, B)."""
        T, B = targets.shape
        y = self.E[before]                                          # (T, B, I)
        u = s @ self.U_o + y @ self.V_o + c @ self.C_o + self.b_u   # (T, B, 2K)
        even, odd = u[:, :, 0::2], u[:, :, 1::2]
        m = np.maximum(even, odd)                                   # (T, B, K)
        logits = m @ self.W_o + self.b_o
        logits = logits - logits.max(axis=2, keepdims=True)
        log_p = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
        nll = np.zeros((T, B))
        for t in range(T):
            nll[t] = -log_p[t, np.arange(B), targets[t]]
        nll *= known
        loss = nll.sum() / B
        scores = nll.sum(axis=0) / known.sum(axis=0)
        return np.array(loss), scores, (s, c, before, targets, known, y, even, odd, m, log_p)

    def backward(self, dloss, dscores, cache, grads):
        s, c, before, targets, known, y, even, odd, m, log_p = cache
        T, B = targets.shape
        # the loss and the scores
        dnll = dloss / B + dscores / known.sum(axis=0)              # (B,)
        dnll = known * dnll                                         # (T, B)
        # nll = −log softmax(logits) at the target
        dlogits = np.exp(log_p)
        for t in range(T):
            dlogits[t, np.arange(B), targets[t]] -= 1
        dlogits *= dnll[:, :, None]
        # logits = m W_o + b_o
        grads.W_o += np.einsum("tbk,tbv->kv", m, dlogits)
        grads.b_o += dlogits.sum(axis=(0, 1))
        dm = dlogits @ self.W_o.T
        # m = max(even, odd)
        du = np.empty(s.shape[:2] + self.b_u.shape)
        du[:, :, 0::2] = dm * (even > odd)
        du[:, :, 1::2] = dm * (even <= odd)
        # u = s U_o + y V_o + c C_o + b_u
        grads.U_o += np.einsum("tbh,tbk->hk", s, du)
        grads.V_o += np.einsum("tbi,tbk->ik", y, du)
        grads.C_o += np.einsum("tbd,tbk->dk", c, du)
        grads.b_u += du.sum(axis=(0, 1))
        ds = du @ self.U_o.T
        dy = du @ self.V_o.T
        dc = du @ self.C_o.T
        np.add.at(grads.E, before, dy)
        return ds, dc, None, None, None


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, V, H, D, I, K = 4, 2, 8, 3, 6, 5, 7
    shapes = (V, I), (H, 2 * K), (I, 2 * K), (D, 2 * K), (2 * K,), (K, V), (V,)
    output = randomize(DeepOutput(*map(np.empty, shapes)), rng)
    before = np.array([[0, 0], [5, 2], [5, 7], [1, 2]])
    targets = np.array([[5, 2], [5, 7], [1, 2], [3, 0]])
    inputs = (rng.standard_normal((T, B, H)), rng.standard_normal((T, B, D)), before, targets,
              ragged(T, [4, 3]))
    return output, inputs, output.forward, output.backward
