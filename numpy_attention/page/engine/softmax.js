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
  let top = -Infinity;
  for (const z of logits) if (z > top) top = z;
  let total = 0;
  for (const z of logits) total += Math.exp(z - top);
  const logTotal = Math.log(total);
  return logits.map((z) => z - top - logTotal);
}
