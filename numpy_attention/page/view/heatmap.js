// Weights as a table with keyboard navigation: one cell has the focus, and arrow keys move it.

"use strict";

// A picture of weights, on the screen or in a file, has
//
//   rows, columns         tokens
//   weights               a row (S,) for each of rows; NaN where the model cannot attend
//   sure, possible        the gold links as sets of "s t"; optional
//   pinned, unknown       functions of t and of s; optional
//   top                   the weight of the last colour, 1 by default
//   caption
//
// on: { select(t, s), change(t, s, weight), pin(t) }; without `change` the weights are read-only.
class Heatmap {
  constructor(on, { narrow = false } = {}) {
    this.on = on;
    this.table = make("table", { role: "grid", class: narrow ? "heatmap narrow" : "heatmap" });
    this.element = make("div", { class: "scroll", scroll: () => this.shade() }, this.table);
    new ResizeObserver(() => this.shade()).observe(this.element);
    this.cell = [0, 0];
    this.table.addEventListener("keydown", (event) => this.key(event));
    this.table.addEventListener("focusin", (event) => this.chosen(event.target));
    // some browsers do not focus a cell on a tap
    this.table.addEventListener("click", (event) => {
      if (this.placeOf(event.target)) event.target.closest("td").focus({ preventScroll: true });
    });
    this.table.addEventListener("pointerdown", (event) => this.press(event));
  }

  draw(picture) {
    const focused = this.table.contains(document.activeElement);
    this.picture = picture;
    const { rows, columns, caption } = picture;
    const [t, s] = this.cell;
    this.cell = [Math.min(t, rows.length - 1), Math.min(s, columns.length - 1)];
    const head = columns.map((token, k) => make("th", { scope: "col" }, this.source(token, k)));
    this.lines = rows.map((token, k) => this.line(token, k));
    this.table.style.setProperty("--columns", columns.length);
    this.table.replaceChildren(make("caption", {}, caption),
                               make("thead", {}, make("tr", {}, make("td"), ...head)),
                               make("tbody", {}, ...this.lines));
    this.mark();
    this.shade();
    if (focused) this.focus();
  }

  // Fade the edge if more columns follow.
  shade() {
    const { scrollLeft, scrollWidth, clientWidth } = this.element;
    const hidden = scrollWidth - clientWidth - Math.abs(scrollLeft);
    this.element.classList.toggle("goes-on", hidden > 1);
  }

  source(token, s) {
    if (!this.picture.unknown?.(s)) return tokenText(token);
    return tokenText(token, { class: "unknown", title: say("unknown") });
  }

  line(token, t) {
    const { weights, pinned } = this.picture;
    const label = [tokenText(token)];
    if (pinned?.(t)) label.push(make("span", { class: "pin", title: say("pinned") }, " ●"));
    const cells = Array.from(weights[t], (w, s) => this.one(w, t, s));
    return make("tr", {}, make("th", { scope: "row" }, ...label), ...cells);
  }

  one(w, t, s) {
    const { sure, possible, top } = this.picture;
    if (Number.isNaN(w)) return make("td", { class: "nothing", tabindex: -1 });
    const background = colourOf(w, top);
    const kinds = [];
    let link = null;
    if (w < 0.095) kinds.push("faint");
    if (sure?.has(`${s} ${t}`)) {
      kinds.push("sure");
      link = say("goldLink");
    } else if (possible?.has(`${s} ${t}`)) {
      kinds.push("possible");
      link = say("possibleLink");
    }
    return make("td", { class: kinds.join(" "), tabindex: -1, title: link,
                        style: `background: ${background}; color: ${inkOn(background)}` },
                make("span", {}, w.toFixed(2).replace(/^0/, "")));
  }

  at([t, s]) {
    return this.lines[t]?.children[s + 1];
  }

  placeOf(element) {
    const td = element.closest?.("tbody td");
    if (!td) return null;
    return [this.lines.indexOf(td.parentNode), td.cellIndex - 1];
  }

  // Mark the current row, and make its cell the only one that the tab key reaches.
  mark() {
    for (const row of this.lines) row.classList.remove("current");
    for (const td of this.table.querySelectorAll("td[tabindex='0']")) td.tabIndex = -1;
    this.lines[this.cell[0]]?.classList.add("current");
    const td = this.at(this.cell);
    if (td) td.tabIndex = 0;
  }

  move(t, s) {
    this.cell = [t, s];
    this.mark();
  }

  focus() {
    this.at(this.cell)?.focus({ preventScroll: true });
  }

  // Focus the current cell, and scroll the table into view.
  show() {
    this.focus();
    this.element.scrollIntoView({ block: "center" });
  }

  chosen(element) {
    const place = this.placeOf(element);
    if (place === null) return;
    this.move(...place);
    this.on.select(...place);
  }

  key(event) {
    const place = this.placeOf(event.target);
    if (place === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const [t, s] = place;
    const { rows, columns } = this.picture;
    const by = { ArrowUp: [t - 1, s], ArrowDown: [t + 1, s], ArrowLeft: [t, s - 1],
                 ArrowRight: [t, s + 1], Home: [t, 0], End: [t, columns.length - 1] }[event.key];
    if (by && !event.shiftKey) {
      const to = [Math.min(rows.length - 1, Math.max(0, by[0])),
                  Math.min(columns.length - 1, Math.max(0, by[1]))];
      this.at(to).focus();
    } else if (!this.change(event.key, t, s)) {
      return;
    }
    event.preventDefault();
  }

  // Change the weight by a key. Return whether the key has a meaning.
  change(key, t, s) {
    if (!this.on.change) return false;
    const weight = this.picture.weights[t][s];
    if (Number.isNaN(weight)) return false;
    const to = { "+": weight + 0.05, "=": weight + 0.05, ArrowUp: weight + 0.05,
                 "-": weight - 0.05, ArrowDown: weight - 0.05, 0: 0, 1: 1 }[key];
    if (to !== undefined) this.on.change(t, s, Math.min(1, Math.max(0, to)));
    else if (key === "p" || key === "P") this.on.pin(t);
    else return false;
    return true;
  }

  // Dragging up increases the weight. Touch scrolls instead: tap a cell and use the slider below.
  press(event) {
    const place = this.placeOf(event.target);
    const scrolls = event.pointerType === "touch" || event.button !== 0;
    if (place === null || !this.on.change || scrolls) return;
    const start = event.clientY;
    const weight = this.picture.weights[place[0]][place[1]];
    if (Number.isNaN(weight)) return;
    const drag = (moved) => {
      const up = start - moved.clientY;
      if (Math.abs(up) > 3) this.on.change(...place, Math.min(1, Math.max(0, weight + up / 100)));
    };
    const end = () => {
      removeEventListener("pointermove", drag);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
    };
    addEventListener("pointermove", drag);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  }
}
