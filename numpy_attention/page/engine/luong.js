// Attention-based translation (Luong, Pham & Manning 2015).

"use strict";

//   h_t = cells(E y_{t−1}; h_{t−1})     with input feeding cells([E y_{t−1}; h̃_{t−1}]; h_{t−1})
//   c_t = Σ_s α_ts h̄_s                  query h_t ("current") or h_{t−1} ("previous")
//   h̃_t = tanh(c_t C + h_t W + b)
//   p(y_t) = softmax(W_s h̃_t + b_s)
class LuongTranslator extends Module {
  // Source ids ending in </s> → { annotations, memory, first }
  encode(ids) {
    const x = ids.map((id) => this.source_embedding.forward(id));
    const { ys: annotations, last } = this.encoder.forward(x);
    const bidirectional = this.encoder.cells[0] instanceof Bidirectional;
    const first = bidirectional ? last.map(([ahead, back]) => joinStates(ahead, back)) : last;
    return { annotations, memory: this.attention.read(annotations), first };
  }

  start({ first }) {
    return { cells: first, fed: new Float32Array(this.W.columns), t: 0 };
  }

  // Id of the previous word → log p of the next word, the attention, the new state.
  step({ memory }, state, previous, given = null) {
    const Ey = this.target_embedding.forward(previous);
    let a = this.decoder.project(Ey);
    if (this.F !== null) a = sum(a, product(state.fed, this.F));
    const { state: cells, values } = this.decoder.step(a, state.cells);
    const h = this.decoder.hidden(cells);
    const query = this.query === "previous" ? this.decoder.hidden(state.cells) : h;
    const attended = this.attention.step(query, memory, state.t, given);
    const attentional = tanh(sum(product(attended.context, this.C), product(h, this.W), this.b));
    return {
      state: { cells, fed: attentional, t: state.t + 1 },
      logP: this.output.logProbabilities(attentional),
      ...attended,
      values: { ...attended.values, Ey, fed: state.fed, query, context: attended.context,
                ...values, h, attentional },
    };
  }
}

// Concatenate the states of two directions: [→h; ←h], and [→c; ←c] for an LSTM.
function joinStates(ahead, back) {
  const state = {};
  for (const name of Object.keys(ahead)) state[name] = concatenate(ahead[name], back[name]);
  return state;
}

Object.assign(KINDS, { LuongTranslator });
