"""Mistakes in attention over batches and histories: what is changed, and the step it breaks."""

ATTENTION = {
    "additive": (
        ("dmemory.values += alpha[:, :, None] * dcontext[:, None]",
         "dmemory.values = alpha[:, :, None] * dcontext[:, None]",
         "every step of the decoder reads the values: their gradients add up"),
        ("dmemory.keys += da", "dmemory.keys = da",
         "every step of the decoder reads the keys: their gradients add up"),
        ("            dalpha = dalpha + dweights\n", "            pass\n",
         "the weights have a listener besides the context: what came in as ∂L/∂α is forgotten"),
        ("return alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))",
         "return alpha * dalpha",
         "the softmax's Jacobian is not diagonal: a score falls if a look at that word raises the "
         "loss by more than the average look does"),
        ("* self.v_a * (1 - x**2)", "* self.v_a",
         "the tanh was passed without its derivative"),
        ("* self.v_a * (1 - x**2)", "* (1 - x**2)",
         "e = v_a · x: what comes back to x is de v_a"),
        ("total = da.sum(1)", "total = da.mean(1)",
         "the query met every word, so its gradients add up: sum, not mean"),
        ("return dmemory.values + dmemory.keys @ self.U_a.T", "return dmemory.values",
         "a word is found as well as said: the way through its key is forgotten"),
        ("return dmemory.values + dmemory.keys @ self.U_a.T", "return dmemory.keys @ self.U_a.T",
         "a word is said as well as found: the way through the context is forgotten"),
    ),
    "layer-norm": (
        (" - x_hat * along) / s", ") / s",
         "s depends on every x of the row: its path, x̂ mean(dx̂ x̂), is forgotten"),
        ("(dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along)", "(dx_hat - x_hat * along)",
         "the mean depends on every x of the row: its path is forgotten"),
        ("(dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along) / s", "dx_hat / s",
         "mean and spread are no constants: they depend on every x of the row"),
        ("dx_hat = dy * self.g", "dx_hat = dy",
         "y = g x̂ + b: g is a factor of what comes back to x̂"),
        ("along = (dx_hat * x_hat).mean(1, keepdims=True)",
         "along = (dx_hat * x_hat).sum(1, keepdims=True)",
         "the variance is a mean over the row: so is what comes back through it"),
        ("- x_hat * along) / s", "- x_hat * along)", "the division by s is forgotten"),
        ("        along = (dx_hat * x_hat).mean(1, keepdims=True)\n"
         "        return (dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along) / s",
         "        along = (dx_hat * x_hat).sum(1, keepdims=True) / len(dy)\n"
         "        alike = dx_hat.sum(1, keepdims=True) / len(dy)\n"
         "        return (dx_hat - alike - x_hat * along) / s",
         "mean and variance are those of a row, over its D elements; len is the number of rows"),
        ("grads.g += (dy * x_hat).sum(0)", "grads.g += dy.sum(0)",
         "g multiplied x̂: x̂ is a factor of its gradient"),
    ),
    "beam": (
        ("kept = found[:width - len(ended)]", "kept = found[:width]",
         "what has ended holds its place in the beam"),
        ("        kept = found[:width - len(ended)]           # what has ended holds its place\n"
         "        ended += [one for one in kept if one[0][-1] == end or len(one[0]) == longest]\n"
         "        running = [one for one in kept if one[0][-1] != end and len(one[0]) < longest]\n"
         "    ended.sort(key=lambda one: -one[1])\n"
         "    return ended",
         "        kept = found[:width]\n"
         "        ended += [one for one in kept if one[0][-1] == end or len(one[0]) == longest]\n"
         "        running = [one for one in kept if one[0][-1] != end and len(one[0]) < longest]\n"
         "    ended.sort(key=lambda one: -one[1])\n"
         "    return ended[:width]",
         "what has ended holds its place in the beam; to cut at the end is another search"),
        ("total + log_p[word]", "log_p[word]",
         "a continuation's total has the words before in it"),
        ("    ended.sort(key=lambda one: -one[1])\n", "",
         "what ended first need not be the most probable"),
        ("            log_p = next_log_p(words)\n",
         "            log_p = next_log_p(running[0][0])\n",
         "each hypothesis is continued by itself, not by what follows the best one"),
    ),
    "causal": (
        ("        dh += dvalues                           # it is said\n", "",
         "a state is said, too: the way through the context is forgotten"),
        ("        dh += dk @ self.W_s.T                   # it is found\n", "",
         "a state is found, too: the way through its key is forgotten"),
        ("        dh += dq @ self.W_q.T                   # it asks\n", "",
         "a state asks, too: the way through its query is forgotten"),
        ("dk = dz.sum(0) ", "dk = dz.mean(0) ",
         "a key is met by every later step: their gradients add up"),
        ("dq = dz.sum(2) ", "dq = dz.mean(2) ",
         "a query meets every earlier state: their gradients add up"),
        ("dalpha = (values * dc[:, :, None]).sum(3) + dalpha",
         "dalpha = (values * dc[:, :, None]).sum(3)",
         "the weights have a listener besides the context: what came in as dα is forgotten"),
        ("de = alpha * (dalpha - (alpha * dalpha).sum(2, keepdims=True))", "de = alpha * dalpha",
         "the softmax's Jacobian is not diagonal: a score falls if a look at that word raises the "
         "loss by more than the average look does"),
        ("da = dy * (1 - y**2)", "da = dy", "the last tanh was passed without its derivative"),
    ),
    "key-value-predict": (
        ("return dZ.sum(1) @ self.W_h.T, dZ.sum(0) @ self.W_Y.T,",
         "return dZ.sum(0) @ self.W_h.T, dZ.sum(1) @ self.W_Y.T,",
         "which sum is whose: the query's gradient is a sum over what it met, the key's over who "
         "met it"),
        ("grads.W_Y += k.T @ dZ.sum(0)", "grads.W_Y += k.T @ dZ.sum(1)",
         "W_Y made the keys: a key's gradient is a sum over all steps that met it"),
        ("alpha.T @ dr", "alpha @ dr",
         "r = α v, so dv = αᵀ dr: from those who looked to what was looked at"),
        ("dalpha = dalpha + dr @ v.T", "dalpha = dr @ v.T",
         "the weights have a listener besides r: what came in as dα is forgotten"),
        ("de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))", "de = alpha * dalpha",
         "the softmax's Jacobian is not diagonal: a score falls if a look at that word raises the "
         "loss by more than the average look does"),
        ("grads.W_x += p.T @ da", "grads.W_x += k.T @ da",
         "W_x met the part that predicts, p, not the key"),
        ("* self.w * (1 - M**2)", "* self.w", "the tanh was passed without its derivative"),
    ),
}
