// Local attention: a window of source positions (Luong et al. 2015, section 3.2).

"use strict";

class Window extends Module {
  read(values) {
    return this.attention.read(values);
  }

  // The memory with only the positions |s − centre| ≤ width visible.
  around(centre, memory) {
    const visible = memory.values.map((_, s) => Math.abs(s - centre) <= this.width);
    return { ...memory, visible };
  }
}

// local-m: p_t = t, and attention within [p_t − width, p_t + width].
//
// After the end of the source, p_t stays at the last position, that of </s>. backwards: the source
// is reversed except for </s>. p_t starts at the last position before </s>, moves back to the first
// position, and then stays at </s>.
class LocalMonotonic extends Window {
  step(query, memory, t, given = null) {
    const last = memory.values.length - 1;
    let p = Math.min(t, last);
    if (this.backwards && p < last) p = last - 1 - p;
    const attended = this.attention.step(query, this.around(p, memory), t, given);
    return { ...attended, values: { ...attended.values, p } };
  }
}

// local-p: the model predicts the position p of the window.
//
//   p   = S σ(v_p · tanh(W_p q))                    between 0 and the length S
//   a   = weights of the wrapped attention over [p − width, p + width]
//   g_s = exp(−(s − p)² / 2σ²),  σ = width / 2
//   α_s = a_s g_s                                   not renormalized
//   c   = Σ_s α_s h_s
class LocalPredictive extends Window {
  step(query, memory, t, given = null) {
    const S = memory.values.length;
    const hidden = tanh(product(query, this.W_p));
    const share = Math.fround(0.5 + 0.5 * Math.tanh(0.5 * dot(hidden, this.v_p)));
    const p = Math.fround(S * share);
    const attended = this.attention.step(query, this.around(p, memory), t);
    const distance = (s) => (s - p) / this.width;
    const gauss = Float32Array.from(memory.values, (_, s) => Math.exp(-2 * distance(s) ** 2));
    let weights = attended.weights[0].map((a, s) => a * gauss[s]);
    if (given !== null) weights = givenFor(0, given);
    const context = weightedSum(weights, memory.values, memory.values[0].length);
    return { context, weights: [weights], scores: attended.scores, values: { p, gauss } };
  }
}

Object.assign(KINDS, { LocalMonotonic, LocalPredictive });
