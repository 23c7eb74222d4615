// What the page says of itself before anything else: what it is, what it learned, what to try.

"use strict";

// Languages as the corpora name them, in Spanish.
const SPANISH_NAMES = { English: "inglés", Spanish: "español", French: "francés",
                        German: "alemán", Czech: "checo", numbers: "números" };

// names of texts for each kind of model
const TITLES = { translator: "translatorTitle", writer: "writerTitle" };
const INTRODUCTIONS = { translator: "translatorIntro", writer: "writerIntro" };

function languagesOf({ learned }) {
  if (!learned.languages) return null;
  if (language === 0) return learned.languages;
  return learned.languages.replace(/\p{L}+/gu, (name) => SPANISH_NAMES[name] ?? name);
}

function titleOf(data) {
  const title = [languagesOf(data), say(TITLES[data.kind])].filter(Boolean).join(": ");
  return title.charAt(0).toUpperCase() + title.slice(1);
}

// What a model learned from, in a line.
function learnedLine({ learned, text }) {
  const { name, description, sentences, longest } = learned;
  if (!name) return null;
  const count = (n) => n.toLocaleString(LANGUAGES[language]);
  const facts = [description ? `${description} (${name})` : name];
  if (sentences) facts.push(say("sentences", count(sentences)));
  const unit = text.cut === "characters" ? "longestCharacters" : "longestWords";
  if (longest) facts.push(say(unit, count(longest)));
  return `${say("learned")}: ${facts.map(visible).join(" · ")}`;
}

// models: all of one kind; views: theirs; on: { type(), again() }
function introduction(models, views, on) {
  const { kind } = models[0];
  const lines = [...new Set(models.map(learnedLine))].filter(Boolean);
  const view = views.find((one) => one.canMove());
  const recorded = models.every((one) => one.custom.length > 0);
  const said = say(recorded ? "pickOne" : "runsHere");
  const running = views.find((one) => one.data.custom.length === 0);
  const things = recorded ? [] : [
    [say(kind === "writer" ? "tryText" : "trySentence"), on.type],
    view && [say("tryMoving"), () => view.tryMoving()],
    kind === "writer" ? [say("tryAgain"), on.again] : [say("tryBeam"), () => running.openTree()],
  ].filter(Boolean);
  return make(
    "section", { class: "intro" },
    make("div", {}, make("p", {}, `${say(INTRODUCTIONS[kind])} ${said}`),
         ...lines.map((one) => make("p", { class: "quiet learned" }, one)),
         models[0].examples.length ? make("p", { class: "quiet" }, say("opening")) : null),
    recorded ? null : make(
      "div", {}, make("p", { class: "quiet" }, say("things")),
         make("ol", {}, ...things.map(([text, does]) => make("li", {}, button(text, does))))));
}
