// A run of the page: its title, and its model at each of its checkpoints.

"use strict";

// The title of a model and what it is.
function modelHead(data) {
  const { attention } = data.settings;
  const count = data.parameters.toLocaleString(LANGUAGES[language]);
  const about = [data.family, attention, say("parameters", count)]
    .filter((one) => typeof one === "string");
  // a page of one model has its title already
  const known = document.querySelector("h1").textContent === data.title;
  return make("header", {}, known ? null : make("h2", {}, visible(data.title)),
              make("p", { class: "quiet" }, about.join(" · ")));
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
