// A trained model of the page: the interface for the view, the same for all families.
//
//   load(data, checkpoint = null) → model
//       data: one of the page's `models`; checkpoint: an index into data.checkpoints, or null for
//       the final arrays
//
// Both kinds have
//
//   model.kind            "translator" or "writer"
//   model.family          "rnnsearch", "encoder-decoder", "luong", "transformer", "language-model"
//                         or "attentive-language-model"
//   model.title, model.settings, model.data     as exported
//   model.tokens(text)    typed text → tokens, as in the training text
//   model.network         the tree of modules, named as in Python: model.network.decoder.U
//
// and their steps are { state, logP, weights, scores, context, values }:
//
//   state      after the step; states are never changed, so you can continue from any of them
//   logP       (V,) of the next word, as in Python, including <pad> and <s>
//   weights    a list with one (S,) per head; null for a language model without attention
//   scores     e before the softmax, in the same form
//   context    the output of attention; a language model has values.r instead
//   values     intermediate vectors by the papers' names: query, context, h or s (the new state),
//              Ey, fed, attentional (h̃), t (maxout), v (Transformer), p and gauss (local, over the
//              source in the order in which it was read); for a cell i, f, o, c or reset, z, and
//              candidate; for a language model Ew, key, value, predict, parts, r and y
//
// A translator:
//
//   memory = model.read(words)           words: a list of source tokens
//       memory.tokens          S tokens: those of the source, then "</s>"; the order of all weights
//       memory.places          (S,): the index of the word that each token or piece belongs to
//       memory.unknown         S booleans: whether the model reads <unk> instead
//   state  = model.start(memory)
//   step   = model.step(memory, state, previousId, { weights })
//       previousId: BOS before the first word; weights: (S,), or a list with one (S,) per head,
//       which replace α
//   model.greedy(memory, { maxLength, never, given })
//       → hypothesis { ids, logP, steps, words, tokens, places }: one token per id, and the index
//         of the word that it belongs to; </s> counts as one more word
//       given(t): weights that replace α in step t, or null
//   model.beam(memory, size, { lengthPenalty, maxLength, never })
//       → { hypotheses, tree }, as `beamSearch` returns them
//   model.sample(memory, { temperature, topK, topP, random, never })      → hypothesis
//   model.force(memory, words)           → hypothesis: the steps that write these words
//   model.posterior(memory, state, previousId, id)
//       → (S,) p(s | y) ∝ α_s p(y | all weight is on s)
//   model.sourceVocabulary, model.targetVocabulary, model.heads
//
// A writer:
//
//   state = model.start()
//   step  = model.step(state, id, { weights })            the text begins with </s>
//       weights: one head over all positions read, from </s> to the current one; NaN where the
//       model cannot attend: at the current position, and outside its window and memory
//   model.readText(words)                → { ids, steps, state } for </s> and these words
//   model.write(words, length, { temperature, topK, topP, random, never, sentences })
//       → { ids, words, logP, read, steps }
//       read: the steps that read </s> and the words; steps: for each word written, the step that
//       it was sampled from
//   model.vocabulary, model.attends, model.resets (whether the state is reset after each </s>)

"use strict";

function load(data, checkpoint = null) {
  const stored = checkpoint === null ? data.arrays : data.checkpoints[checkpoint].arrays;
  const arrays = {};
  for (const [name, array] of Object.entries(stored)) arrays[name] = decodeArray(array);
  const network = build("", data.parts, arrays);
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
