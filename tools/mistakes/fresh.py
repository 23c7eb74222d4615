"""Mistakes in mechanisms that neither half has, by which a tool is judged that both have tuned."""

from mistakes.planting import Mistake

FRESH = (
    Mistake("coverage: coverage cached after the step", "steps.append((x, alpha, g))",
            "steps.append((x, alpha, g + alpha))", ("cache", "wrong step", "wrong variable"),
            line=('grad.w_g += np.einsum("bsa,bs->a", da, g)', "dg += np.where(alpha < g",
                  "dalpha += np.where(alpha < g", "g = g + alpha")),
    Mistake("coverage: one array of coverage for all steps", "            g = g + alpha\n",
            "            g += alpha\n", ("buffer", "cache", "argument changed"),
            line=("steps.append((x, alpha, g))",)),
    Mistake("coverage: later steps' use of the weights forgotten", "dalpha = dweights[t] + dg",
            "dalpha = dweights[t].copy()", ("recurrent path", "missing term"),
            line=("g = g + alpha",)),
    Mistake("coverage: coverage handed on without its own past", "dg += da @ self.w_g",
            "dg = da @ self.w_g", ("assigned", "recurrent path", "missing term"),
            line=("g = g + alpha",)),
    Mistake("coverage: coverage taken as a constant", "            dg += da @ self.w_g\n", "",
            ("missing term", "recurrent path"),
            missing_of="a = keys + q[:, None] + g[:, :, None] * self.w_g"),
    Mistake("coverage: the smaller and the greater exchanged",
            "            dalpha += np.where(alpha < g, dleast, 0)\n"
            "            dg += np.where(alpha < g, 0, dleast)\n",
            "            dalpha += np.where(alpha < g, 0, dleast)\n"
            "            dg += np.where(alpha < g, dleast, 0)\n", ("exchanged",),
            line=("penalties.append(np.minimum(alpha, g).sum(1))",)),
    Mistake("coverage: penalty to the weights alone",
            "            dg += np.where(alpha < g, 0, dleast)\n", "",
            ("missing term", "recurrent path"),
            missing_of="penalties.append(np.minimum(alpha, g).sum(1))"),
    Mistake("coverage: penalty without its backward",
            "            dleast = np.repeat(dpenalties[t][:, None], alpha.shape[1], axis=1)\n"
            "            dalpha += np.where(alpha < g, dleast, 0)\n"
            "            dg += np.where(alpha < g, 0, dleast)\n", "",
            ("output ignored", "missing term"),
            missing_of="penalties.append(np.minimum(alpha, g).sum(1))"),
    Mistake("coverage: upstream of the penalty taken as 1",
            "            dalpha += np.where(alpha < g, dleast, 0)\n"
            "            dg += np.where(alpha < g, 0, dleast)\n",
            "            dalpha += alpha < g\n            dg += alpha >= g\n",
            ("output ignored", "factor", "missing term"),
            line=("dleast = np.repeat(dpenalties", "penalties.append(np.minimum")),
    Mistake("coverage: mask forgotten in the scores",
            "e = np.where(mask, x @ self.v, -np.inf) ", "e = x @ self.v ", ("mask forward",),
            line=("p = np.exp(e - e.max(1, keepdims=True))", "self.look(s, keys, g, mask)")),
    Mistake("coverage: masked words at 0 behind the softmax",
            "        e = np.where(mask, x @ self.v, -np.inf)                     # (B, S)\n"
            "        p = np.exp(e - e.max(1, keepdims=True))\n"
            "        return x, p / p.sum(1, keepdims=True)\n",
            "        e = x @ self.v                                              # (B, S)\n"
            "        p = np.exp(e - e.max(1, keepdims=True))\n"
            "        return x, np.where(mask, p / p.sum(1, keepdims=True), 0)\n",
            ("mask forward", "jacobian"),
            line=("de = alpha * (dalpha", "self.look(s, keys, g, mask)")),
    Mistake("coverage: softmax's Jacobian a diagonal",
            "de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))",
            "de = alpha * (1 - alpha) * dalpha", ("jacobian", "missing term")),
    Mistake("coverage: tanh taken once more", "* (1 - x**2) ", "* (1 - np.tanh(x)**2) ",
            ("derivative",)),
    Mistake("coverage: w_g a mean over the batch", '+= np.einsum("bsa,bs->a", da, g)',
            "+= (da * g[:, :, None]).sum(1).mean(0)", ("factor", "batch sum")),
    Mistake("coverage: keys' gradient of one step", "dkeys += da\n", "dkeys = da\n",
            ("assigned", "missing term"), line=("a = keys + q[:, None]",)),
    Mistake("coverage: b summed over the batch alone", "grad.b += dkeys.sum((0, 1))",
            "grad.b += dkeys.sum(0)", ("shape", "axis", "batch sum")),
    Mistake("coverage: backward stops before the first step",
            "for t in range(len(states) - 1, -1, -1):", "for t in range(len(states) - 1, 0, -1):",
            ("missing term", "wrong step")),
    Mistake("coverage: backward from the first step to the last",
            "for t in range(len(states) - 1, -1, -1):", "for t in range(len(states)):",
            ("wrong step", "recurrent path"), line=("dalpha = dweights[t] + dg",)),
    Mistake("coverage: mean coverage in the forward alone", "            g = g + alpha\n",
            "            g = g + alpha / len(states)\n", ("scale in time", "factor"),
            line=("dalpha = dweights[t] + dg",)),
    Mistake("coverage: W_s with the state before", "grad.W_s += states[t].T @ dq",
            "grad.W_s += states[t - 1].T @ dq", ("wrong step", "wrong variable")),
)
