// What the model writes with changed weights. This shows causes, not only correlations.

"use strict";

// weights (S,) with the one at s set to value, and the others scaled so that the sum is 1. Weights
// that are NaN, where the model cannot attend, become 0.
function movedTo(weights, s, value) {
  let others = 0;
  let count = 0;
  weights.forEach((w, j) => {
    if (j === s || Number.isNaN(w)) return;
    others += w;
    count += 1;
  });
  const rest = 1 - value;
  return weights.map((w, j) => {
    if (j === s) return value;
    if (Number.isNaN(w)) return 0;
    return others > 0 ? w * rest / others : rest / count;
  });
}

// Keep the words before step `from`, then write the most probable word at every step.
//
// ids: the output without changes. moved: {step t: a list with weights (S,) per head, which replace
// α, or null for the model's own weights}. → a hypothesis { ids, logP, steps, words }
function writtenWith(model, memory, ids, moved, from) {
  const limit = longest(memory.ids.length);
  let state = model.start(memory);
  let previous = BOS;
  let total = 0;
  const written = [];
  const steps = [];
  while (written.length < limit && previous !== EOS) {
    const t = written.length;
    const heads = moved.get(t);
    const weights = heads ? givenWeights(model, memory, state, previous, heads) : null;
    const step = model.step(memory, state, previous, { weights });
    previous = t < from ? ids[t] : mostProbable(forbid(step.logP, []));
    total += step.logP[previous];
    state = step.state;
    written.push(previous);
    steps.push(step);
  }
  return model.withWords({ ids: written, logP: total, steps });
}

// Continue a text as `model.write` does, with changed weights in the steps that read and write it.
//
// moved: {step t: [weights] over the positions read}. → { ids, tokens, steps }: ids and tokens of
// all that is read, "</s>" first, and written; for each token after the first, the step that
// predicts it
function writtenOnWith(model, words, length, moved, { random, temperature }) {
  const ids = [EOS, ...model.vocabulary.encode(words)];
  const tokens = [SPECIAL_TOKENS[EOS], ...words];
  const typed = ids.length;
  const never = model.characterLevel ? [UNK, EOS] : [UNK];
  const steps = [];
  let state = model.start();
  for (let t = 0; t < typed - 1 + length; t++) {
    if (t >= typed && model.resets && ids[t] === EOS) state = model.start();
    const [weights] = moved.get(t) ?? [null];
    const fits = weights?.length === state.positions + 1;
    const step = model.step(state, ids[t], { weights: fits ? weights : null });
    state = step.state;
    steps.push(step);
    if (t < typed - 1) continue;
    const id = choose(forbid(step.logP, never), random, { temperature });
    ids.push(id);
    tokens.push(model.vocabulary.token(id));
  }
  return { ids, tokens, steps };
}

// The weights of a step for the engine. A head without changes keeps the model's own weights.
function givenWeights(model, memory, state, previous, heads) {
  if (heads.length === 1) return heads[0];
  const own = model.step(memory, state, previous).weights;
  return heads.map((head, k) => head ?? own[k]);
}

// p(s | y), the attention given the word that was written; a row (S,) for each step.
function weightsAfter(model, memory, hypothesis) {
  return hypothesis.steps.map((_, t) => {
    const state = t === 0 ? model.start(memory) : hypothesis.steps[t - 1].state;
    const previous = t === 0 ? BOS : hypothesis.ids[t - 1];
    return model.posterior(memory, state, previous, hypothesis.ids[t]);
  });
}

// The weights (S,) of one head, or the mean over the heads.
function weightsOf(step, head = "mean") {
  if (head !== "mean") return step.weights[Math.min(head, step.weights.length - 1)];
  const count = step.weights.length;
  return step.weights[0].map((_, s) => (
    step.weights.reduce((total, one) => total + one[s], 0) / count));
}
