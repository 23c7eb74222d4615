// Masked softmax, and log-probabilities over a vocabulary.

"use strict";

// α_j = exp(e_j) / Σ_k exp(e_k) over visible positions, else 0; all 0 if no position is visible.
//
// scores (S,), visible: S booleans, or null for all → (S,)
function softmax(scores, visible = null) {
  const isVisible = (j) => visible === null || visible[j];
  let top = -Infinity;
  for (let j = 0; j < scores.length; j++) if (isVisible(j) && scores[j] > top) top = scores[j];
  const weights = scores.map((e, j) => (isVisible(j) ? Math.exp(e - top) : 0));
  let total = 0;
  for (const w of weights) total += w;
  return total > 0 ? weights.map((w) => w / total) : weights;
}

// log softmax(logits)   (V,) → (V,)
function logSoftmax(logits) {
  const V = logits.length;
  let top = -Infinity;
  for (let v = 0; v < V; v++) if (logits[v] > top) top = logits[v];
  let total = 0;
  for (let v = 0; v < V; v++) total += Math.exp(logits[v] - top);
  const logTotal = Math.log(total);
  const logP = new Float32Array(V);
  for (let v = 0; v < V; v++) logP[v] = logits[v] - top - logTotal;
  return logP;
}
