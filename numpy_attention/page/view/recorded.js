// A model with user-defined Python code: its weights were recorded when the page was written, and
// cannot be changed.

"use strict";

const ROUNDED = 0.02;       // largest difference that a smaller precision explains

// Whether the user's script computes the weights that Python recorded for an example.
function agrees(model, memory, { target, recorded }) {
  // rounding to bytes alone can cause larger differences
  if (!recorded || model.data.precision === "byte") return true;
  const { steps, places } = model.force(memory, target);
  const found = inWords(steps.map((step) => weightsOf(step)), memory.places, places);
  return recorded.reference.weights.every((row, t) => (
    row.every((w, s) => Math.abs(found[t][s] - w) < ROUNDED)));
}

class RecordedView {
  constructor(data) {
    this.data = data;
    this.cell = [0, 0];
    this.map = new Heatmap({ select: (t, s) => this.select(t, s) });
    this.output = make("p", { class: "translation", "aria-live": "polite", dir: "auto" });
    this.reference = make("p", { class: "quiet reference", dir: "auto" });
    this.problem = make("p", { class: "problem", role: "status" });
    this.reading = make("p", { class: "reading" });
    this.live = make("div", { class: "live" }, make(
      "div", { class: "seen" }, make("div", { class: "pictures" }, this.map.element),
      colourBar(), this.reading, keepButtons(() => this.picture())));
    this.element = make("section", { class: "model", "aria-label": visible(data.title) },
                        modelHead(data),
                        make("p", { class: "warning" }, say("recorded", data.custom.join(", "))),
                        this.output, this.reference, this.problem, this.live);
  }

  // the part of a model that the controls use
  model() {
    return { heads: 1 };
  }

  canMove() {
    return false;
  }

  show({ source, text, shown }) {
    const translates = this.data.kind === "translator";
    const one = this.data.examples.find((example) => (
      translates ? example.source?.join(" ") === source
        : joined(this.data, example.words) === text));
    this.problem.textContent = one ? "" : say("notRecorded");
    for (const part of [this.output, this.reference, this.live]) part.hidden = !one;
    if (!one) return;
    const output = shown === "corpus" ? "reference" : "own";
    const found = one.recorded[translates ? output : "own"];
    this.example = output === "reference" ? one : {};
    this.found = { ...found, weights: found.weights.map((row) => row.map((w) => w ?? NaN)) };
    this.output.replaceChildren(...line(found.words));
    this.reference.hidden = !translates;
    if (translates) {
      this.reference.replaceChildren(make("b", {}, say("reference")), ": ", ...line(one.target));
    }
    this.map.draw(this.picture());
    this.select(...this.map.cell);
  }

  picture() {
    const { rows, columns, weights } = this.found;
    const { sure, possible } = this.example;
    return { rows, columns, weights, caption: say("before"),
             sure: sure && linkSet(sure), possible: possible && linkSet(possible) };
  }

  select(t, s) {
    const { rows, columns, weights } = this.found;
    this.map.move(t, s);
    this.reading.replaceChildren(
      ...sayWith("weightOf", tokenText(columns[s]), tokenText(rows[t])), ": ",
      make("b", {}, number(weights[t][s], 3)));
  }
}
