// What each step of a text looked at in its own past.

"use strict";

const SEVERAL = 3;      // words

class Past {
  constructor(steps) {
    this.steps = steps;
  }

  // What step t looked at, over all tokens: NaN where nothing could be seen.
  lookedAt(t) {
    const row = new Float32Array(this.steps.length).fill(NaN);
    const weights = this.steps[t].weights?.[0];
    // a text that began anew has a shorter past
    if (weights) row.set(weights, t + 1 - weights.length);
    return row;
  }

  // The largest weight of a step that could look at several words and was not moved: a long past
  // has small weights.
  largestWeight(moved) {
    let most = 0;
    this.steps.forEach((_, t) => {
      if (moved.has(t)) return;
      const seen = this.lookedAt(t).filter((w) => !Number.isNaN(w));
      if (seen.length > SEVERAL) most = Math.max(most, ...seen);
    });
    return most || 1;
  }

  // Σ_i α_ti (t − i), the mean of the steps that could look at something
  meanSpan() {
    let total = 0;
    let count = 0;
    this.steps.forEach((_, t) => {
      let weight = 0;
      let back = 0;
      this.lookedAt(t).forEach((w, i) => {
        if (Number.isNaN(w)) return;
        weight += w;
        back += w * (t - i);
      });
      if (weight < 0.5) return;
      total += back / weight;
      count += 1;
    });
    return count > 0 ? total / count : NaN;
  }
}
