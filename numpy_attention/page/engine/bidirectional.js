// Two cells over one sequence, one from each end.

"use strict";

// h_j = [→h_j; ←h_j] depends on the words before and after j. last: the final states [→h_S, ←h_1].
class Bidirectional extends Module {
  forward(xs) {
    const ahead = this.forward_cell.forward(xs);
    const back = this.backward_cell.forward([...xs].reverse());
    back.ys.reverse();
    const ys = xs.map((_, j) => concatenate(ahead.ys[j], back.ys[j]));
    return { ys, last: [ahead.last, back.last] };
  }
}

Object.assign(KINDS, { Bidirectional });
