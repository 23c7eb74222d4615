// One language model: what it expects, where it looks in its own past, and what it writes on.

"use strict";

const LONGEST_TEXT = 80;        // words that are read of what is typed
const SEVERAL = 3;
const ROWS = 60;                // of the last words, which are drawn

class WriterView {
  constructor(data) {
    this.data = data;
    this.models = new Map();
    this.cell = [0, 0];
    this.map = new Heatmap({ select: (t, s) => this.select(t, s) }, { narrow: true });
    this.output = make("p", { class: "told", dir: "auto" });
    this.said = make("p", { class: "hidden", "aria-live": "polite" });
    this.problem = make("p", { class: "problem", role: "status" });
    this.reading = make("p", { class: "reading" });
    this.span = make("p", { class: "quiet" });
    this.bar = make("div");
    this.steps = new Steps({ go: (t) => this.go(t) });
    this.pictures = make("div", { class: "pictures" }, this.map.element);
    this.seen = make("div", { class: "seen" }, this.pictures, this.bar, this.span,
                     make("p", { class: "quiet keys" }, say("keysHistory")),
                     keepButtons(() => this.picture()));
    this.live = make("div", { class: "live past" }, this.seen,
                     make("div", { class: "within" }, this.steps.element));
    this.whole = make("div", {}, make("p", { class: "quiet" }, say("told")), this.output,
                      this.reading, this.live);
    this.element = make("section", { class: "model", "aria-label": visible(data.title) },
                        modelHead(data), this.problem, this.said, this.whole);
    this.output.addEventListener("focusin", (event) => this.chosen(event.target));
    this.output.addEventListener("pointerover", (event) => this.chosen(event.target));
    this.output.addEventListener("keydown", (event) => this.key(event));
  }

  model() {
    const place = checkpointOf(this.data, this.options.checkpoint);
    if (!this.models.has(place)) this.models.set(place, load(this.data, place));
    return this.models.get(place);
  }

  show(options) {
    this.options = options;
    this.problem.textContent = "";
    try {
      this.write();
    } catch (error) {
      this.problem.textContent = say("failed", error.message);
      this.whole.hidden = true;
    }
  }

  // A row for each word after the first: the step that expects it, and what that looked at.
  write() {
    const { text, length, temperature, seed } = this.options;
    const model = this.model();
    const chosen = this.data.examples.find((one) => one.words?.join(" ") === text);
    const typed = chosen?.words ?? model.tokens(text);
    const words = typed.slice(0, LONGEST_TEXT);
    if (words.length < typed.length) this.problem.textContent = say("cut", LONGEST_TEXT);
    this.whole.hidden = false;
    const found = model.write(words, length, { random: generator(seed), temperature });
    const before = [SPECIAL_TOKENS[EOS], ...words];
    this.tokens = [...before, ...found.words];
    this.ids = [EOS, ...model.vocabulary.encode(words), ...found.ids];
    this.typed = before.length;
    this.stepOf = [...found.read.slice(0, -1), ...found.steps];
    this.first = Math.max(0, this.stepOf.length - ROWS);
    this.said.textContent = `${say("written")}: ${found.words.map(visible).join(" ")}`;
    // the first word that is written
    this.cell = [this.typed - 1 - this.first, 0];
    this.draw();
  }

  // What step t looked at, over all tokens: NaN where nothing could be seen.
  lookedAt(t) {
    const row = new Float32Array(this.tokens.length - 1).fill(NaN);
    const weights = this.stepOf[t].weights?.[0];
    // a text that began anew has a shorter past
    if (weights) row.set(weights, t + 1 - weights.length);
    return row;
  }

  picture() {
    const weights = this.stepOf.map((_, t) => this.lookedAt(t).slice(this.first)).slice(this.first);
    return { rows: this.tokens.slice(this.first + 1), columns: this.tokens.slice(this.first, -1),
             weights, top: this.top, caption: say("history") };
  }

  // The largest weight of a step that could look at several words: a long past has small weights.
  largestWeight() {
    let most = 0;
    this.stepOf.forEach((_, t) => {
      const seen = this.lookedAt(t).filter((w) => !Number.isNaN(w));
      if (seen.length > SEVERAL) most = Math.max(most, ...seen);
    });
    return most || 1;
  }

  draw() {
    const { attends } = this.model();
    const join = this.model().ofCharacters ? "" : " ";
    this.seen.hidden = !attends;
    this.output.replaceChildren(...this.tokens.flatMap((token, n) => {
      const kind = n >= this.typed ? "word written" : "word";
      const about = { class: kind, tabindex: -1, role: n === 0 ? null : "button", "data-n": n };
      return [make("span", about, tokenText(token)), join];
    }));
    this.top = this.largestWeight();
    if (attends) {
      this.map.cell = [...this.cell];
      this.map.draw(this.picture());
      this.bar.replaceChildren(colourBar(this.top));
      this.span.textContent = say("span", number(this.meanSpan(), 1));
    } else {
      this.span.textContent = "";
    }
    this.select(...this.cell);
  }

  // Σ_i α_ti (t − i), the mean of the steps that could look at something
  meanSpan() {
    let total = 0;
    let count = 0;
    this.stepOf.forEach((_, t) => {
      let weight = 0;
      let back = 0;
      this.lookedAt(t).forEach((w, i) => {
        if (Number.isNaN(w)) return;
        weight += w;
        back += w * (t - i);
      });
      if (weight < 0.5) return;
      total += back / weight;
      count += 1;
    });
    return count > 0 ? total / count : NaN;
  }

  select(row, column) {
    this.cell = [row, column];
    const t = row + this.first;
    const looked = this.lookedAt(t);
    if (this.map.lines) this.map.move(row, column);
    for (const word of this.output.children) {
      const n = Number(word.dataset.n);
      const weight = looked[n];
      const tinted = n <= t && weight > 0;
      const background = tinted ? colourOf(weight, this.top) : null;
      word.style.background = background ?? "";
      word.style.color = tinted ? inkOn(background) : "";
      word.classList.toggle("current", n === t + 1);
      word.tabIndex = n === t + 1 ? 0 : -1;
    }
    this.drawReading(t, column, looked);
    this.drawSteps(t);
  }

  drawReading(t, column, looked) {
    const p = Math.exp(this.stepOf[t].logP[this.ids[t + 1]]);
    const told = [tokenText(this.tokens[t + 1]), ": p = ", number(p, 3)];
    const s = column + this.first;
    if (this.model().attends && !Number.isNaN(looked[s])) {
      const [read, written] = [this.tokens[s], this.tokens[t + 1]].map((token) => tokenText(token));
      told.push(" · ", ...sayWith("weightOf", read, written), ": ",
                make("b", {}, number(looked[s], 3)));
    }
    if (!this.model().attends) told.push(" · ", say("noAttention"));
    this.reading.replaceChildren(...told);
  }

  drawSteps(t) {
    const model = this.model();
    const step = this.stepOf[t];
    const own = step.weights?.[0].length ?? 0;
    this.steps.show({
      model, step, t, count: this.stepOf.length, before: this.tokens[t],
      tokens: this.tokens.slice(t + 1 - own, t + 1), head: 0,
      token: (id) => model.vocabulary.token(id), chosen: this.ids[t + 1],
    });
  }

  go(t) {
    const within = Math.min(this.stepOf.length - 1, Math.max(this.first, t));
    this.select(within - this.first, this.cell[1]);
  }

  chosen(element) {
    const n = Number(element.closest(".word")?.dataset.n ?? 0);
    if (n > this.first && n !== this.cell[0] + this.first + 1) {
      this.select(n - 1 - this.first, this.cell[1]);
    }
  }

  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    this.go(this.cell[0] + this.first + by);
    this.output.querySelector(".current").focus();
    event.preventDefault();
  }
}
