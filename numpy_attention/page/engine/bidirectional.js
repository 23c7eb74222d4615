// Two cells over one sequence, one from each end.

"use strict";

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

Object.assign(KINDS, { Bidirectional });
