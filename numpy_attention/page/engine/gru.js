// The gated recurrent unit (GRU), in the variants of papers and libraries.

"use strict";

// r = σ(x W_r + h U_r + b_r)                     reset gate; columns in the order r z n
// z = σ(x W_z + h U_z + b_z)                     update gate
// n = tanh(x W_n + b_n' + r ∘ (h U_n + b_n))     candidate, reset "after" the product
// n = tanh(x W_n + b_n' + (r ∘ h) U_n)           candidate, reset "before" it
// h_t = (1 − z) ∘ n + z ∘ h                      update "old": z weights the old state
// h_t = z ∘ n + (1 − z) ∘ h                      update "new": z weights the new one
class GRU extends Cell {
  step(a, { h }) {
    const H = this.hiddenSize;
    const block = (x, k) => x.subarray(k * H, (k + 1) * H);
    const u = product(h, this.U);
    const r = sum(block(a, 0), block(u, 0)).map(sigmoid);
    const z = sum(block(a, 1), block(u, 1)).map(sigmoid);
    let recurrent;
    if (this.reset === "after") {
      const s = sum(block(u, 2), this.b_n);
      recurrent = s.map((s_j, j) => r[j] * s_j);
    } else {
      recurrent = this.resetProduct(h.map((h_j, j) => r[j] * h_j));
    }
    const n = tanh(sum(block(a, 2), recurrent));
    const weightsNew = this.update === "new";
    const next = n.map((n_j, j) => (weightsNew ? z[j] * n_j + (1 - z[j]) * h[j]
                                              : (1 - z[j]) * n_j + z[j] * h[j]));
    return { state: { h: next }, values: { reset: r, z, candidate: n } };
  }

  // s U_n, where s = r ∘ h
  resetProduct(s) {
    const H = this.hiddenSize;
    const U = this.U.data;
    const y = new Float32Array(H);
    for (let i = 0; i < H; i++) {
      const start = i * 3 * H + 2 * H;
      for (let j = 0; j < H; j++) y[j] += s[i] * U[start + j];
    }
    return y;
  }
}

Object.assign(KINDS, { GRU });
