// A sentence, its translation, and the weights as a table.

"use strict";

(() => {
  const { models } = JSON.parse(document.getElementById("models").textContent);
  const place = document.getElementById("live");

  function element(name, text = "", inside = place) {
    const made = document.createElement(name);
    made.textContent = text;
    inside.append(made);
    return made;
  }

  function table(weights, columns, rows) {
    const made = element("table");
    const head = element("tr", "", made);
    element("td", "", head);
    for (const token of columns) element("bdi", token, element("th", "", head));
    rows.forEach((token, t) => {
      const row = element("tr", "", made);
      element("bdi", token, element("th", "", row));
      for (const w of weights[t]) {
        const cell = element("td", Number.isNaN(w) ? "" : w.toFixed(2), row);
        cell.style.background = `rgba(0, 114, 178, ${0.75 * (w || 0)})`;
      }
    });
    return made;
  }

  for (const data of models) {
    const model = load(data);
    element("h2", data.title);
    const input = element("input");
    const first = data.examples[0];
    input.value = first ? (first.source ?? first.words).join(" ") : "";
    input.size = 60;
    input.setAttribute("aria-label", "source");
    const written = element("p");
    const drawn = element("div");

    const show = () => {
      drawn.replaceChildren();
      const words = model.tokens(input.value);
      if (words.length === 0) return;
      if (model.kind === "translator") {
        const memory = model.read(words);
        const { hypotheses: [best] } = model.beam(memory, 5);
        written.textContent = best.words.join(" ");
        drawn.append(table(best.steps.map((step) => step.weights[0]), memory.tokens,
                           best.ids.map((id) => model.targetVocabulary.token(id))));
      } else {
        const found = model.write(words, 20, { random: generator(0) });
        written.textContent = found.words.join(" ");
      }
    };
    input.addEventListener("input", show);
    show();
  }
  document.getElementById("static").hidden = true;
})();
