// One step in detail: equations, values, scores and weights, and probable next words.

"use strict";

const LIKELY = 6;       // number of probable next words shown

// A share as a number and as a bar. room: the length in rem of the bar for 1.
function amount(share, room) {
  const style = `width: ${(room * share).toFixed(2)}rem`;
  return [number(share, 3), make("span", { class: "amount", style })];
}

// on.go(t): show step t.
class Steps {
  constructor(on) {
    this.on = on;
    this.inside = make("div");
    // displayed below the weights, because it changes with them
    this.likely = make("div", { class: "likely" });
    // not redrawn, so that its buttons keep the focus
    this.walk = this.walker();
    this.element = make("details", { toggle: () => this.draw() },
                        make("summary", {}, say("steps")), this.walk, this.inside);
    this.state = null;
  }

  // state: { model, step, t, count, before, tokens: those attended to, head, token: id → word,
  // chosen: the id written, byHand: for each head, weights that replace α, or null }
  show(state) {
    this.state = state;
    this.likely.replaceChildren(...this.expected());
    if (this.element.open) this.draw();
  }

  draw() {
    if (!this.element.open || this.state === null) return;
    const { model, step } = this.state;
    const lines = equationsOf(model, step).map(([equation, names]) => {
      const shown = names === WEIGHTS ? [this.weights()] : this.vectors(names);
      const read = make("span", { class: "equation" }, ...withSubscripts(equation));
      return make("li", {}, read, ...shown);
    });
    this.place();
    this.inside.replaceChildren(make("ol", { class: "equations" }, ...lines));
  }

  walker() {
    this.status = make("span", { role: "status" });
    const go = (by) => () => this.on.go(this.state.t + by);
    this.backButton = button(`‹ ${say("back")}`, go(-1));
    this.nextButton = button(`${say("next")} ›`, go(1));
    return make("p", { class: "walk" }, this.backButton, this.status, this.nextButton);
  }

  place() {
    const { t, count, before } = this.state;
    this.backButton.setAttribute("aria-disabled", t === 0);
    this.nextButton.setAttribute("aria-disabled", t === count - 1);
    this.status.replaceChildren(say("wordOf", t + 1, count), ", ",
                              ...sayWith("afterWord", tokenText(before)));
  }

  vectors(names) {
    const { values } = this.state.step;
    return names.filter((name) => values[name] !== undefined && values[name] !== null)
      .map((name) => this.vector(name, values[name]));
  }

  vector(name, value) {
    const { values } = this.state.step;
    const named = make("var", {}, ...withSubscripts(symbolOf(name, values)));
    if (typeof value === "number") return make("p", {}, named, ` = ${number(value, 3)}`);
    const numbers = Array.from(value);
    const about = say("numbers", numbers.length, number(Math.min(...numbers)),
                      number(Math.max(...numbers)));
    return make("details", { class: "vector" },
                make("summary", {}, named, strip(value),
                     make("span", { class: "quiet" }, about)),
                make("p", { class: "numbers" }, numbers.map((x) => number(x)).join("  ")));
  }

  // e, exp(e − max e) and α, with a row for each position that the model can attend to
  weights() {
    const { step, tokens, head, byHand } = this.state;
    if (!step.weights) return make("p");
    const one = head === "mean" ? 0 : Math.min(head, step.weights.length - 1);
    const moved = Boolean(byHand?.[one]);
    const alpha = step.weights[one];
    const scores = step.scores?.[one] ?? [];
    const places = tokens.map((_, s) => s).filter((s) => !Number.isNaN(alpha[s] ?? NaN));
    const top = Math.max(...places.map((s) => scores[s] ?? NaN));
    const rows = places.map((s) => make(
      "tr", {}, make("th", { scope: "row" }, tokenText(tokens[s])),
      make("td", {}, number(scores[s] ?? NaN)),
      make("td", { class: moved ? "replaced" : null }, number(Math.exp(scores[s] - top))),
      make("td", { class: "weight" }, ...amount(alpha[s], 4))));
    const heads = step.weights.length > 1 ? `, ${say("headNumber", one + 1)}` : "";
    const alphas = moved ? `α, ${say("byHand")}` : "α";
    const names = ["", `e${heads}`, "exp(e − max e)", alphas].map((name) => (
      make("th", { scope: "col" }, name)));
    return make("div", { class: "scroll" },
                moved ? make("p", { class: "warning" }, say("replaced")) : null,
                make("table", { class: "scores" }, make("thead", {}, make("tr", {}, ...names)),
                     make("tbody", {}, ...rows)));
  }

  expected() {
    const { step, token, chosen } = this.state;
    const found = largest(forbid(step.logP, []), LIKELY);
    if (!found.includes(chosen)) found.push(chosen);
    const rows = found.map((id) => {
      const p = Math.exp(step.logP[id]);
      return make("tr", { class: id === chosen ? "chosen" : null },
                  make("th", { scope: "row" }, tokenText(token(id))),
                  make("td", { class: "weight" }, ...amount(p, 8)));
    });
    const after = sayWith("afterWord", tokenText(this.state.before));
    return [make("h4", {}, say("probable"), " ", ...after),
            make("table", { class: "scores" }, make("tbody", {}, ...rows))];
  }
}
