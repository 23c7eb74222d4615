// A recurrent cell: what those of all kinds share.
//
//   a = cell.project(x)                       x W + b, the input's part of the pre-activations
//   { state, values } = cell.step(a, state)   one step; values: its gates by name, of a stack the
//                                             top layer's
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
