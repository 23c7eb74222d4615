// A trained model of the page: what the view asks, whatever family the model is of.
//
//   load(data, checkpoint = null) → model
//       data: one of the page's `models`; checkpoint: the place of one of data.checkpoints, null
//       for the run's own arrays
//
// Both kinds have
//
//   model.kind            "translator" or "writer"
//   model.family          "rnnsearch", "encoder-decoder", "luong", "transformer", "language-model"
//                         or "attentive-language-model"
//   model.title, model.settings, model.data     as exported
//   model.tokens(text)    what a reader typed → tokens, cut as the training text was
//   model.network         the tree of parts, by the Python names: model.network.decoder.U
//
// and their steps are { state, logP, weights, scores, context, values }:
//
//   state      after the step; states are never changed, so that any may be kept and gone on from
//   logP       (V,) of the next word, as Python has it; <pad> and <s> are among them
//   weights    a list of heads, each (S,); null for a language model without attention
//   scores     e before the softmax, in the same form
//   context    the vector that attention gives; not of a writer, whose values have r
//   values     intermediate vectors by the papers' names: query, context, h or s (the new state),
//              Ey, fed, attentional (h̃), t (maxout), v (a Transformer's), p and gauss (local, over
//              the source in the order in which it was read); of a cell i, f, o, c or reset, z, and
//              candidate; of a writer Ew, key, value, predict, parts, r and y
//
// A translator:
//
//   memory = model.read(words)           words: a list of source tokens
//       memory.tokens          S of them: the source's, then "</s>"; weights stand in their order
//       memory.unknown         S booleans: <unk> is read in its place
//   state  = model.start(memory)
//   step   = model.step(memory, state, previousId, { weights })
//       previousId: BOS before the first word; weights: (S,), or a list of heads of (S,), that take
//       the place of α
//   model.greedy(memory, { maxLength, never, given })     → hypothesis { ids, logP, steps, words }
//       given(t): weights to take the place of α in step t, or null
//   model.beam(memory, size, { lengthPenalty, maxLength, never })
//       → { hypotheses, tree }, the tree as `beamSearch` tells
//   model.sample(memory, { temperature, topK, topP, random, never })      → hypothesis
//   model.force(memory, words)           → hypothesis: the steps that write these words
//   model.posterior(memory, state, previousId, id)
//       → (S,) p(s | y) ∝ α_s p(y | the context is that of s alone)
//   model.sourceVocabulary, model.targetVocabulary, model.heads
//
// A writer:
//
//   state = model.start()
//   step  = model.step(state, id, { weights })            the text begins with </s>
//       weights: one head over all positions read, </s> first and the present one last; NaN where
//       the model cannot look: at the present one, and outside of its window and memory
//   model.readText(words)                → { ids, steps, state } of </s> and these
//   model.write(words, length, { temperature, topK, topP, random, never, sentences })
//       → { ids, words, logP, read, steps }
//       read: the steps that read </s> and the words; steps: of each word written the step that it
//       was drawn from
//   model.vocabulary, model.attends, model.resets (the state is empty again after each </s>)

"use strict";

function load(data, checkpoint = null) {
  const kept = checkpoint === null ? data.arrays : data.checkpoints[checkpoint].arrays;
  const arrays = {};
  for (const [name, array] of Object.entries(kept)) arrays[name] = numbersOf(array);
  const network = partOf("", data.parts, arrays);
  return data.kind === "translator" ? new Translator(data, network) : new Writer(data, network);
}

class Model {
  constructor(data, network) {
    this.data = data;
    this.network = network;
    this.kind = data.kind;
    this.family = data.family;
    this.title = data.title;
    this.settings = data.settings;
  }

  tokens(text) {
    return tokensOf(text, this.data.text);
  }
}

class Translator extends Model {
  constructor(data, network) {
    super(data, network);
    this.sourceVocabulary = new Vocabulary(data.vocabularies.source);
    this.targetVocabulary = new Vocabulary(data.vocabularies.target);
    this.reversed = data.training.reverse_source;
  }

  // how many heads a step's weights have
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
      tokens: [...words, SPECIAL_TOKENS[EOS]],
      unknown: [...ids.map((id) => id === UNK), false],
      ids: [...inOrder, EOS],
      ...this.network.encode([...inOrder, EOS]),
    };
  }

  start(memory) {
    return this.network.start(memory);
  }

  step(memory, state, previous, { weights = null } = {}) {
    const given = weights === null ? null : this.turnedAll(weights);
    const step = this.network.step(memory, state, previous, given);
    return { ...step, weights: step.weights.map((one) => this.turned(one)),
             scores: step.scores.map((one) => this.turned(one)) };
  }

  // Numbers of a source that was read from its end, in the sentence's own order, and back; </s>
  // stays last.
  turned(numbers) {
    if (!this.reversed) return numbers;
    const last = numbers.length - 1;
    return numbers.map((_, j) => numbers[j < last ? last - 1 - j : last]);
  }

  turnedAll(weights) {
    return typeof weights[0] === "number" ? this.turned(weights)
                                          : weights.map((one) => this.turned(one));
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
    return { ids, logP: total, steps, words };
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
      const told = this.step(memory, state, previous, { weights: alone });
      joint[s] = alpha * Math.exp(told.logP[id]);
    }
    const total = joint.reduce((sofar, p) => sofar + p, 0);
    return total > 0 ? joint.map((p) => p / total) : joint;
  }

  withWords(hypothesis) {
    return { ...hypothesis, words: this.targetVocabulary.decode(hypothesis.ids) };
  }
}

class Writer extends Model {
  constructor(data, network) {
    super(data, network);
    this.vocabulary = new Vocabulary(data.vocabularies.words);
    this.resets = data.training.state === "sentence";
    this.ofCharacters = data.training.unit === "characters";
  }

  get attends() {
    return this.network.reader instanceof KeyValueReader;
  }

  start() {
    return { inner: this.network.start(), positions: 0 };
  }

  step(state, id, { weights = null } = {}) {
    const { inner, positions } = state;
    const M = inner.memory.length;
    let given = null;
    if (weights !== null) {
      given = Float32Array.from(weights.slice(positions - M, positions), (w) => w || 0);
    }
    const step = this.network.step(inner, id, given);
    const placed = (one) => this.overPositions(one, positions);
    return {
      ...step,
      state: { inner: step.state, positions: positions + 1 },
      weights: step.weights === null ? null : step.weights.map(placed),
      scores: step.scores === null ? null : step.scores.map(placed),
    };
  }

  // Numbers over the states remembered as numbers over all positions read, NaN where none fall.
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
    const forbidden = this.ofCharacters ? [...never, EOS] : never;
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
