// RNNsearch (Bahdanau, Cho & Bengio 2015), and the encoder–decoder with one fixed vector (Cho et
// al. 2014), which differs in its attention and in the encoder's directions alone.

"use strict";

//   h_j  = [→h_j; ←h_j]                               annotations
//   s_0  = tanh(W_s ←h_1 + b_s)
//   c_i  = Σ_j α_ij h_j                               α_i from s_{i−1} and the annotations
//   s_i  = GRU(E y_{i−1}, c_i; s_{i−1})               c_i enters gates and candidate, through C
//   t_i  = maxout(U_o s + V_o E y_{i−1} + C_o c_i)    s = s_{i−1} where the readout is "previous",
//                                                     s_i where it is "current"
//   p(y_i) = softmax(W_o t_i)
class RNNSearch extends Module {
  // ids of a source, </s> last → { annotations, memory, s_0 }
  encode(ids) {
    const x = ids.map((id) => this.source_embedding.forward(id));
    const { ys: annotations, last } = this.encoder.forward(x);
    const s_0 = tanh(sum(product(lastLeaf(last), this.W_s), this.b_s));
    return { annotations, memory: this.attention.read(annotations), s_0 };
  }

  start({ s_0 }) {
    return { cells: this.firstStates(s_0), i: 0 };
  }

  // s_0 (L · H,) cut into the first state of each layer
  firstStates(s_0) {
    if (!(this.decoder instanceof Stacked)) return { h: s_0 };
    const H = s_0.length / this.decoder.cells.length;
    return this.decoder.cells.map((_, l) => ({ h: s_0.subarray(l * H, (l + 1) * H) }));
  }

  // the word before, an id → log p of the next, what was looked at, the state after
  step({ memory }, state, previous, given = null) {
    const Ey = this.target_embedding.forward(previous);
    const query = this.decoder.hidden(state.cells);
    const look = this.attention.step(query, memory, state.i, given);
    const a = sum(this.decoder.project(Ey), product(look.context, this.C));
    const { state: cells, values } = this.decoder.step(a, state.cells);
    const s = this.decoder.hidden(cells);
    const t = this.deep_output.forward(this.readout === "previous" ? query : s, Ey, look.context);
    return {
      state: { cells, i: state.i + 1 },
      logP: this.output.logProbabilities(t),
      ...look,
      values: { ...look.values, Ey, query, context: look.context, ...values, s, t },
    };
  }
}

class EncoderDecoder extends RNNSearch {}

// The last array of an encoder's last states: ←h_1, or of one direction →h_S; of a stack the top's.
function lastLeaf(state) {
  return Array.isArray(state) ? lastLeaf(state.at(-1)) : state.h;
}

Object.assign(KINDS, { RNNSearch, EncoderDecoder });
