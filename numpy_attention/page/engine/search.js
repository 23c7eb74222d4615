// Greedy search, and beam search with its search tree.

"use strict";

// The largest number of steps: 2 · length + 10, or maxLength if that is less. length counts </s>.
function longest(length, maxLength = null) {
  const limit = 2 * length + 10;
  return maxLength === null ? limit : Math.min(maxLength, limit);
}

// log p with −∞ for <pad>, <s> and the ids in `never`.
function forbid(logP, never) {
  const allowed = new Float64Array(logP);
  for (const id of [PAD, BOS, ...never]) allowed[id] = -Infinity;
  return allowed;
}

// The most probable id, or the lowest one in a tie.
function mostProbable(logP) {
  let best = 0;
  for (let v = 1; v < logP.length; v++) if (logP[v] > logP[best]) best = v;
  return best;
}

// log p / ((5 + length) / 6)^lengthPenalty (Wu et al. 2016, equation 14); length counts </s>
function score(logProbability, length, lengthPenalty) {
  return logProbability / ((5 + length) / 6) ** lengthPenalty;
}

// Greedy search → a hypothesis { ids, logP, steps }.
//
// A tie goes to the lowest id. steps: the result of `model.step` for each word. never: further ids
// to exclude. given(t): weights that replace α in step t, or null.
function greedySearch(model, memory, { maxLength = null, never = [], given = () => null } = {}) {
  const limit = longest(memory.ids.length, maxLength);
  let state = model.start(memory);
  let previous = BOS;
  let total = 0;
  const ids = [];
  const steps = [];
  while (ids.length < limit && previous !== EOS) {
    const step = model.step(memory, state, previous, { weights: given(ids.length) });
    const logP = forbid(step.logP, never);
    const best = mostProbable(logP);
    total += logP[best];
    previous = best;
    state = step.state;
    ids.push(best);
    steps.push(step);
  }
  return { ids, logP: total, steps };
}

// Keep the `size` most probable prefixes at every step; finished ones keep their place in the beam.
//
// → { hypotheses, tree }: hypotheses best first, each { ids, logP, score, steps, node }. The tree
// is a list of nodes { parent, id, logP, total, depth, state: "kept", "dropped" or "ended" }, the
// root first. The children of a kept prefix are its `size` most probable words. node and parent are
// indices into this list.
function beamSearch(model, memory, size, { lengthPenalty = 1, maxLength = null, never = [] } = {}) {
  const limit = longest(memory.ids.length, maxLength);
  const tree = [{ parent: null, id: BOS, logP: 0, total: 0, depth: 0, state: "kept" }];
  let running = [{ node: 0, ids: [], total: 0, steps: [], state: model.start(memory) }];
  const ended = [];
  while (running.length > 0) {
    const places = size - ended.length;
    const candidates = [];
    running.forEach((prefix, row) => {
      const step = model.step(memory, prefix.state, prefix.ids.at(-1) ?? BOS);
      const logP = forbid(step.logP, never);
      for (const id of largest(logP, size)) {
        candidates.push({ row, id, logP: logP[id], total: prefix.total + logP[id], step });
      }
    });
    // in a tie, lower rows come first, and lower ids within a row
    candidates.sort((one, other) => other.total - one.total || one.row - other.row
                                    || one.id - other.id);
    const survivors = [];
    candidates.forEach((candidate, rank) => {
      const { row, id, logP, total, step } = candidate;
      const before = running[row];
      const node = tree.length;
      const ids = [...before.ids, id];
      const ends = id === EOS || ids.length >= limit;
      const kept = rank < places;
      const state = !kept ? "dropped" : ends ? "ended" : "kept";
      tree.push({ parent: before.node, id, logP, total, depth: ids.length, state });
      if (!kept) return;
      const after = { node, ids, total, steps: [...before.steps, step], state: step.state };
      (ends ? ended : survivors).push(after);
    });
    running = survivors;
  }
  const hypotheses = ended.map(({ node, ids, total, steps }) => (
    { ids, logP: total, score: score(total, ids.length, lengthPenalty), steps, node }));
  hypotheses.sort((one, other) => other.score - one.score);       // stable, as in Python
  return { hypotheses, tree };
}

// The indices of the `count` largest finite values, largest first; ties go to lower indices.
function largest(values, count) {
  const found = [];
  for (let v = 0; v < values.length; v++) {
    if (values[v] === -Infinity) continue;
    if (found.length === count && values[v] <= values[found.at(-1)]) continue;
    let k = found.length;
    while (k > 0 && values[found[k - 1]] < values[v]) k--;
    found.splice(k, 0, v);
    if (found.length > count) found.pop();
  }
  return found;
}
