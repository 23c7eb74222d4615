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

  scoresOf(query, vectors) {
    return Float32Array.from(vectors, (h) => dot(h, query));
  }
}

// e_j = q · h_j
class DotAttention extends SoftmaxAttention {
  score(query, memory) {
    return this.scoresOf(query, memory.values);
  }
}

// e_j = (q W_a) · h_j
class GeneralAttention extends SoftmaxAttention {
  score(query, memory) {
    return this.scoresOf(product(query, this.W_a), memory.values);
  }
}

// e_j = q · h_j / √D, of queries of another size (q W_a) · h_j / √D
class ScaledDotAttention extends SoftmaxAttention {
  score(query, memory) {
    const projected = this.W_a === null ? query : product(query, this.W_a);
    const root = Math.fround(Math.sqrt(projected.length));
    return this.scoresOf(projected.map((q) => q / root), memory.values);
  }
}

// e_j = v_a · tanh(W_a q + U_a h_j), Bahdanau's; Luong's concat
class AdditiveAttention extends SoftmaxAttention {
  // k_j = U_a h_j, once a sentence
  keys(values) {
    return values.map((h) => product(h, this.U_a));
  }

  score(query, memory) {
    const projected = product(query, this.W_a);
    return additiveScores(projected, memory.keys, this.v_a);
  }
}

// e_j = v · tanh(q + k_j)   q (A,), keys: vectors (A,)
function additiveScores(q, keys, v) {
  return Float32Array.from(keys, (k) => {
    let e = 0;
    for (let a = 0; a < v.length; a++) e += v[a] * Math.fround(Math.tanh(q[a] + k[a]));
    return e;
  });
}

// e = q W_a, a column for each position: where to look, whatever stands there
class LocationAttention extends SoftmaxAttention {
  // the longest source that has columns, </s> included
  get longest() {
    return this.W_a.columns;
  }

  score(query, memory) {
    return product(query, this.W_a, memory.values.length);
  }
}

// c = h_S, the last annotation, for every word: no attention, one fixed vector. Nothing is scored:
// the scores are NaN.
class FixedVector extends Module {
  read(values) {
    return { values, keys: null, visible: null };
  }

  step(query, memory, t, given = null) {
    const S = memory.values.length;
    const weights = new Float32Array(S);
    weights[S - 1] = 1;
    if (given !== null) weights.set(givenTo(0, given));
    const context = weightedSum(weights, memory.values, memory.values[0].length);
    return { context, weights: [weights], scores: [new Float32Array(S).fill(NaN)], values: {} };
  }
}

// head_i = Attention(q W_q^i + b_q^i, h W_k^i, h W_v^i + b_v^i),  c = [head_1; …; head_n] W_o + b_o
//
//   Attention(q, k, v) = Σ_j softmax(q · k_j / √d_k) v_j
//
// The heads' columns stand side by side. given: for each head the same (S,), or a list of heads.
class MultiHeadAttention extends Module {
  read(values) {
    return { values, keys: this.keysAndValues(values), visible: null };
  }

  // h → { k, v } of all heads, each (A,)
  keysAndValues(values) {
    return values.map((h) => ({ k: product(h, this.W_k), v: sum(product(h, this.W_v), this.b_v) }));
  }

  step(query, memory, t, given = null) {
    return this.look(query, memory.keys, memory.visible, given);
  }

  look(query, keysAndValues, visible, given = null) {
    const q = sum(product(query, this.W_q), this.b_q);
    const size = q.length / this.heads;
    const scale = Math.fround(this.attention.scaled ? 1 / Math.sqrt(size) : 1);
    const part = (x, head) => x.subarray(head * size, (head + 1) * size);
    const heads = [];
    const weights = [];
    const scores = [];
    for (let head = 0; head < this.heads; head++) {
      const q_i = part(q, head);
      const e = Float32Array.from(keysAndValues, ({ k }) => dot(q_i, part(k, head)) * scale);
      const alpha = given === null ? softmax(e, visible) : givenTo(head, given);
      scores.push(e);
      weights.push(alpha);
      heads.push(weightedSum(alpha, keysAndValues.map(({ v }) => part(v, head)), size));
    }
    const context = sum(product(joined(...heads), this.W_o), this.b_o);
    return { context, weights, scores, values: {} };
  }
}

// A head's weights out of those given: a list of heads, or the same (S,) for each.
function givenTo(head, given) {
  return Float32Array.from(typeof given[0] === "number" ? given : given[head]);
}

class ScaledDotProductAttention extends Module {}

Object.assign(KINDS, { DotAttention, GeneralAttention, ScaledDotAttention, AdditiveAttention,
                       LocationAttention, FixedVector, MultiHeadAttention,
                       ScaledDotProductAttention });
