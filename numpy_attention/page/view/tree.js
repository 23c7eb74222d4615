// The tree of beam search. The children of a node are created when it is opened.

"use strict";

const STATES = { kept: "●", dropped: "○", ended: "■" };

// on.pick(k): show hypothesis k.
class Tree {
  constructor(on) {
    this.on = on;
    this.inside = make("div");
    this.element = make("details", { toggle: () => this.draw() },
                        make("summary", {}, say("beamTree")), this.inside);
    this.inside.addEventListener("keydown", (event) => this.key(event));
    this.found = null;
  }

  // found: { model, hypotheses, tree, picked: the index of the hypothesis shown, or null,
  //          moved: whether the output has changed weights, which the search does not know }
  show(found) {
    this.found = found;
    if (this.element.open) this.draw();
  }

  draw() {
    if (!this.element.open || this.found === null) return;
    const { hypotheses, tree, picked, moved } = this.found;
    const ended = hypotheses.map((one, k) => make(
      "li", {}, button("", () => this.on.pick(k), { "aria-pressed": k === picked }),
      make("span", { class: "quiet" }, say("isScored", number(one.logP), number(one.score)))));
    ended.forEach((item, k) => item.firstChild.append(...line([...hypotheses[k].words, "</s>"])));
    this.children = tree.map(() => []);
    tree.forEach((node, n) => { if (node.parent !== null) this.children[node.parent].push(n); });
    // open the path to the best hypothesis
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
    const { model, tree } = this.found;
    const { id, logP, total, state } = tree[n];
    const label = make(
      "span", { class: state },
      make("span", { class: "mark", role: "img", "aria-label": say(state) }, STATES[state]), " ",
      tokenText(model.targetVocabulary.token(id)), " ",
      make("span", { class: "quiet" },
           n === 0 ? "" : `p ${number(Math.exp(logP))} · ${say("soFar")} ${number(total)}`));
    const children = this.children[n];
    if (children.length === 0) return make("div", { class: "leaf" }, label);
    const inside = make("div", { class: "branch" });
    const fill = () => {
      if (inside.childElementCount > 0) return;
      inside.append(...children.map((child) => this.node(child)));
    };
    const branch = make("details", { toggle: () => { if (branch.open) fill(); } },
                        make("summary", {}, label), inside);
    if (this.path.has(n)) {
      fill();
      branch.open = true;
    }
    return branch;
  }

  // → opens; ← closes, or moves to the parent; ↑ and ↓ move between visible nodes
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
