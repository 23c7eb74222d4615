// Long short-term memory (LSTM).

"use strict";

// i, f, o = σ(x_t W + h_{t−1} U + b)      input, forget and output gate
// g       = tanh(x_t W + h_{t−1} U + b)   candidate; columns of W, U and b in the order i f g o
// c_t     = f ∘ c_{t−1} + i ∘ g
// h_t     = o ∘ tanh(c_t)
class LSTM extends Cell {
  zeroState() {
    return { h: new Float32Array(this.hiddenSize), c: new Float32Array(this.hiddenSize) };
  }

  step(a, { h, c }) {
    const H = this.hiddenSize;
    const gates = sum(a, product(h, this.U));
    const i = gates.subarray(0, H).map(sigmoid);
    const f = gates.subarray(H, 2 * H).map(sigmoid);
    const g = tanh(gates.subarray(2 * H, 3 * H));
    const o = gates.subarray(3 * H).map(sigmoid);
    const cell = c.map((c_j, j) => f[j] * c_j + i[j] * g[j]);
    const hidden = cell.map((c_j, j) => o[j] * Math.tanh(c_j));
    return { state: { h: hidden, c: cell }, values: { i, f, candidate: g, o, c: cell } };
  }
}

Object.assign(KINDS, { LSTM });
