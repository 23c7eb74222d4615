// Random sampling of words.

"use strict";

// Sample an id from softmax(log p / temperature), limited to the topK most probable ids, and of
// these to the fewest with total probability topP. Temperature 0 gives the most probable id.
// random: a function that returns numbers in [0, 1), such as `generator(seed)`.
function choose(logP, random, { temperature = 1, topK = null, topP = null } = {}) {
  const best = mostProbable(logP);
  if (temperature === 0) return best;
  let ids = Array.from(logP.keys());
  if (topK !== null || topP !== null) {           // only these limits need a sorted list
    ids.sort((v, w) => logP[w] - logP[v] || v - w);
    ids = ids.slice(0, topK ?? ids.length);
  }
  let total = 0;
  let totals = ids.map((id) => (total += Math.exp((logP[id] - logP[best]) / temperature)));
  if (topP !== null) totals = totals.slice(0, totals.findIndex((t) => t >= topP * total) + 1);
  const drawn = random() * totals.at(-1);
  return ids[totals.findIndex((t) => t > drawn)];
}

// A seeded generator of numbers in [0, 1), the same in every browser: 32-bit xorshift (Marsaglia
// 2003, section 3). Its state must not be 0. Neighbouring seeds have similar first numbers, so the
// first eight are discarded.
function generator(seed) {
  let state = (seed + 1) * 0x9e3779b1 >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  for (let n = 0; n < 8; n++) next();
  return next;
}
