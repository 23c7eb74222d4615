// The view of one language model: its predictions, its weights over the past, its continuation.

"use strict";

const LONGEST_TEXT = 80;        // words; the rest of a longer text is not read
const ROWS = 60;                // most words in the table, the last ones of the text

class WriterView {
  // on.changed(): something that the address stores was changed here
  constructor(data, place, options, on) {
    this.data = data;
    this.place = place;
    this.on = on;
    this.checkpoints = new Checkpoints(data);
    this.moved = new Map();
    this.restore = options.moved;
    this.options = { ...options, text: null };
    this.cell = [0, 0];
    const select = (t, s) => this.select(t, s);
    const change = (t, s, weight) => this.change(t, s, weight);
    const pin = (t) => this.pin(t);
    this.map = new Heatmap({ select, change, pin }, { narrow: true });
    this.hand = new Hand({ change: (weight) => change(...this.cell, weight),
                           pin: () => pin(this.cell[0]), reset: () => this.reset() },
                         "fromThereDrawn");
    this.hint = make("p", { class: "quiet" });
    this.output = make("p", { class: "continued", dir: "auto" });
    this.status = make("p", { class: "hidden", "aria-live": "polite" });
    this.problem = make("p", { class: "problem", role: "status" });
    this.warning = make("p", { class: "warning", role: "status", dir: "auto" });
    this.reading = make("p", { class: "reading" });
    this.without = make("p", { class: "quiet without", dir: "auto", hidden: "" });
    this.span = make("p", { class: "quiet" });
    this.bar = make("div");
    this.steps = new Steps({ go: (t) => this.go(t) });
    this.pictures = make("div", { class: "pictures" }, this.map.element);
    this.looking = make("div", {}, this.pictures, this.bar, this.hand.element);
    this.about = make("div", {}, this.span, make("p", { class: "quiet" }, say("rows")),
                      this.hand.keys, keepButtons(() => this.picture()));
    this.live = make("div", { class: "live past" },
                     make("div", { class: "seen" }, this.looking, this.steps.likely, this.about),
                     make("div", { class: "within" }, this.steps.element));
    this.whole = make("div", {}, this.hint, this.output,
                      this.without, this.reading, this.live);
    this.element = make("section", { class: "model", "aria-label": visible(data.title) },
                        modelHead(data), this.problem, this.warning, this.status, this.whole);
    this.output.addEventListener("focusin", (event) => this.chosen(event.target));
    this.output.addEventListener("pointerover", (event) => this.chosen(event.target));
    this.output.addEventListener("keydown", (event) => this.key(event));
  }

  model() {
    return this.checkpoints.at(this.options.checkpoint);
  }

  show(options) {
    const sameText = this.options.text === options.text;
    this.options = options;
    this.problem.textContent = "";
    try {
      if (!sameText) {
        this.moved = movedFrom(this.restore, this.place, 1, null);
        this.restore = "";
      }
      this.read();
    } catch (error) {
      this.problem.textContent = say("failed", error.message);
      this.whole.hidden = true;
    }
  }

  read() {
    const { text } = this.options;
    const chosen = this.data.examples.find((one) => joined(this.data, one.words) === text);
    const typed = chosen?.words ?? this.model().tokens(text);
    this.words = typed.slice(0, LONGEST_TEXT);
    if (this.words.length < typed.length) this.problem.textContent = say("cut", LONGEST_TEXT);
    const ids = this.model().vocabulary.encode(this.words);
    const places = this.model().vocabulary.places(this.words);
    this.unread = new Set(places.filter((_, n) => ids[n] === UNK));
    this.warning.textContent = warningsOf(this.data, this.words,
                                          [...this.unread].map((n) => this.words[n]));
    this.whole.hidden = false;
    this.typed = 1 + this.words.length;
    this.write();
    // select the first word written
    this.cell = [this.typed - 1 - this.first, 0];
    this.draw();
  }

  // Continue the text. Each word after the first has a row: weights of the step that predicts it.
  write() {
    const { length, temperature, seed } = this.options;
    const written = (moved) => writtenOnWith(this.model(), this.words, length, moved,
                                             { random: generator(seed), temperature });
    const { ids, tokens, steps } = written(this.moved);
    this.ids = ids;
    this.tokens = tokens;
    this.stepOf = steps;
    this.past = new Past(steps);
    this.first = Math.max(0, steps.length - ROWS);
    this.unmoved = this.moved.size > 0 ? written(new Map()).tokens : null;
    const words = tokens.slice(this.typed).map(visible).join(" ");
    this.status.textContent = `${say("written")}: ${words}`;
  }

  picture() {
    const every = this.stepOf.map((_, t) => this.past.weightsAt(t).slice(this.first));
    return { rows: this.tokens.slice(this.first + 1), columns: this.tokens.slice(this.first, -1),
             weights: every.slice(this.first), top: this.top,
             pinned: (t) => this.moved.has(t + this.first),
             caption: say("history") };
  }

  draw() {
    const { attends } = this.model();
    const join = this.model().characterLevel ? "" : " ";
    this.hint.textContent = say(attends ? "hint" : "hintPlain");
    this.live.classList.toggle("past", attends);
    this.looking.hidden = !attends;
    this.about.hidden = !attends;
    this.output.replaceChildren(...this.tokens.flatMap((token, n) => {
      const changed = this.unmoved !== null && token !== this.unmoved[n] ? " changed" : "";
      const kind = n >= this.typed ? `word written${changed}` : "word";
      const about = { class: kind, tabindex: -1, role: n === 0 ? null : "button", "data-n": n };
      const unread = this.unread.has(n - 1) && n < this.typed;
      const marked = unread ? { class: "unknown", title: say("unknown") } : {};
      return [make("span", about, tokenText(token, marked)), join];
    }));
    this.top = this.past.largestWeight(this.moved);
    this.without.hidden = this.unmoved === null;
    this.without.replaceChildren(...this.unmoved === null ? [] : [
      make("b", {}, say("without")), ": ", ...line(this.unmoved.slice(this.typed))]);
    if (attends) {
      this.map.cell = [...this.cell];
      this.map.draw(this.picture());
      this.bar.replaceChildren(colourBar(this.top));
      this.span.textContent = say("span", number(this.past.meanSpan(), 1));
    } else {
      this.span.textContent = "";
    }
    this.select(...this.cell);
  }

  select(row, column) {
    this.cell = [row, column];
    const t = row + this.first;
    const weights = this.past.weightsAt(t);
    if (this.map.lines) this.map.move(row, column);
    for (const word of this.output.children) {
      const n = Number(word.dataset.n);
      const weight = weights[n];
      const tinted = n <= t && weight > 0;
      const background = tinted ? colourOf(weight, this.top) : null;
      word.style.background = background ?? "";
      word.style.color = tinted ? inkOn(background) : "";
      word.classList.toggle("current", n === t + 1);
      word.tabIndex = n === t + 1 ? 0 : -1;
    }
    this.drawReading(t, column, weights);
    this.drawSteps(t);
  }

  drawReading(t, column, weights) {
    const p = Math.exp(this.stepOf[t].logP[this.ids[t + 1]]);
    const expected = [...sayWith("probability", tokenText(this.tokens[t + 1])), number(p, 3)];
    if (!this.model().attends) expected.push(" · ", say("noAttention"));
    this.reading.replaceChildren(...expected);
    const s = column + this.first;
    const [read, written] = [this.tokens[s], this.tokens[t + 1]].map((token) => tokenText(token));
    const readout = [...sayWith("weightOf", read, written), ": ",
                     make("b", {}, number(weights[s], 3))];
    this.hand.show(readout, weights[s], this.moved.has(t), this.moved.size > 0);
  }

  drawSteps(t) {
    const model = this.model();
    const step = this.stepOf[t];
    const count = step.weights?.[0].length ?? 0;
    this.steps.show({
      model, step, t, count: this.stepOf.length, before: this.tokens[t],
      tokens: this.tokens.slice(t + 1 - count, t + 1), head: 0,
      token: (id) => model.vocabulary.token(id), chosen: this.ids[t + 1],
      byHand: this.moved.get(t) ?? null,
    });
  }

  go(t) {
    const within = Math.min(this.stepOf.length - 1, Math.max(this.first, t));
    this.select(within - this.first, this.cell[1]);
  }

  // ---- changing weights -----------------------------------------------------------------------

  canMove() {
    return this.model().attends;
  }

  // Move all weight of the first word written to the position with the smallest weight.
  tryMoving() {
    const row = this.typed - 1 - this.first;
    const weights = Array.from(this.past.weightsAt(row + this.first).slice(this.first));
    const seen = weights.filter((w) => !Number.isNaN(w));
    this.change(row, weights.indexOf(Math.min(...seen)), 1);
    this.map.show();
  }

  change(row, column, weight) {
    const t = row + this.first;
    const weights = this.stepOf[t].weights[0];
    // the past is shorter after a reset of the state
    const s = column + this.first - (t + 1 - weights.length);
    this.cell = [row, column];
    this.move(() => this.moved.set(t, [movedTo(weights, s, weight)]));
  }

  pin(row) {
    const t = row + this.first;
    const weights = this.stepOf[t].weights[0].map((w) => w || 0);
    this.move(() => (this.moved.delete(t) ? null : this.moved.set(t, [weights])));
  }

  reset() {
    this.move(() => this.moved.clear());
  }

  move(update) {
    update();
    this.write();
    this.draw();
    this.on.changed();
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
