// What the decoder would write if it had looked elsewhere: cause, not only correlation.

"use strict";

// weights (S,) with the one at s set to value; the others share the rest as they shared it before.
// Where nothing can be looked at, NaN, there stays 0.
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

// The words up to the first moved row stay; from there on the most probable word at every step.
//
// ids: what was written without moving anything. moved: {step t: a list of heads, each weights (S,)
// in place of α, or null for the model's own}. from: the step from which on the words may change.
// → a hypothesis { ids, logP, steps, words }
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

// A text written on as `model.write` does, with weights moved in the steps that read and write it.
//
// moved: {step t: [weights] over the positions read}. → { ids, tokens, steps }: all that was read,
// "</s>" first, and written; steps: of each token after the first, the step that it follows from
function writtenOnWith(model, words, length, moved, { random, temperature }) {
  const ids = [EOS, ...model.vocabulary.encode(words)];
  const tokens = [SPECIAL_TOKENS[EOS], ...words];
  const typed = ids.length;
  const never = model.ofCharacters ? [UNK, EOS] : [UNK];
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

// The weights of a step as the engine takes them: a head that was not moved looks where it would.
function givenWeights(model, memory, state, previous, heads) {
  if (heads.length === 1) return heads[0];
  const own = model.step(memory, state, previous).weights;
  return heads.map((head, k) => head ?? own[k]);
}

// p(s | y): where the word came from, told which word it is; a row (S,) for each step.
function weightsAfter(model, memory, hypothesis) {
  return hypothesis.steps.map((_, t) => {
    const state = t === 0 ? model.start(memory) : hypothesis.steps[t - 1].state;
    const previous = t === 0 ? BOS : hypothesis.ids[t - 1];
    return model.posterior(memory, state, previous, hypothesis.ids[t]);
  });
}

// The mean of the heads (S,), or one of them.
function weightsOf(step, head = "mean") {
  if (head !== "mean") return step.weights[Math.min(head, step.weights.length - 1)];
  const count = step.weights.length;
  return step.weights[0].map((_, s) => (
    step.weights.reduce((total, one) => total + one[s], 0) / count));
}
