// Language models without attention (Zaremba et al. 2014), and with attention to their history
// (Salton et al. 2017; Daniluk et al. 2017).

"use strict";

// p(w_{t+1} | w_1 … w_t) = softmax(E' h_t + b),  h_t from stacked cells that read E w_t
class LanguageModel extends Module {
  start() {
    return { cells: this.cells.zeroState(), memory: [] };
  }

  step(state, id, given = null) {
    const Ew = this.embedding.forward(id);
    const { state: cells, values } = this.cells.step(this.cells.project(Ew), state.cells);
    const read = this.readOut(this.cells.hidden(cells), state.memory, given);
    return {
      state: { cells, memory: read.memory },
      logP: this.output.logProbabilities(read.y),
      weights: read.weights,
      scores: read.scores,
      values: { Ew, ...values, ...read.values },
    };
  }

  readOut(h) {
    return { y: h, memory: [], weights: null, scores: null, values: { h } };
  }
}

// y_t = reader(h_t, the states before h_t) replaces h_t in the softmax
class AttentiveLanguageModel extends LanguageModel {
  readOut(h, memory, given) {
    return this.reader.step(h, memory, given);
  }
}

Object.assign(KINDS, { LanguageModel, AttentiveLanguageModel });
