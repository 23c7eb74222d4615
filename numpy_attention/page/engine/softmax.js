// Softmax over what may be seen, and log-probabilities over a vocabulary.

"use strict";

// α_j = exp(e_j) / Σ_k exp(e_k) over the positions that are visible, else 0; all 0 where none is.
//
// scores (S,), visible: S booleans, or null for all → (S,)
function softmax(scores, visible = null) {
  const sees = (j) => visible === null || visible[j];
  let top = -Infinity;
  for (let j = 0; j < scores.length; j++) if (sees(j) && scores[j] > top) top = scores[j];
  const weights = scores.map((e, j) => (sees(j) ? Math.exp(e - top) : 0));
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
