// The page: its controls, its models, and the address that stores the options.

"use strict";

const SOON = 100;       // milliseconds, a delay that is not noticeable

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
    // cells have computed colours
    darkness.addEventListener("change", () => this.show());
    addEventListener("message", ({ source, data }) => {
      if (source === window.parent) this.setTheme(data?.theme);
    });
  }

  // theme: that of the page around this frame; any other than light and dark is the system's
  setTheme(theme) {
    const { dataset } = document.documentElement;
    delete dataset.theme;
    if (["light", "dark"].includes(theme)) dataset.theme = theme;
    this.show();
  }

  kinds(kind) {
    return this.models.filter((data) => data.kind === kind);
  }

  // Build the page from the options.
  build() {
    const { options } = this;
    language = Math.max(0, LANGUAGES.indexOf(options.language ?? languageOfReader()));
    document.documentElement.lang = LANGUAGES[language];
    const translators = this.kinds("translator");
    const writers = this.kinds("writer");
    const beginning = writers.some(isRecorded) ? undefined : 6;
    const first = (data) => data?.examples[0];
    if (!new URLSearchParams(location.hash.slice(1)).has("source")) {
      options.source ||= first(translators[0])?.source?.join(" ") ?? "";
    }
    const words = first(writers[0])?.words ?? [];
    options.text ||= words.length ? joined(writers[0], words.slice(0, beginning)) : "";
    const on = { changed: () => this.remember(), corpus: () => this.setShown("corpus") };
    const viewOf = { translator: TranslatorView, writer: WriterView };
    this.views = this.models.map((data, m) => new (
      isRecorded(data) ? RecordedView : viewOf[data.kind])(data, m, options, on));
    const of = (kind) => this.views.filter((_, m) => this.models[m].kind === kind)
      .map((view) => view.element);
    this.controls = new Controls(options, this.views, {
      set: (name, value) => this.set(name, value), shown: (value) => this.setShown(value) });
    document.title = titleOf(this.models[0]);
    document.querySelector("h1").textContent = document.title;
    // a frame is small, and the page around it already has an introduction
    const framed = window !== window.top;
    this.place.replaceChildren(
      this.top(),
      ...framed ? [] : [this.introduction()],
      ...translators.length ? [this.controls.translator(translators),
                               make("div", { class: "models" }, ...of("translator"))] : [],
      ...writers.length ? [this.controls.writer(writers),
                           make("div", { class: "models" }, ...of("writer"))] : [],
      ...framed ? [this.introduction()] : []);
    // open the first panel if there is room
    if (this.models.length === 1 && matchMedia("(min-width: 60rem)").matches) {
      this.openable().slice(0, 1).forEach((one) => { one.open = true; });
    }
    this.show();
    // the first time includes decoding and compilation, so it does not predict the next
    this.took = 0;
  }

  introduction() {
    const { kind } = this.models[0];
    const type = () => document.getElementById(kind === "translator" ? "source" : "text").select();
    return introduction(this.kinds(kind), this.views, { type, again: () => this.controls.again() });
  }

  // Set an option. Slow models are not updated until the user pauses.
  set(name, value) {
    this.options[name] = value;
    clearTimeout(this.late);
    if (this.took < SOON) this.show();
    else this.late = setTimeout(() => this.show(), SOON);
    this.remember();
  }

  setShown(value) {
    this.controls.show(value);
    for (const view of this.views) view.picked = null;
    this.set("shown", value);
  }

  show() {
    const start = performance.now();
    for (const view of this.views) view.show({ ...this.options });
    this.took = performance.now() - start;
  }

  top() {
    const copied = button(say("link"), () => {
      this.remember(true);
      const report = (done) => { copied.textContent = say(done ? "linked" : "notLinked"); };
      if (navigator.clipboard) {
        navigator.clipboard.writeText(location.href).then(() => report(true), () => report(false));
      } else {
        report(false);
      }
    }, { "aria-live": "polite" });
    const other = button(say("language"), () => {
      this.options.language = LANGUAGES[1 - language];
      this.remember(true);
      const open = this.openable().map((one) => one.open);
      this.build();
      this.openable().forEach((one, n) => { one.open = open[n]; });
      document.getElementById("language").focus();
    }, { id: "language", lang: LANGUAGES[1 - language] });
    return make("nav", { class: "top" }, copied, other);
  }

  // The panels that the user can open and close.
  openable() {
    return [...this.place.querySelectorAll(".within > details")];
  }

  // ---- the address ----------------------------------------------------------------------------

  remember(atOnce = false) {
    clearTimeout(this.pending);
    const write = () => {
      this.options.moved = movedText(this.views.map((view) => view.moved ?? new Map()));
      // some pages, such as a frame without an address, do not allow this
      try {
        history.replaceState(null, "", fragmentOf(this.options));
      } catch (error) {
        if (!(error instanceof DOMException)) throw error;
      }
    };
    if (atOnce) write();
    else this.pending = setTimeout(write, 300);
  }
}

function languageOfReader() {
  return navigator.language.slice(0, 2);
}

// Adapt hints and sizes to touch or mouse.
function adaptTo(byTouch) {
  document.documentElement.classList.toggle("touched", byTouch);
}

adaptTo(matchMedia("(pointer: coarse)").matches);
addEventListener("pointerdown", (event) => adaptTo(event.pointerType === "touch"), true);

document.addEventListener("DOMContentLoaded", () => {
  const { models } = JSON.parse(document.getElementById("models").textContent);
  new Page(models, document.getElementById("live"));
  document.getElementById("static").hidden = true;
});
