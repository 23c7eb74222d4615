// The reference translation, and how well the weights agree with its gold links.

"use strict";

// on.corpus(): the user wants to see the reference
class Reference {
  constructor(on) {
    this.on = on;
    this.words = make("p", { class: "quiet reference", dir: "auto" });
    this.figures = make("p", { class: "quiet figures" });
    this.element = make("div", {}, this.words, this.figures);
  }

  // example: the one with this source, or null; shown: the option of that name
  show(model, memory, example, shown) {
    const wanted = shown === "corpus";
    this.element.hidden = !example && !wanted;
    this.figures.hidden = true;
    if (!example) {
      this.words.textContent = say("noCorpus");
      return;
    }
    this.words.replaceChildren(make("b", {}, say("reference")), ": ", ...line(example.target));
    if (example.sure.length === 0) return;
    if (!wanted) this.words.append(" ", button(say("showGold"), this.on.corpus));
    const { steps, places } = model.force(memory, example.target);
    const rows = inWords(steps.map((step) => weightsOf(step)), memory.places, places);
    const { error, linked, on, adjacent } = pointing(rows, example);
    this.figures.textContent = say("pointing", number(error), linked, on, adjacent);
    this.figures.hidden = false;
  }
}
