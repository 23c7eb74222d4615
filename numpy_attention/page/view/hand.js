// What stands below a table of weights: the cell that is chosen, in numbers, and a hand for it.

"use strict";

// on: { change(weight), pin(), reset() }; then: the name of the text that says what follows
class Hand {
  constructor(on, then) {
    this.reading = make("p", { class: "reading" });
    this.range = make("input", { type: "range", min: 0, max: 1, step: 0.01,
                                 input: () => on.change(Number(this.range.value)) });
    this.pinButton = button(say("pin"), on.pin);
    this.resetButton = button(say("reset"), on.reset);
    this.element = make("div", { class: "hand" }, this.reading, this.range, this.pinButton,
                        this.resetButton);
    this.keys = make("p", { class: "quiet keys" },
                     make("span", { class: "with-keys" }, say("keys")),
                     make("span", { class: "with-touch" }, say("touch")), " ", say(then));
  }

  // told: texts and elements; weight: NaN where nothing can be looked at; pinned: whether its row
  // is; any: whether any row is
  show(told, weight, pinned, any) {
    this.reading.replaceChildren(...told);
    this.range.disabled = Number.isNaN(weight);
    this.range.value = weight || 0;
    this.range.setAttribute("aria-label", this.reading.textContent);
    this.pinButton.textContent = say(pinned ? "unpin" : "pin");
    this.resetButton.disabled = !any;
  }
}
