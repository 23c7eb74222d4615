// The user's options: one object, stored in the fragment of the page's address.

"use strict";

// name: [default, function that parses the text in a fragment and returns null if it is invalid]
const OPTIONS = {
  source: ["", textWithin(2000)],
  text: ["", textWithin(2000)],
  beam: [5, numberWithin(1, 12, 1)],
  shown: ["best", oneOf("best", "corpus", "drawn")],
  after: [false, (text) => text === "true"],
  head: ["mean", (text) => oneOf("mean", "every")(text) ?? numberWithin(0, 63, 1)(text)],
  temperature: [0.8, numberWithin(0, 2)],
  seed: [1, numberWithin(0, 999_999, 1)],
  length: [20, numberWithin(1, 60, 1)],
  checkpoint: [null, numberWithin(0, 9999, 1)],
  language: [null, (text) => oneOf(...LANGUAGES)(text)],
  moved: ["", textWithin(20_000)],
};

function textWithin(most) {
  return (text) => (text.length <= most ? text : null);
}

function numberWithin(least, most, step = 0) {
  return (text) => {
    const x = text.trim() === "" ? NaN : Number(text);
    if (!(x >= least && x <= most)) return null;
    return step === 1 && !Number.isInteger(x) ? null : x;
  };
}

function oneOf(...values) {
  return (text) => (values.includes(text) ? text : null);
}

// Options from a fragment. Missing and invalid ones get their defaults.
function optionsFrom(fragment) {
  const params = new URLSearchParams(fragment.replace(/^#/, "").slice(0, 60_000));
  const found = {};
  for (const [name, [first, read]] of Object.entries(OPTIONS)) {
    found[name] = (params.has(name) ? read(params.get(name)) : null) ?? first;
  }
  return found;
}

// The fragment for these options, without those that have their defaults.
function fragmentOf(options) {
  const params = new URLSearchParams();
  for (const [name, [first]] of Object.entries(OPTIONS)) {
    if (options[name] !== first) params.set(name, options[name]);
  }
  return `#${params}`;
}

// ---- moved weights ------------------------------------------------------------------------------
//
// {step: a list with weights or null per head} of each model as text: model.step.head:w,w,w;…

function movedText(models) {
  const entries = [];
  models.forEach((moved, m) => moved.forEach((heads, t) => heads.forEach((weights, k) => {
    if (weights === null) return;
    const rounded = Array.from(weights, (w) => Number(w.toFixed(4)));
    entries.push(`${m}.${t}.${k}:${rounded.join(",")}`);
  })));
  return entries.join(";");
}

// The changed weights of model m, in steps with this many heads and positions. positions is null if
// step t has t + 1 of them.
function movedFrom(text, m, heads, positions) {
  const moved = new Map();
  for (const entry of text.split(";")) {
    const [place, numbers] = entry.split(":");
    const [model, t, k] = place.split(".").map(Number);
    const weights = Float32Array.from((numbers ?? "").split(","), Number);
    const fits = model === m && Number.isInteger(t) && t >= 0 && t < 500 && Number.isInteger(k)
                 && k >= 0 && k < heads && weights.length === (positions ?? t + 1)
                 && weights.every((w) => w >= 0 && w <= 1);
    if (!fits) continue;
    if (!moved.has(t)) moved.set(t, Array(heads).fill(null));
    moved.get(t)[k] = weights;
  }
  return moved;
}
