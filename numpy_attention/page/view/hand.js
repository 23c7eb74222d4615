// The controls below a table of weights: the selected cell in numbers, and a slider to change it.

"use strict";

// on: { change(weight), pin(), reset() }; effect: the key of the text about the effect of a change
class Hand {
  constructor(on, effect) {
    this.reading = make("p", { class: "reading" });
    this.range = make("input", { type: "range", min: 0, max: 1, step: 0.01,
                                 input: () => on.change(Number(this.range.value)) });
    this.pinButton = button(say("pin"), on.pin);
    this.resetButton = button(say("reset"), on.reset);
    this.element = make("div", { class: "hand" }, this.reading, this.range, this.pinButton,
                        this.resetButton);
    this.keys = make("p", { class: "quiet keys" },
                     make("span", { class: "with-keys" }, say("keys")),
                     make("span", { class: "with-touch" }, say("touch")), " ", say(effect));
  }

  // readout: texts and elements. weight: NaN if the model cannot attend to the position. pinned:
  // whether the row of the cell is pinned. any: whether any row is pinned.
  show(readout, weight, pinned, any) {
    this.reading.replaceChildren(...readout);
    this.range.disabled = Number.isNaN(weight);
    this.range.value = weight || 0;
    this.range.setAttribute("aria-label", this.reading.textContent);
    this.pinButton.textContent = say(pinned ? "unpin" : "pin");
    this.resetButton.disabled = !any;
  }
}
