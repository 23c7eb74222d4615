// Additive attention: scores from a small feed-forward network (Bahdanau et al. 2015).

"use strict";

// e_j = v_a · tanh(W_a q + U_a h_j), which is also Luong's concat score
class AdditiveAttention extends SoftmaxAttention {
  // k_j = U_a h_j, once per sentence
  keys(values) {
    return values.map((h) => product(h, this.U_a));
  }

  score(query, memory) {
    const projected = product(query, this.W_a);
    return additiveScores(projected, memory.keys, this.v_a);
  }
}

// e_j = v · tanh(q + k_j)   q (A,), keys: vectors (A,)
function additiveScores(q, keys, v) {
  return Float32Array.from(keys, (k) => {
    let e = 0;
    for (let a = 0; a < v.length; a++) e += v[a] * Math.fround(Math.tanh(q[a] + k[a]));
    return e;
  });
}

Object.assign(KINDS, { AdditiveAttention });
