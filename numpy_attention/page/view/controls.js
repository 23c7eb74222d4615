// The controls above the models of each kind.

"use strict";

// options: the current values; on.set(name, value) and on.shown(value) are called on a change
class Controls {
  constructor(options, views, on) {
    this.options = options;
    this.views = views;
    this.on = on;
  }

  // A menu of the example sentences of these models, without duplicates.
  examples(models, of, change, { name = "examples", value = "" } = {}) {
    const every = models.flatMap((data) => data.examples.map((one) => of(one, data)));
    const texts = [...new Set(every)].filter(Boolean);
    if (texts.length === 0) return null;
    const choices = [["", say("choose")], ...texts.map((text) => [text, visible(text)])];
    return labelled(say(name), select(choices, value, change));
  }

  // For recorded models only: there is nothing to type or search for.
  recorded(models) {
    const [key, of] = models[0].kind === "translator"
      ? ["source", (one) => one.source?.join(" ")]
      : ["text", (one, data) => joined(data, one.words)];
    const set = (text) => this.on.set(key, text);
    this.sampling = make("div");
    this.shown = this.outputMenu(["best", "corpus"]);
    return make("form", { class: "ask controls", submit: (event) => event.preventDefault() },
                this.examples(models, of, set, { name: "example", value: this.options[key] }),
                key === "source" ? labelled(say("shown"), this.shown) : null);
  }

  outputMenu(choices) {
    return select(choices.map((one) => [one, say(one)]), this.options.shown,
                  (value) => this.on.shown(value));
  }

  translator(models) {
    if (models.every(isRecorded)) return this.recorded(models);
    const { options } = this;
    const typed = () => this.on.set("source", input.value);
    const input = make("input", { type: "text", id: "source", dir: "auto", autocomplete: "off",
                                  spellcheck: "false", input: typed });
    input.value = options.source;
    const chosen = (text) => {
      if (text === "") return;
      input.value = text;
      this.on.set("source", text);
    };
    const beam = make("input", { type: "number", min: 1, max: 12, input: () => {
      const value = numberWithin(1, 12, 1)(beam.value);
      if (value !== null) this.on.set("beam", value);
    } });
    beam.value = options.beam;
    this.sampling = make("div", { class: "controls" }, ...this.samplingControls());
    this.sampling.hidden = options.shown !== "drawn";
    this.shown = this.outputMenu(["best", "corpus", "drawn"]);
    return make("form", { class: "ask", submit: (event) => event.preventDefault() },
                labelled(say("source"), input),
                make("div", { class: "controls" },
                     this.examples(models, (one) => one.source?.join(" "), chosen),
                     labelled(say("shown"), this.shown), labelled(say("beam"), beam),
                     this.heads(models), this.checkpoints(models),
                     checkbox(say("after"), options.after, (value) => this.on.set("after", value))),
                this.sampling);
  }

  writer(models) {
    if (models.every(isRecorded)) return this.recorded(models);
    const { options } = this;
    const area = make("textarea", { id: "text", rows: 2, dir: "auto", spellcheck: "false",
                                    input: () => this.on.set("text", area.value) });
    area.value = options.text;
    const chosen = (text) => {
      if (text === "") return;
      area.value = text;
      this.on.set("text", text);
    };
    return make("form", { class: "ask", submit: (event) => event.preventDefault() },
                labelled(say("text"), area),
                make("div", { class: "controls" },
                     this.examples(models, (one, data) => joined(data, one.words), chosen),
                     slider(say("length"), options.length, [1, 60, 1],
                            (x) => this.on.set("length", x)),
                     ...this.samplingControls(), this.checkpoints(models)));
  }

  samplingControls() {
    return [
      slider(say("temperature"), this.options.temperature, [0, 2, 0.1],
             (x) => this.on.set("temperature", x), (x) => x.toFixed(1)),
      button(say("again"), () => this.again()),
    ];
  }

  again() {
    this.on.set("seed", (this.options.seed + 1) % 1_000_000);
  }

  // A menu of heads, or null if no model has several.
  heads(models) {
    const views = this.views.filter((view) => models.includes(view.data));
    const count = Math.max(...views.map((view) => view.model().heads));
    if (count === 1) return null;
    const each = [...Array(count).keys()].map((k) => [String(k), say("headNumber", k + 1)]);
    const choices = [["mean", say("mean")], ["every", say("every")], ...each];
    const read = OPTIONS.head[1];
    return labelled(say("head"), select(choices, String(this.options.head),
                                        (value) => this.on.set("head", read(value))));
  }

  // A slider over checkpoints, or null if the page has only the final ones.
  checkpoints(models) {
    const one = models.find((data) => data.checkpoints.length > 0);
    if (one === undefined) return null;
    const labels = one.checkpoints.map(({ label }) => label);
    const last = labels.length;
    const label = (k) => (k === last ? say("lastCheckpoint") : visible(labels[k]));
    const now = Math.min(last, this.options.checkpoint ?? last);
    return slider(say("checkpoint"), now, [0, last, 1],
                  (k) => this.on.set("checkpoint", k === last ? null : k), label);
  }

  // Set the output menu.
  show(value) {
    this.shown.value = value;
    this.sampling.hidden = value !== "drawn";
  }
}
