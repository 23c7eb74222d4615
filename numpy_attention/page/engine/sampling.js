// Drawing words at random.

"use strict";

// One id drawn from softmax(log p / temperature), cut to the topK most probable, then to the fewest
// that together have topP; temperature 0: the most probable. random: a function that gives numbers
// in [0, 1), such as `generator(seed)`. log p of −∞ is never drawn.
function choose(logP, random, { temperature = 1, topK = null, topP = null } = {}) {
  const order = Array.from(logP.keys()).sort((v, w) => logP[w] - logP[v] || v - w);
  if (temperature === 0) return order[0];
  const ids = order.slice(0, topK ?? order.length);
  let total = 0;
  let totals = ids.map((id) => (total += Math.exp((logP[id] - logP[order[0]]) / temperature)));
  if (topP !== null) totals = totals.slice(0, totals.findIndex((t) => t >= topP * total) + 1);
  const drawn = random() * totals.at(-1);
  return ids[totals.findIndex((t) => t > drawn)];
}

// Numbers in [0, 1) that a seed decides, the same in every browser (mulberry32, public domain).
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
