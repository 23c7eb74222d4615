"""Mistakes along a sequence: what is changed, and the step of the derivation that it breaks."""

SEQUENCES = {
    "bptt": (
        ("            dh = dh + dys[t]\n", "            dh = dys[t]\n",
         "h_t has two listeners: what the next step sends back is forgotten"),
        ("grads.U += before[t].T @ da", "grads.U += after[t].T @ da",
         "U met the state before the step, h_{t−1}, not the one after it"),
        ("da = dh * (1 - after[t]**2)", "da = dh * (1 - before[t]**2)",
         "the derivative of the tanh is taken at its output, h_t, not at h_{t−1}"),
        ("dh = da @ self.U.T", "dh = da @ self.U",
         "what went through U comes back through Uᵀ"),
        ("        dh = dlast\n", "        dh = np.zeros_like(dlast)\n",
         "the last state has a listener besides: its gradient is where the loop begins"),
        ("da = dh * (1 - after[t]**2)", "da = dh",
         "the tanh was passed without its derivative"),
        ("grads.b += da.sum(0)", "grads.b += da[0]",
         "b was used by every sequence of the batch: their gradients add up"),
        ("grads.W += xs[t].T @ da", "grads.W[...] = xs[t].T @ da",
         "W serves all steps: each adds to its gradient, none replaces it"),
        ("for t in reversed(range(len(xs)))", "for t in range(len(xs))",
         "back-propagation goes from the last step to the first"),
    ),
    "truncated": (
        ("    for first in range(0, len(xs), k):\n        dh = np.zeros_like(h)",
         "    dh = np.zeros_like(h)\n    for first in range(0, len(xs), k):\n        pass",
         "at the end of a chunk the gradient begins anew with zeros; here it comes from another "
         "chunk"),
        ("    for first in range(0, len(xs), k):\n"
         "        dh = np.zeros_like(h)                       # nothing comes from the chunk "
         "behind\n"
         "        last = min(first + k, len(xs))\n"
         "        for t in reversed(range(first, last)):\n"
         "            dh = dh + dhs[t]\n",
         "    dh = np.zeros_like(h)\n"
         "    for t in reversed(range(len(xs))):\n"
         "        if t >= 0:\n"
         "            dh = dh * (t % k > 0) + dhs[t]\n",
         "the cut is one step off: what comes to a chunk's first step belongs to it, what that "
         "step sends on to the chunk before is dropped"),
        ("    hs = states(W, U, xs, h)\n",
         "    hs = np.concatenate([states(W, U, xs[f:f + k], np.zeros_like(h))[f > 0:] "
         "for f in range(0, len(xs), k)])\n",
         "the state goes on from chunk to chunk; here each begins with zeros"),
        ("dU += hs[t].T @ da", "dU += hs[t + 1].T @ da",
         "U met the state before the step, h_{t−1}, not the one after it"),
        ("da = dh * (1 - hs[t + 1]**2)", "da = dh * (1 - hs[t]**2)",
         "the derivative of the tanh is taken at its output, h_t, not at h_{t−1}"),
        ("            dh = dh + dhs[t]\n", "            dh = dhs[t]\n",
         "within a chunk the next step is a listener, too: this is k = 1"),
    ),
    "masks": (
        ("dh = da @ self.U.T + stays", "dh = da @ self.U.T",
         "past the end the old state went through: its gradient comes back unchanged there"),
        ("dnew = np.where(m, dh, 0)", "dnew = dh",
         "past its end a sequence's new state was not taken: it gets no gradient"),
        ("dh = da @ self.U.T + stays", "dh = da @ self.U.T + dh",
         "the old state went through only where the sequence had ended, not everywhere"),
        ("stays = np.where(m, 0, dh) ", "stays = np.where(m, dh, 0) ",
         "the mask is the wrong way round: the old state went through where it is False"),
        ("da = dnew * (1 - news[t]**2)", "da = dnew * (1 - hs[t]**2)",
         "the derivative of the tanh is taken at its output, not at the state before"),
    ),
    "deep-output": (
        ("dwide = (dt[:, :, None] * largest)", "dwide = (dt[:, :, None] * ~largest)",
         "the gradient goes to the larger of a pair, not to the smaller"),
        ("dwide = (dt[:, :, None] * largest)", "dwide = (dt[:, :, None] * np.ones_like(pairs))",
         "the smaller of a pair had no part in the scores: it gets nothing"),
        ("dwide = (dt[:, :, None] * largest)", "dwide = (dt[:, :, None] * (largest - 0.5 * "
         "np.ones_like(pairs)))",
         "a maximum is not a difference: the smaller gets 0, not minus a half"),
        ("grads.V += y.T @ dwide", "grads.V[...] = y.T @ dwide",
         "a layer may be used twice: its gradients are added to what is there"),
        ("dwide @ self.U.T, dwide @ self.V.T, dwide @ self.C.T",
         "dwide @ self.U.T, 0 * (dwide @ self.V.T), dwide @ self.C.T",
         "the word before had a part in the scores, so it has a gradient"),
    ),
}
