// Recurrent cells: Elman's network, the LSTM, the GRU; stacks of them; two from both ends.
//
//   a = cell.project(x)                       x W + b, the input's part of the pre-activations
//   { state, values } = cell.step(a, state)   one step; values: its gates by name, of the top layer
//   { ys, last } = cell.forward(xs)           a whole sequence from the state 0
//
// A state is { h }, an LSTM's { h, c }, a stack's the list of its layers'.

"use strict";

class Cell extends Module {
  get hiddenSize() {
    return this.U.rows;
  }

  zeroState() {
    return { h: new Float32Array(this.hiddenSize) };
  }

  // a = x W + b
  project(x) {
    return sum(product(x, this.W), this.b);
  }

  hidden(state) {
    return state.h;
  }

  forward(xs) {
    let state = this.zeroState();
    const ys = [];
    for (const x of xs) {
      state = this.step(this.project(x), state).state;
      ys.push(state.h);
    }
    return { ys, last: state };
  }
}

// h_t = tanh(x_t W + h_{t−1} U + b)
class RNN extends Cell {
  step(a, { h }) {
    return { state: { h: tanh(sum(a, product(h, this.U))) }, values: {} };
  }
}

// i, f, o = σ(x_t W + h_{t−1} U + b)      input, forget and output gate
// g       = tanh(x_t W + h_{t−1} U + b)   candidate; columns of the four in the order i f g o
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

// r = σ(x W_r + h U_r + b_r)                     reset gate; columns in the order r z n
// z = σ(x W_z + h U_z + b_z)                     update gate
// n = tanh(x W_n + b_n' + r ∘ (h U_n + b_n))     candidate, reset "after" the product
// n = tanh(x W_n + b_n' + (r ∘ h) U_n)           candidate, reset "before" it
// h_t = (1 − z) ∘ n + z ∘ h                      update "old": z weighs the old state
// h_t = z ∘ n + (1 − z) ∘ h                      update "new": z weighs the new one
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
      recurrent = this.ofReset(h.map((h_j, j) => r[j] * h_j));
    }
    const n = tanh(sum(block(a, 2), recurrent));
    const weighsNew = this.update === "new";
    const next = n.map((n_j, j) => (weighsNew ? z[j] * n_j + (1 - z[j]) * h[j]
                                              : (1 - z[j]) * n_j + z[j] * h[j]));
    return { state: { h: next }, values: { reset: r, z, candidate: n } };
  }

  // s U_n, where s = r ∘ h
  ofReset(s) {
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

// Layer l reads h^{l−1}_t; the state is the list of the layers' states.
class Stacked extends Module {
  zeroState() {
    return this.cells.map((cell) => cell.zeroState());
  }

  project(x) {
    return this.cells[0].project(x);
  }

  hidden(state) {
    return this.cells.at(-1).hidden(state.at(-1));
  }

  // values: those of the top layer
  step(a, states) {
    const after = [];
    let values;
    this.cells.forEach((cell, l) => {
      if (l > 0) a = cell.project(after[l - 1].h);
      const stepped = cell.step(a, states[l]);
      after.push(stepped.state);
      values = stepped.values;
    });
    return { state: after, values };
  }

  forward(xs) {
    const last = [];
    for (const cell of this.cells) {
      const read = cell.forward(xs);
      xs = read.ys;
      last.push(read.last);
    }
    return { ys: xs, last };
  }
}


// h_j = [→h_j; ←h_j]: what stands before j, and after it. last: [→h_S, ←h_1], both cells' states.
class Bidirectional extends Module {
  forward(xs) {
    const ahead = this.forward_cell.forward(xs);
    const back = this.backward_cell.forward([...xs].reverse());
    back.ys.reverse();
    const ys = xs.map((_, j) => joined(ahead.ys[j], back.ys[j]));
    return { ys, last: [ahead.last, back.last] };
  }
}

Object.assign(KINDS, { RNN, LSTM, GRU, Stacked, Bidirectional });
