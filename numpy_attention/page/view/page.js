// The page: its controls, its models, and the address that keeps what was chosen.

"use strict";

const SOON = 100;       // milliseconds that a reader does not notice

class Page {
  constructor(models, place) {
    this.models = models;
    this.place = place;
    this.options = optionsFrom(location.hash);
    this.build();
    addEventListener("hashchange", () => {
      this.options = optionsFrom(location.hash);
      this.build();
    });
    // the colours of cells are computed
    darkness.addEventListener("change", () => this.show());
  }

  kinds(kind) {
    return this.models.filter((data) => data.kind === kind);
  }

  // Everything anew, from the options alone.
  build() {
    const { options } = this;
    language = Math.max(0, LANGUAGES.indexOf(options.language ?? languageOfReader()));
    document.documentElement.lang = LANGUAGES[language];
    const translators = this.kinds("translator");
    const writers = this.kinds("writer");
    const first = (data) => data?.examples[0];
    if (!new URLSearchParams(location.hash.slice(1)).has("source")) {
      options.source ||= first(translators[0])?.source?.join(" ") ?? "";
    }
    options.text ||= first(writers[0])?.words?.slice(0, 6).join(" ") ?? "";
    const on = { changed: () => this.remember(), corpus: () => this.setShown("corpus") };
    this.views = this.models.map((data, m) => (
      new (data.kind === "translator" ? TranslatorView : WriterView)(data, m, options, on)));
    const of = (kind) => this.views.filter((_, m) => this.models[m].kind === kind)
      .map((view) => view.element);
    this.place.replaceChildren(
      this.top(),
      ...translators.length ? [this.translatorControls(translators),
                               make("div", { class: "models" }, ...of("translator"))] : [],
      ...writers.length ? [this.writerControls(writers),
                           make("div", { class: "models" }, ...of("writer"))] : []);
    // where there is room for it
    if (this.models.length === 1 && matchMedia("(min-width: 60rem)").matches) {
      this.views[0].steps.element.open = true;
    }
    this.show();
    // the arrays were read, and nothing was compiled yet: it says little of the next time
    this.took = 0;
  }

  // At once; of models that take long, when the reader's fingers rest.
  set(name, value) {
    this.options[name] = value;
    clearTimeout(this.late);
    if (this.took < SOON) this.show();
    else this.late = setTimeout(() => this.show(), SOON);
    this.remember();
  }

  setShown(value) {
    this.shown.value = value;
    this.draws.hidden = value !== "drawn";
    for (const view of this.views) view.picked = null;
    this.set("shown", value);
  }

  show() {
    const start = performance.now();
    for (const view of this.views) view.show({ ...this.options });
    this.took = performance.now() - start;
  }

  // ---- controls -------------------------------------------------------------------------------

  top() {
    const copied = button(say("link"), () => {
      this.remember(true);
      const told = (done) => { copied.textContent = say(done ? "linked" : "notLinked"); };
      if (navigator.clipboard) {
        navigator.clipboard.writeText(location.href).then(() => told(true), () => told(false));
      } else {
        told(false);
      }
    }, { "aria-live": "polite" });
    const other = button(say("language"), () => {
      this.options.language = LANGUAGES[1 - language];
      this.remember(true);
      this.build();
      document.getElementById("language").focus();
    }, { id: "language", lang: LANGUAGES[1 - language] });
    return make("nav", { class: "top" }, copied, other);
  }

  // Sentences of the corpora of these models, each once.
  examples(models, of, change) {
    const texts = [...new Set(models.flatMap((data) => data.examples.map(of)))].filter(Boolean);
    if (texts.length === 0) return null;
    const choices = [["", say("choose")], ...texts.map((text) => [text, visible(text)])];
    return labelled(say("examples"), select(choices, "", change));
  }

  translatorControls(models) {
    const { options } = this;
    const typed = () => this.set("source", input.value);
    const input = make("input", { type: "text", id: "source", dir: "auto", autocomplete: "off",
                                  spellcheck: "false", input: typed });
    input.value = options.source;
    const chosen = (text) => {
      if (text === "") return;
      input.value = text;
      this.set("source", text);
    };
    const beam = make("input", { type: "number", min: 1, max: 12, input: () => {
      const value = numberWithin(1, 12, 1)(beam.value);
      if (value !== null) this.set("beam", value);
    } });
    beam.value = options.beam;
    this.draws = make("div", { class: "controls" }, ...this.drawControls());
    this.draws.hidden = options.shown !== "drawn";
    const choices = ["best", "corpus", "drawn"].map((one) => [one, say(one)]);
    this.shown = select(choices, options.shown, (value) => this.setShown(value));
    return make("form", { class: "ask", submit: (event) => event.preventDefault() },
                labelled(say("source"), input),
                make("div", { class: "controls" },
                     this.examples(models, (one) => one.source?.join(" "), chosen),
                     labelled(say("shown"), this.shown), labelled(say("beam"), beam),
                     this.heads(models), this.checkpoints(models),
                     checkbox(say("after"), options.after, (value) => this.set("after", value))),
                this.draws);
  }

  writerControls(models) {
    const { options } = this;
    const area = make("textarea", { id: "text", rows: 2, dir: "auto", spellcheck: "false",
                                    input: () => this.set("text", area.value) });
    area.value = options.text;
    const chosen = (text) => {
      if (text === "") return;
      area.value = text;
      this.set("text", text);
    };
    return make("form", { class: "ask", submit: (event) => event.preventDefault() },
                labelled(say("text"), area),
                make("div", { class: "controls" },
                     this.examples(models, (one) => one.words?.join(" "), chosen),
                     slider(say("length"), options.length, [1, 60, 1],
                            (x) => this.set("length", x)),
                     ...this.drawControls(), this.checkpoints(models)));
  }

  drawControls() {
    return [
      slider(say("temperature"), this.options.temperature, [0, 2, 0.1],
             (x) => this.set("temperature", x), (x) => x.toFixed(1)),
      button(say("again"), () => this.set("seed", (this.options.seed + 1) % 1_000_000)),
    ];
  }

  // Only where a model has several.
  heads(models) {
    const views = this.views.filter((view) => models.includes(view.data));
    const count = Math.max(...views.map((view) => view.model().heads));
    if (count === 1) return null;
    const each = [...Array(count).keys()].map((k) => [String(k), say("headNumber", k + 1)]);
    const choices = [["mean", say("mean")], ["every", say("every")], ...each];
    const read = OPTIONS.head[1];
    return labelled(say("head"), select(choices, String(this.options.head),
                                        (value) => this.set("head", read(value))));
  }

  // A slider over the training, where a page has more than its end.
  checkpoints(models) {
    const one = models.find((data) => data.checkpoints.length > 0);
    if (one === undefined) return null;
    const labels = one.checkpoints.map(({ label }) => label);
    const last = labels.length;
    const told = (k) => (k === last ? say("lastCheckpoint") : visible(labels[k]));
    const now = Math.min(last, this.options.checkpoint ?? last);
    return slider(say("checkpoint"), now, [0, last, 1],
                  (k) => this.set("checkpoint", k === last ? null : k), told);
  }

  // ---- the address ----------------------------------------------------------------------------

  remember(atOnce = false) {
    clearTimeout(this.waiting);
    const write = () => {
      this.options.moved = movedText(this.views.map((view) => view.moved ?? new Map()));
      // some places of a page, such as a frame without an address, allow no such thing
      try {
        history.replaceState(null, "", fragmentOf(this.options));
      } catch (error) {
        if (!(error instanceof DOMException)) throw error;
      }
    };
    if (atOnce) write();
    else this.waiting = setTimeout(write, 300);
  }
}

function languageOfReader() {
  return navigator.language.slice(0, 2);
}

document.addEventListener("DOMContentLoaded", () => {
  const { models } = JSON.parse(document.getElementById("models").textContent);
  new Page(models, document.getElementById("live"));
  document.getElementById("static").hidden = true;
});
