// A run on the page: its title, its warnings, and its model at each checkpoint.

"use strict";

// The title of a run, its family, attention and size.
function modelHead(data) {
  const { attention } = data.settings;
  const about = [data.family, attention, say("parameters", whole(data.parameters))]
    .filter((one) => typeof one === "string");
  return make("header", {}, make("h2", {}, visible(data.title)),
              make("p", { class: "quiet" }, about.join(" · ")));
}

// Whether the page shows only the weights that Python computed.
function isRecorded(data) {
  return data.custom.length > 0;
}

// The words of an example, or its characters, as text.
function joined(data, words) {
  return words.join(data.training.unit === "characters" ? "" : " ");
}

// Warnings about unknown words and about sentences longer than in training.
function warningsOf(data, words, unknown) {
  const found = [];
  const { longest } = data.learned;
  if (unknown.length > 0) {
    found.push(say("unknownWords", unknown.length, words.length, unknown.map(visible).join(", ")));
  }
  if (data.kind === "translator" && longest && words.length > longest) {
    found.push(say("tooLong", words.length, longest));
  }
  return found.length === 0 ? "" : `⚠ ${found.join(" ")}`;
}

// The models of a run, each loaded when it is first needed.
class Checkpoints {
  constructor(data) {
    this.data = data;
    this.models = new Map();
  }

  // place: the index of a checkpoint; null or an index that is too large means the final arrays
  at(place) {
    const known = place !== null && place < this.data.checkpoints.length ? place : null;
    if (!this.models.has(known)) this.models.set(known, load(this.data, known));
    return this.models.get(known);
  }
}
