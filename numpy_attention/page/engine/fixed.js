// No attention: one fixed vector for the whole sentence.

"use strict";

// c = h_S, the last annotation, for every word. There are no scores, so they are NaN.
class FixedVector extends Module {
  read(values) {
    return { values, keys: null, visible: null };
  }

  step(query, memory, t, given = null) {
    const S = memory.values.length;
    const weights = new Float32Array(S);
    weights[S - 1] = 1;
    if (given !== null) weights.set(givenFor(0, given));
    const context = weightedSum(weights, memory.values, memory.values[0].length);
    return { context, weights: [weights], scores: [new Float32Array(S).fill(NaN)], values: {} };
  }
}

Object.assign(KINDS, { FixedVector });
