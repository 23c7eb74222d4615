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
//   context    the vector that attention gives; not of a language model, whose values have r
//   values     intermediate vectors by the papers' names: query, context, h or s (the new state),
//              Ey, fed, attentional (h̃), t (maxout), v (a Transformer's), p and gauss (local, over
//              the source in the order in which it was read); of a cell i, f, o, c or reset, z, and
//              candidate; of a language model Ew, key, value, predict, parts, r and y
//
// A translator:
//
//   memory = model.read(words)           words: a list of source tokens
//       memory.tokens          S of them: the source's, then "</s>"; weights stand in their order
//       memory.places          (S,): the word that a token, maybe a piece, belongs to
//       memory.unknown         S booleans: <unk> is read in its place
//   state  = model.start(memory)
//   step   = model.step(memory, state, previousId, { weights })
//       previousId: BOS before the first word; weights: (S,), or a list of heads of (S,), that take
//       the place of α
//   model.greedy(memory, { maxLength, never, given })
//       → hypothesis { ids, logP, steps, words, tokens, places }: tokens, one for each id, and the
//         word that each belongs to; </s> is one more word
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
