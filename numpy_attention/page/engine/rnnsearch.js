// RNNsearch (Bahdanau, Cho & Bengio 2015), and the encoder–decoder with one fixed vector (Cho et
// al. 2014), which differs only in its attention and in the directions of its encoder.

"use strict";

//   h_j  = [→h_j; ←h_j]                               annotations
//   s_0  = tanh(W_s ←h_1 + b_s)
//   c_i  = Σ_j α_ij h_j                               α_i from s_{i−1} and the annotations
//   s_i  = GRU(E y_{i−1}, c_i; s_{i−1})               c_i enters gates and candidate, through C
//   t_i  = maxout(U_o s + V_o E y_{i−1} + C_o c_i)    s = s_{i−1} if the readout is "previous",
//                                                     s_i if it is "current"
//   p(y_i) = softmax(W_o t_i)
class RNNSearch extends Module {
  // Source ids ending in </s> → { annotations, memory, s_0 }
  encode(ids) {
    const x = ids.map((id) => this.source_embedding.forward(id));
    const { ys: annotations, last } = this.encoder.forward(x);
    const s_0 = tanh(sum(product(lastLeaf(last), this.W_s), this.b_s));
    return { annotations, memory: this.attention.read(annotations), s_0 };
  }

  start({ s_0 }) {
    return { cells: this.firstStates(s_0), i: 0 };
  }

  // Split s_0 (L · H,) into the initial states of the layers.
  firstStates(s_0) {
    if (!(this.decoder instanceof Stacked)) return { h: s_0 };
    const H = s_0.length / this.decoder.cells.length;
    return this.decoder.cells.map((_, l) => ({ h: s_0.subarray(l * H, (l + 1) * H) }));
  }

  // Id of the previous word → log p of the next word, the attention, the new state.
  step({ memory }, state, previous, given = null) {
    const Ey = this.target_embedding.forward(previous);
    const query = this.decoder.hidden(state.cells);
    const attended = this.attention.step(query, memory, state.i, given);
    const a = sum(this.decoder.project(Ey), product(attended.context, this.C));
    const { state: cells, values } = this.decoder.step(a, state.cells);
    const s = this.decoder.hidden(cells);
    const read = this.readout === "previous" ? query : s;
    const t = this.deep_output.forward(read, Ey, attended.context);
    return {
      state: { cells, i: state.i + 1 },
      logP: this.output.logProbabilities(t),
      ...attended,
      values: { ...attended.values, Ey, query, context: attended.context, ...values, s, t },
    };
  }
}

class EncoderDecoder extends RNNSearch {}

// The last array in an encoder's final states: ←h_1 of the top layer, or →h_S if there is no ←h.
function lastLeaf(state) {
  return Array.isArray(state) ? lastLeaf(state.at(-1)) : state.h;
}

Object.assign(KINDS, { RNNSearch, EncoderDecoder });
