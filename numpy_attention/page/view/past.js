// The weights of each step of a text over the words before it.

"use strict";

const SEVERAL = 3;      // words

class Past {
  constructor(steps) {
    this.steps = steps;
  }

  // Weights of step t over all tokens; NaN where the model cannot attend.
  weightsAt(t) {
    const row = new Float32Array(this.steps.length).fill(NaN);
    const weights = this.steps[t].weights?.[0];
    // the past is shorter after a reset of the state
    if (weights) row.set(weights, t + 1 - weights.length);
    return row;
  }

  // The largest weight in the steps without changes that attend to more than SEVERAL words. It sets
  // the scale of the colours, because weights over a long past are small.
  largestWeight(moved) {
    let most = 0;
    this.steps.forEach((_, t) => {
      if (moved.has(t)) return;
      const seen = this.weightsAt(t).filter((w) => !Number.isNaN(w));
      if (seen.length > SEVERAL) most = Math.max(most, ...seen);
    });
    return most || 1;
  }

  // The mean of Σ_i α_ti (t − i) over the steps that attend to anything.
  meanSpan() {
    let total = 0;
    let count = 0;
    this.steps.forEach((_, t) => {
      let weight = 0;
      let back = 0;
      this.weightsAt(t).forEach((w, i) => {
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
