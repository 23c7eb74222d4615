// A trained translator, with the interface that model.js documents.

"use strict";

class Translator extends Model {
  constructor(data, network) {
    super(data, network);
    this.sourceVocabulary = vocabularyOf(data.vocabularies.source);
    this.targetVocabulary = vocabularyOf(data.vocabularies.target);
    this.reversed = data.training.reverse_source;
  }

  // The number of heads in the weights of a step.
  get heads() {
    if (this.family === "transformer") return this.network.decoder.at(-1).source_attention.heads;
    const { attention } = this.network;
    return (attention instanceof Window ? attention.attention : attention).heads ?? 1;
  }

  read(words) {
    if (words.length === 0) throw new Error("an empty sentence: expected at least one word");
    const ids = this.sourceVocabulary.encode(words);
    const longest = this.network.attention?.longest ?? Infinity;
    if (ids.length + 1 > longest) {
      throw new Error(`${ids.length} words: this model has columns for ${longest - 1}`);
    }
    const inOrder = this.reversed ? [...ids].reverse() : ids;
    return {
      words,
      tokens: [...this.sourceVocabulary.shown(words), SPECIAL_TOKENS[EOS]],
      places: [...this.sourceVocabulary.places(words), words.length],
      unknown: [...ids.map((id) => id === UNK), false],
      ids: [...inOrder, EOS],
      ...this.network.encode([...inOrder, EOS]),
    };
  }

  start(memory) {
    return this.network.start(memory);
  }

  step(memory, state, previous, { weights = null } = {}) {
    const given = weights === null ? null : this.reorderAll(weights);
    const step = this.network.step(memory, state, previous, given);
    return { ...step, weights: step.weights.map((one) => this.reorder(one)),
             scores: step.scores.map((one) => this.reorder(one)) };
  }

  // Numbers over a reversed source in the order of the sentence, or back. </s> stays last.
  reorder(numbers) {
    if (!this.reversed) return numbers;
    const last = numbers.length - 1;
    return numbers.map((_, j) => numbers[j < last ? last - 1 - j : last]);
  }

  reorderAll(weights) {
    return typeof weights[0] === "number" ? this.reorder(weights)
                                          : weights.map((one) => this.reorder(one));
  }

  greedy(memory, options = {}) {
    return this.withWords(greedySearch(this, memory, options));
  }

  beam(memory, size, options = {}) {
    const { hypotheses, tree } = beamSearch(this, memory, size, options);
    return { hypotheses: hypotheses.map((one) => this.withWords(one)), tree };
  }

  sample(memory, { random, never = [UNK], ...how }) {
    let state = this.start(memory);
    const steps = [];
    const ids = [];
    let total = 0;
    while (ids.length < longest(memory.ids.length) && ids.at(-1) !== EOS) {
      const step = this.step(memory, state, ids.at(-1) ?? BOS);
      const logP = forbid(step.logP, never);
      const id = choose(logP, random, how);
      total += logP[id];
      state = step.state;
      ids.push(id);
      steps.push(step);
    }
    return this.withWords({ ids, logP: total, steps });
  }

  force(memory, words) {
    const ids = [...this.targetVocabulary.encode(words), EOS];
    let state = this.start(memory);
    let previous = BOS;
    let total = 0;
    const steps = ids.map((id) => {
      const step = this.step(memory, state, previous);
      total += step.logP[id];
      state = step.state;
      previous = id;
      return step;
    });
    return { ids, logP: total, steps, words,
             tokens: [...this.targetVocabulary.shown(words), SPECIAL_TOKENS[EOS]],
             places: [...this.targetVocabulary.places(words), words.length] };
  }

  posterior(memory, state, previous, id) {
    const { weights } = this.step(memory, state, previous);
    const S = memory.tokens.length;
    const joint = new Float32Array(S);
    for (let s = 0; s < S; s++) {
      const alpha = weights.reduce((total, head) => total + head[s], 0) / weights.length;
      if (alpha === 0) continue;
      const alone = new Float32Array(S);
      alone[s] = 1;
      const { logP } = this.step(memory, state, previous, { weights: alone });
      joint[s] = alpha * Math.exp(logP[id]);
    }
    const total = joint.reduce((sofar, p) => sofar + p, 0);
    return total > 0 ? joint.map((p) => p / total) : joint;
  }

  withWords(hypothesis) {
    const { words, places } = this.targetVocabulary.read(hypothesis.ids);
    return { ...hypothesis, words,
             tokens: hypothesis.ids.map((id) => this.targetVocabulary.token(id)),
             places: hypothesis.ids.at(-1) === EOS ? [...places, words.length] : places };
  }
}
