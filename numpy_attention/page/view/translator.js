// The view of one translator: its output, its weights, and ways to change them.

"use strict";

const LONGEST_SENTENCE = 60;    // words; the rest of a longer sentence is not read
const TRIES = 80;               // most changes that tryMoving tries

class TranslatorView {
  // on.changed(): something that the address stores was changed here. on.corpus(): the user wants
  // to see the reference.
  constructor(data, place, options, on) {
    this.data = data;
    this.place = place;
    this.on = on;
    this.checkpoints = new Checkpoints(data);
    this.moved = new Map();
    this.picked = null;
    this.options = { ...options, source: null };
    this.drawWhole();
    this.restore = options.moved;
  }

  // ---- the parts ------------------------------------------------------------------------------

  drawWhole() {
    const select = (t, s) => this.select(t, s);
    const change = (t, s, weight) => this.change(t, s, weight);
    const pin = (t) => this.pin(t);
    this.maps = new Map();
    this.newMap = () => new Heatmap({ select, change, pin });
    this.posterior = new Heatmap({ select });
    this.output = make("p", { class: "translation", "aria-live": "polite", dir: "auto" });
    this.without = make("p", { class: "quiet without", dir: "auto", hidden: "" });
    this.reference = new Reference({ corpus: () => this.on.corpus() });
    this.problem = make("p", { class: "problem", role: "status" });
    this.warning = make("p", { class: "warning", role: "status", dir: "auto" });
    this.pictures = make("div", { class: "pictures" });
    this.hand = new Hand({ change: (weight) => this.change(...this.cell, weight),
                           pin: () => this.pin(this.cell[0]), reset: () => this.reset() },
                         "fromThere");
    this.steps = new Steps({ go: (t) => this.go(t) });
    this.tree = new Tree({ pick: (k) => this.pick(k) });
    this.bar = make("div");
    const keep = keepButtons(() => this.picture(this.headShown(), say("before")));
    this.live = make("div", { class: "live" },
                     make("div", { class: "seen" }, this.pictures, this.bar, this.hand.element,
                          this.steps.likely, this.hand.keys, keep),
                     make("div", { class: "within" }, this.steps.element, this.tree.element));
    this.element = make("section", { class: "model", "aria-label": visible(this.data.title) },
                        modelHead(this.data), this.output, this.warning,
                        this.without, this.reference.element, this.problem, this.live);
    this.cell = [0, 0];
  }

  model() {
    return this.checkpoints.at(this.options.checkpoint);
  }

  // ---- from options to words ------------------------------------------------------------------

  // options: the current ones
  show(options) {
    const source = options.source;
    const sameText = this.options.source === source;
    this.options = options;
    this.problem.textContent = "";
    try {
      this.read(source, sameText);
    } catch (error) {
      this.problem.textContent = say("failed", error.message);
      this.live.hidden = true;
    }
  }

  read(source, sameText) {
    const model = this.model();
    const chosen = this.data.examples.find((one) => one.source?.join(" ") === source);
    const typed = chosen?.source ?? model.tokens(source);
    const words = typed.slice(0, LONGEST_SENTENCE);
    if (words.length < typed.length) this.problem.textContent = say("cut", LONGEST_SENTENCE);
    this.live.hidden = words.length === 0;
    this.warning.textContent = "";
    if (words.length === 0) {
      this.output.replaceChildren(make("span", { class: "quiet" }, say("empty")));
      this.without.hidden = true;
      this.reference.element.hidden = true;
      return;
    }
    this.memory = model.read(words);
    const { places, unknown } = this.memory;
    const unread = new Set(places.filter((_, s) => unknown[s]));
    this.warning.textContent = warningsOf(this.data, words, [...unread].map((n) => words[n]));
    this.example = exampleOf(this.data, words);
    if (this.example && !agrees(model, this.memory, this.example)) {
      this.warning.textContent += ` ⚠ ${say("otherWeights")}`;
    }
    if (!sameText) {
      this.moved = new Map();
      this.picked = null;
    }
    this.search(model);
    if (this.restore) {
      const { weights } = this.base.steps[0];
      this.moved = movedFrom(this.restore, this.place, weights.length, weights[0].length);
      this.restore = "";
    }
    this.write();
  }

  // Set this.base to the output without changes.
  search(model) {
    const { shown, beam, temperature, seed } = this.options;
    this.found = model.beam(this.memory, beam);
    this.base = this.found.hypotheses[this.picked ?? 0];
    if (this.picked !== null) return;
    if (shown === "corpus" && this.example) {
      this.base = model.force(this.memory, this.example.target);
    }
    if (shown === "drawn") {
      this.base = model.sample(this.memory, { temperature, random: generator(seed) });
    }
  }

  // Set this.now to the output with the changed weights.
  write() {
    const model = this.model();
    this.now = this.base;
    this.unmoved = null;
    if (this.moved.size > 0) {
      const from = Math.min(...this.moved.keys());
      const { ids } = this.base;
      this.now = writtenWith(model, this.memory, ids, this.moved, from);
      this.unmoved = writtenWith(model, this.memory, ids, new Map(), from);
    }
    this.rows = this.now.tokens;
    this.cell = [Math.min(this.cell[0], this.rows.length - 1),
                 Math.min(this.cell[1], this.memory.tokens.length - 1)];
    this.draw();
  }

  // ---- the screen -----------------------------------------------------------------------------

  draw() {
    this.drawWords();
    this.reference.show(this.model(), this.memory, this.example, this.options.shown);
    this.drawMaps();
    this.drawCell();
    this.drawSteps();
    const best = this.options.shown === "best" ? 0 : null;
    this.tree.show({ model: this.model(), ...this.found, picked: this.picked ?? best,
                     moved: this.moved.size > 0 });
  }

  drawWords() {
    const words = this.unmoved === null ? line(this.now.words)
      : this.now.words.flatMap((word, t) => {
        const changed = word !== this.unmoved.words[t];
        return [t === 0 ? "" : " ", changed ? make("mark", {}, tokenText(word)) : tokenText(word)];
      });
    this.output.replaceChildren(...words);
    this.without.hidden = this.unmoved === null;
    this.without.replaceChildren(...this.unmoved === null ? [] : this.unchangedOutput());
  }

  // The output without changes, and its beginning continued by greedy search if that differs.
  unchangedOutput() {
    const lines = [make("b", {}, say("without")), ": ", ...line(this.base.words)];
    const same = this.base.words.join("\n") === this.unmoved.words.join("\n");
    return same ? lines : [...lines, make("br"), make("b", {}, say("withoutSearch")), ": ",
                           ...line(this.unmoved.words)];
  }

  // The gold links, if the output is the reference.
  links() {
    const { example } = this;
    if (!example || example.target.join("\n") !== this.now.words.join("\n")) return {};
    const places = [this.memory.places, this.now.places];
    return { sure: linkSet(example.sure, ...places),
             possible: linkSet(example.possible, ...places) };
  }

  // The head that the user changes or saves.
  headShown() {
    return this.options.head === "every" ? "mean" : this.options.head;
  }

  picture(head, caption) {
    return { rows: this.rows, columns: this.memory.tokens, caption, ...this.links(),
             weights: this.now.steps.map((step) => weightsOf(step, head)),
             unknown: (s) => this.memory.unknown[s], pinned: (t) => this.moved.has(t) };
  }

  drawMaps() {
    const { head, after } = this.options;
    const count = this.now.steps[0].weights.length;
    const heads = head === "every" && count > 1 ? [...Array(count).keys()] : [this.headShown()];
    const wanted = heads.map((one) => {
      const key = String(one);
      if (!this.maps.has(key)) this.maps.set(key, this.newMap());
      const map = this.maps.get(key);
      const whole = one === "mean" || count === 1;
      const title = whole ? say("before") : `${say("before")}, ${say("headNumber", one + 1)}`;
      map.head = one;
      map.cell = [...this.cell];
      map.draw(this.picture(one, title));
      return map.element;
    });
    if (after) {
      this.posterior.cell = [...this.cell];
      const picture = this.picture("mean", say("posterior"));
      const weights = weightsAfter(this.model(), this.memory, this.now);
      this.posterior.draw({ ...picture, weights, pinned: () => false });
      wanted.push(this.posterior.element);
    }
    const there = [...this.pictures.children];
    if (there.length !== wanted.length || there.some((one, k) => one !== wanted[k])) {
      this.pictures.replaceChildren(...wanted);
    }
    this.bar.replaceChildren(colourBar());
  }

  // Draw the selected cell in numbers, and its controls.
  drawCell() {
    const [t, s] = this.cell;
    const head = this.activeHead();
    const step = this.now.steps[t];
    const weight = weightsOf(step, head)[s];
    const readout = [
      ...sayWith("weightOf", tokenText(this.memory.tokens[s]), tokenText(this.rows[t])), ": ",
      make("b", {}, number(weight, 3))];
    const scores = step.scores?.[head === "mean" ? 0 : head];
    const scored = scores && !Number.isNaN(scores[s]);
    if (scored && step.weights.length === 1) readout.push(`, ${say("scoreIs", number(scores[s]))}`);
    this.hand.show(readout, weight, this.moved.has(t), this.moved.size > 0);
  }

  activeHead() {
    const count = this.now.steps[0].weights.length;
    if (count === 1) return 0;
    const here = document.activeElement;
    const focused = [...this.maps.values()].find((map) => map.table.contains(here));
    const head = focused?.head ?? this.headShown();
    return head === "mean" ? head : Math.min(head, count - 1);
  }

  drawSteps() {
    const [t] = this.cell;
    const model = this.model();
    this.steps.show({
      model, step: this.now.steps[t], t, count: this.rows.length,
      before: t === 0 ? SPECIAL_TOKENS[BOS] : this.rows[t - 1],
      tokens: this.memory.tokens, head: this.activeHead(),
      token: (id) => model.targetVocabulary.token(id), chosen: this.now.ids[t],
      byHand: this.moved.get(t) ?? null,
    });
  }

  // ---- changing weights -----------------------------------------------------------------------

  select(t, s) {
    const other = this.cell[0] !== t;
    this.cell = [t, s];
    for (const map of [...this.maps.values(), this.posterior]) {
      if (map.lines) map.move(t, s);
    }
    this.drawCell();
    if (other) this.drawSteps();
  }

  go(t) {
    this.select(Math.min(this.rows.length - 1, Math.max(0, t)), this.cell[1]);
  }

  canMove() {
    return true;
  }

  // Move all weight of a step to another position: the first found that changes the word written.
  tryMoving() {
    this.reset();
    const { steps, ids } = this.base;
    const model = this.model();
    const places = [...this.memory.tokens.keys()].slice(0, -1);
    const tries = steps.slice(0, -1).flatMap(({ weights }, t) => (
      places.filter((s) => weightsOf({ weights })[s] < 0.5).map((s) => [t, s])));
    const [t, s] = tries.slice(0, TRIES).find((one) => {
      const moved = new Map([[one[0], this.allAt(one)]]);
      const found = writtenWith(model, this.memory, ids, moved, one[0]);
      return ![ids[one[0]], EOS].includes(found.ids[one[0]]);
    }) ?? tries[0] ?? [0, 0];
    this.moved.set(t, this.allAt([t, s]));
    this.cell = [t, s];
    this.write();
    this.on.changed();
    [...this.maps.values()][0].show();
  }

  // The weights of step t for each head, with all weight on s.
  allAt([t, s]) {
    return this.base.steps[t].weights.map((one) => movedTo(one, s, 1));
  }

  openTree() {
    this.tree.element.open = true;
    this.tree.element.scrollIntoView({ block: "nearest" });
  }

  // A copy of the changed weights of step t for each head; null for heads without changes.
  heads(t) {
    const { weights } = this.now.steps[t];
    if (this.moved.has(t)) return this.moved.get(t).map((one) => one && Float32Array.from(one));
    return weights.map(() => null);
  }

  change(t, s, weight) {
    const head = this.activeHead();
    const { weights } = this.now.steps[t];
    const heads = this.heads(t);
    // to change the mean, change every head
    const which = head === "mean" ? weights.map((_, k) => k) : [head];
    for (const k of which) heads[k] = movedTo(weights[k], s, weight);
    this.moved.set(t, heads);
    this.cell = [t, s];
    this.write();
    this.on.changed();
  }

  pin(t) {
    if (this.moved.has(t)) this.moved.delete(t);
    else this.moved.set(t, this.now.steps[t].weights.map((one) => Float32Array.from(one)));
    this.write();
    this.on.changed();
  }

  reset() {
    this.moved = new Map();
    this.write();
    this.on.changed();
  }

  pick(k) {
    this.picked = k;
    this.moved = new Map();
    this.base = this.found.hypotheses[k];
    this.write();
    this.on.changed();
  }
}
