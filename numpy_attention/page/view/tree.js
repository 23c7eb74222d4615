// What beam search tried, as a tree: a node's own are made when it is opened.

"use strict";

const STATES = { kept: "●", dropped: "○", ended: "■" };

// on.pick(k): the hypothesis to show.
class Tree {
  constructor(on) {
    this.on = on;
    this.inside = make("div");
    this.element = make("details", { toggle: () => this.draw() },
                        make("summary", {}, say("beamTree")), this.inside);
    this.inside.addEventListener("keydown", (event) => this.key(event));
    this.asked = null;
  }

  // asked: { model, hypotheses, tree, picked: which hypothesis is shown, or null,
  //          moved: whether what is shown has weights that the search had not }
  show(asked) {
    this.asked = asked;
    if (this.element.open) this.draw();
  }

  draw() {
    if (!this.element.open || this.asked === null) return;
    const { hypotheses, tree, picked, moved } = this.asked;
    const ended = hypotheses.map((one, k) => make(
      "li", {}, button("", () => this.on.pick(k), { "aria-pressed": k === picked }),
      make("span", { class: "quiet" }, say("isScored", number(one.logP), number(one.score)))));
    ended.forEach((item, k) => item.firstChild.append(...line([...hypotheses[k].words, "</s>"])));
    this.children = tree.map(() => []);
    tree.forEach((node, n) => { if (node.parent !== null) this.children[node.parent].push(n); });
    // the path to the best one stands open
    this.path = new Set();
    for (let n = hypotheses[0]?.node ?? null; n !== null; n = tree[n].parent) this.path.add(n);
    this.inside.replaceChildren(
      make("p", { class: "quiet", hidden: moved ? null : "" }, say("searchedWithout")),
      make("h4", {}, say("hypotheses")), make("ol", { class: "hypotheses" }, ...ended),
      make("h4", {}, say("tried")),
      make("p", { class: "quiet" }, Object.entries(STATES).map(([state, mark]) => (
        `${mark} ${say(state)}`)).join("   ")),
      make("div", { class: "tree scroll" }, this.node(0)));
  }

  node(n) {
    const { model, tree } = this.asked;
    const { id, logP, total, state } = tree[n];
    const label = make(
      "span", { class: state },
      make("span", { class: "mark", role: "img", "aria-label": say(state) }, STATES[state]), " ",
      tokenText(model.targetVocabulary.token(id)), " ",
      make("span", { class: "quiet" },
           n === 0 ? "" : `p ${number(Math.exp(logP))} · ${say("soFar")} ${number(total)}`));
    const own = this.children[n];
    if (own.length === 0) return make("div", { class: "leaf" }, label);
    const inside = make("div", { class: "branch" });
    const fill = () => {
      if (inside.childElementCount === 0) inside.append(...own.map((child) => this.node(child)));
    };
    const made = make("details", { toggle: () => { if (made.open) fill(); } },
                      make("summary", {}, label), inside);
    if (this.path.has(n)) {
      fill();
      made.open = true;
    }
    return made;
  }

  // → opens, ← closes, or goes to the parent; ↑ and ↓ walk over what is open
  key(event) {
    if (event.target.tagName !== "SUMMARY") return;
    const details = event.target.parentNode;
    const up = details.parentNode.closest(".tree details")?.firstChild;
    const all = [...this.inside.querySelectorAll(".tree summary")]
      .filter((one) => one.checkVisibility());
    const place = all.indexOf(event.target);
    if (event.key === "ArrowRight") details.open = true;
    else if (event.key === "ArrowLeft" && details.open) details.open = false;
    else if (event.key === "ArrowLeft") up?.focus();
    else if (event.key === "ArrowDown") all[place + 1]?.focus();
    else if (event.key === "ArrowUp") all[place - 1]?.focus();
    else return;
    event.preventDefault();
  }
}
