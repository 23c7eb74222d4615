// Multi-head attention (Vaswani et al. 2017, section 3.2.2).

"use strict";

// head_i = Attention(q W_q^i + b_q^i, h W_k^i, h W_v^i + b_v^i),  c = [head_1; …; head_n] W_o + b_o
//
//   Attention(q, k, v) = Σ_j softmax(q · k_j / √d_k) v_j
//
// The columns of the heads are concatenated. given: one (S,) for all heads, or a list with one (S,)
// per head.
class MultiHeadAttention extends Module {
  read(values) {
    return { values, keys: this.keysAndValues(values), visible: null };
  }

  // h → { k, v } of all heads, each (A,)
  keysAndValues(values) {
    return values.map((h) => ({ k: product(h, this.W_k), v: sum(product(h, this.W_v), this.b_v) }));
  }

  step(query, memory, t, given = null) {
    return this.attend(query, memory.keys, memory.visible, given);
  }

  attend(query, keysAndValues, visible, given = null) {
    const q = sum(product(query, this.W_q), this.b_q);
    const size = q.length / this.heads;
    const scale = Math.fround(this.attention.scaled ? 1 / Math.sqrt(size) : 1);
    const part = (x, head) => x.subarray(head * size, (head + 1) * size);
    const heads = [];
    const weights = [];
    const scores = [];
    for (let head = 0; head < this.heads; head++) {
      const q_i = part(q, head);
      const e = Float32Array.from(keysAndValues, ({ k }) => dot(q_i, part(k, head)) * scale);
      const alpha = given === null ? softmax(e, visible) : givenFor(head, given);
      scores.push(e);
      weights.push(alpha);
      heads.push(weightedSum(alpha, keysAndValues.map(({ v }) => part(v, head)), size));
    }
    const context = sum(product(concatenate(...heads), this.W_o), this.b_o);
    return { context, weights, scores, values: {} };
  }
}

class ScaledDotProductAttention extends Module {}

Object.assign(KINDS, { MultiHeadAttention, ScaledDotProductAttention });
