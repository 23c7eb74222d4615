// The base class of recurrent cells.
//
//   a = cell.project(x)                       x W + b, the input's part of the pre-activations
//   { state, values } = cell.step(a, state)   one step; values: the gates by name, in a stack
//                                             those of the top layer
//   { ys, last } = cell.forward(xs)           a whole sequence from a state of zeros
//
// A state is { h }, or { h, c } for an LSTM. The state of a stack is a list with one per layer.

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
