// A trained language model, with the interface that model.js documents.

"use strict";

class Writer extends Model {
  constructor(data, network) {
    super(data, network);
    this.vocabulary = vocabularyOf(data.vocabularies.words);
    this.resets = data.training.state === "sentence";
    this.characterLevel = data.training.unit === "characters";
  }

  get attends() {
    return this.network.reader instanceof KeyValueReadout;
  }

  start() {
    return { wrapped: this.network.start(), positions: 0 };
  }

  step(state, id, { weights = null } = {}) {
    const { wrapped, positions } = state;
    const M = wrapped.memory.length;
    let given = null;
    if (weights !== null) {
      given = Float32Array.from(weights.slice(positions - M, positions), (w) => w || 0);
    }
    const step = this.network.step(wrapped, id, given);
    const placed = (one) => this.overPositions(one, positions);
    return {
      ...step,
      state: { wrapped: step.state, positions: positions + 1 },
      weights: step.weights === null ? null : step.weights.map(placed),
      scores: step.scores === null ? null : step.scores.map(placed),
    };
  }

  // Spread numbers over the remembered states to all positions read, with NaN elsewhere.
  overPositions(numbers, positions) {
    const row = new Float32Array(positions + 1).fill(NaN);
    const seen = Math.min(numbers.length, this.network.reader.window ?? Infinity);
    row.set(numbers.subarray(numbers.length - seen), positions - seen);
    return row;
  }

  readText(words) {
    const ids = [EOS, ...this.vocabulary.encode(words)];
    let state = this.start();
    const steps = ids.map((id) => {
      const step = this.step(state, id);
      state = step.state;
      return step;
    });
    return { ids, steps, state };
  }

  write(words, length, { random, never = [UNK], sentences = null, ...how }) {
    const { steps: read } = this.readText(words);
    const forbidden = this.characterLevel ? [...never, EOS] : never;
    const ids = [];
    const steps = [];
    let step = read.at(-1);
    let total = 0;
    let ended = 0;
    while (ids.length < length && (sentences === null || ended < sentences)) {
      if (ids.length > 0) {
        const id = ids.at(-1);
        step = this.step(this.resets && id === EOS ? this.start() : step.state, id);
      }
      const logP = forbid(step.logP, forbidden);
      const id = choose(logP, random, how);
      total += logP[id];
      if (id === EOS) ended += 1;
      ids.push(id);
      steps.push(step);
    }
    return { ids, words: ids.map((id) => this.vocabulary.token(id)), logP: total, read, steps };
  }
}
