// Attention of a decoder. A mechanism implements its score.
//
//   memory   = attention.read(values)              once per sentence: projects the keys
//   attended = attention.step(query, memory, t)    once per target word
//
// values: S vectors h_j. attended is { context, weights, scores, values }: weights and scores are
// lists with one (S,) per head, and values are further results to display. given: weights (S,)
// that replace α, because the user has set them. The context is computed from these.

"use strict";

// Base class of all scores.
//
//   e_j = score(q, h_j)     implemented by each subclass
//   α   = softmax(e)        over visible positions
//   c   = Σ_j α_j h_j
class SoftmaxAttention extends Module {
  read(values) {
    return { values, keys: this.keys(values), visible: null };
  }

  keys() {
    return null;
  }

  step(query, memory, t, given = null) {
    const scores = this.score(query, memory);
    const weights = given === null ? softmax(scores, memory.visible) : givenFor(0, given);
    const context = weightedSum(weights, memory.values, memory.values[0].length);
    return { context, weights: [weights], scores: [scores], values: {} };
  }
}

// The given weights of one head. given: a list with one (S,) per head, or one (S,) for all heads.
function givenFor(head, given) {
  return Float32Array.from(typeof given[0] === "number" ? given : given[head]);
}
