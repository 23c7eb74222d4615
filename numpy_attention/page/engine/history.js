// History readouts: how a language model reads its current and past states.
//
//   { y, memory, weights, scores, values } = reader.step(h, memory)
//
// memory: past states h, oldest first, at most `reach` of them. weights, scores: one head over the
// memory, or null without attention.

"use strict";

// states that a readout without a window remembers while a text is generated word by word
const WITHOUT_WINDOW = 64;

// e_i = v · tanh(W_s k_i), the same for every query: `single` of Salton et al. 2017
class Single extends Module {
  score(query, keys) {
    const zero = new Float32Array(this.v.length);
    return additiveScores(zero, keys.map((k) => product(k, this.W_s)), this.v);
  }
}

// e_i = v · tanh(W_s k_i + W_q q): `combined` of Salton et al., and Daniluk et al. 2017
class Combined extends Module {
  score(query, keys) {
    return additiveScores(product(query, this.W_q), keys.map((k) => product(k, this.W_s)), this.v);
  }
}

function activate(a, activation) {
  return activation === "tanh" ? tanh(a) : a;
}

//   h   = [k; v; p]                     3 parts; for 2: h = [k; v], p = v; for 1: k = v = p = h
//   α_t = softmax(score(k_t, k_i))      over the `window` positions before t
//   r_t = Σ_i α_ti v_i
//   y_t = tanh(W_x p_t + W_r r_t + b)   no tanh if the activation is "linear"
class KeyValueReadout extends Module {
  get reach() {
    return Math.max(this.carried, this.window || WITHOUT_WINDOW);
  }

  // The part of a state that has this role.
  part(h, role) {
    const n = this.W_x.rows;
    const last = this.parts - 1;
    const k = { key: 0, query: 0, value: Math.min(1, last), predict: last }[role];
    return h.subarray(k * n, (k + 1) * n);
  }

  step(h, memory, given = null) {
    const query = this.part(h, "query");
    const p = this.part(h, "predict");
    const keys = memory.map((one) => this.part(one, "key"));
    const vectors = memory.map((one) => this.part(one, "value"));
    const visible = memory.map((_, i) => memory.length - i <= (this.window ?? Infinity));
    const scores = this.attention.score(query, keys);
    const weights = given === null ? softmax(scores, visible) : givenFor(0, given);
    const r = weightedSum(weights, vectors, this.W_r.rows);
    const y = activate(sum(product(p, this.W_x), product(r, this.W_r), this.b), this.activation);
    return {
      y,
      memory: [...memory, h].slice(-this.reach),
      weights: [weights],
      scores: [scores],
      values: { h, query, key: this.part(h, "key"), value: this.part(h, "value"), predict: p, r,
                y },
    };
  }
}

//   y_t = tanh(W [h^1_t; h^2_{t−1}; …; h^{N−1}_{t−N+2}])   with h = [h^1; …; h^{N−1}]
//
// States before the start of the text are 0. Order 2 is a projection of h_t, without the past.
class NGramReadout extends Module {
  get reach() {
    return this.order - 2;
  }

  step(h, memory) {
    const n = this.W.rows / (this.order - 1);
    const states = [...memory, h];
    const parts = new Float32Array(this.W.rows);
    for (let i = 0; i < this.order - 1; i++) {
      const state = states[states.length - 1 - i];
      if (state !== undefined) parts.set(state.subarray(i * n, (i + 1) * n), i * n);
    }
    const y = activate(product(parts, this.W), this.activation);
    const kept = this.reach ? states.slice(-this.reach) : [];
    return { y, memory: kept, weights: null, scores: null, values: { h, parts, y } };
  }
}

Object.assign(KINDS, { Single, Combined, KeyValueReadout, NGramReadout });
