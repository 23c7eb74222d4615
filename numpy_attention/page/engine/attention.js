// Attention of a decoder: a mechanism is its score.
//
//   memory = attention.read(values)                once a sentence: projects the keys
//   look   = attention.step(query, memory, t)      once a target word
//
// values: S vectors h_j. A look is { context, weights, scores, values }: weights and scores are
// lists of heads, each (S,); values: what is worth showing besides. given: weights (S,) that take
// the place of α, pinned by a reader's hand; what follows is computed from them.

"use strict";

// Everything but the score.
//
//   e_j = score(q, h_j)     is all that a mechanism says
//   α   = softmax(e)        over what is visible
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
    const weights = given === null ? softmax(scores, memory.visible) : givenTo(0, given);
    const context = weightedSum(weights, memory.values, memory.values[0].length);
    return { context, weights: [weights], scores: [scores], values: {} };
  }
}

// A head's weights out of those given: a list of heads, or the same (S,) for each.
function givenTo(head, given) {
  return Float32Array.from(typeof given[0] === "number" ? given : given[head]);
}
