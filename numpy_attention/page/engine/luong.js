// Attention-based translation (Luong, Pham & Manning 2015).

"use strict";

//   h_t = cells(E y_{t−1}; h_{t−1})     with input feeding cells([E y_{t−1}; h̃_{t−1}]; h_{t−1})
//   c_t = Σ_s α_ts h̄_s                  query "current": h_t asks; "previous": h_{t−1} does
//   h̃_t = tanh(c_t C + h_t W + b)
//   p(y_t) = softmax(W_s h̃_t + b_s)
class LuongTranslator extends Module {
  // ids of a source, </s> last → { annotations, memory, first }
  encode(ids) {
    const x = ids.map((id) => this.source_embedding.forward(id));
    const { ys: annotations, last } = this.encoder.forward(x);
    const bothWays = this.encoder.cells[0] instanceof Bidirectional;
    const first = bothWays ? last.map(([ahead, back]) => sideBySide(ahead, back)) : last;
    return { annotations, memory: this.attention.read(annotations), first };
  }

  start({ first }) {
    return { cells: first, fed: new Float32Array(this.W.columns), t: 0 };
  }

  // the word before, an id → log p of the next, what was looked at, the state after
  step({ memory }, state, previous, given = null) {
    const Ey = this.target_embedding.forward(previous);
    let a = this.decoder.project(Ey);
    if (this.F !== null) a = sum(a, product(state.fed, this.F));
    const { state: cells, values } = this.decoder.step(a, state.cells);
    const h = this.decoder.hidden(cells);
    const query = this.query === "previous" ? this.decoder.hidden(state.cells) : h;
    const look = this.attention.step(query, memory, state.t, given);
    const attentional = tanh(sum(product(look.context, this.C), product(h, this.W), this.b));
    return {
      state: { cells, fed: attentional, t: state.t + 1 },
      logP: this.output.logProbabilities(attentional),
      ...look,
      values: { ...look.values, Ey, fed: state.fed, query, context: look.context, ...values, h,
                attentional },
    };
  }
}

// States of two directions → one of both: [→h; ←h], of an LSTM [→c; ←c] too.
function sideBySide(ahead, back) {
  const state = {};
  for (const name of Object.keys(ahead)) state[name] = joined(ahead[name], back[name]);
  return state;
}

Object.assign(KINDS, { LuongTranslator });
