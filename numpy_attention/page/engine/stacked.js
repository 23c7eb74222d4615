// Stacked cells.

"use strict";

// Layer l reads h^{l−1}_t. The state is the list of the layers' states.
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

Object.assign(KINDS, { Stacked });
