// A run of the page: its title, and its model at each of its checkpoints.

"use strict";

// The name of a run and what it is.
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

// What a reader should know before trusting what is written: words it cannot read, and too many.
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

// The models of a run, each made when it is first asked for.
class Checkpoints {
  constructor(data) {
    this.data = data;
    this.models = new Map();
  }

  // place: of a checkpoint among the run's own; null, or none of these: the end
  at(place) {
    const known = place !== null && place < this.data.checkpoints.length ? place : null;
    if (!this.models.has(known)) this.models.set(known, load(this.data, known));
    return this.models.get(known);
  }
}
