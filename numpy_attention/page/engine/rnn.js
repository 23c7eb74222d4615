// Elman's network.

"use strict";

// h_t = tanh(x_t W + h_{t−1} U + b)
class RNN extends Cell {
  step(a, { h }) {
    return { state: { h: tanh(sum(a, product(h, this.U))) }, values: {} };
  }
}

Object.assign(KINDS, { RNN });
