// Drawing words at random.

"use strict";

// One id drawn from softmax(log p / temperature), cut to the topK most probable, then to the fewest
// that together have topP; temperature 0: the most probable. random: a function that gives numbers
// in [0, 1), such as `generator(seed)`. log p of −∞ is never drawn.
function choose(logP, random, { temperature = 1, topK = null, topP = null } = {}) {
  const best = mostProbable(logP);
  if (temperature === 0) return best;
  let ids = Array.from(logP.keys());
  if (topK !== null || topP !== null) {           // only a cut needs them in order
    ids.sort((v, w) => logP[w] - logP[v] || v - w);
    ids = ids.slice(0, topK ?? ids.length);
  }
  let total = 0;
  let totals = ids.map((id) => (total += Math.exp((logP[id] - logP[best]) / temperature)));
  if (topP !== null) totals = totals.slice(0, totals.findIndex((t) => t >= topP * total) + 1);
  const drawn = random() * totals.at(-1);
  return ids[totals.findIndex((t) => t > drawn)];
}

// Numbers in [0, 1) that a seed decides, the same in every browser: xorshift with 32 bits
// (Marsaglia 2003, section 3). Its state may not be 0; the first numbers of neighbouring seeds are
// alike, so some are thrown away.
function generator(seed) {
  let state = (seed + 1) * 0x9e3779b1 >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  for (let thrown = 0; thrown < 8; thrown++) next();
  return next;
}
