// The introduction of the page: what the model does, what it was trained on, and what to try.

"use strict";

// {name of a language in the corpora: its Spanish name}
const SPANISH_NAMES = { English: "inglés", Spanish: "español", French: "francés",
                        German: "alemán", Czech: "checo", numbers: "números" };

// keys of texts for each kind of model
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

// One line about the training text. title: the model's, if the page has several models.
function learnedLine({ learned, text }, title) {
  const { name, description, sentences, longest } = learned;
  if (!name) return null;
  const facts = [description ? `${description} (${name})` : name];
  if (sentences) facts.push(say("sentences", whole(sentences)));
  const unit = text.cut === "characters" ? "longestCharacters" : "longestWords";
  if (longest) facts.push(say(unit, whole(longest)));
  const beginning = title === undefined ? say("learned") : say("learnedBy", visible(title));
  return `${beginning}: ${facts.map(visible).join(" · ")}`;
}

// models: all of one kind; views: one per model; on: { type(), again() }
function introduction(models, views, on) {
  const { kind } = models[0];
  const same = new Set(models.map((one) => learnedLine(one))).size === 1;
  const lines = same ? [learnedLine(models[0])]
    : models.map((one) => learnedLine(one, one.title));
  const view = views.find((one) => one.canMove());
  const recorded = models.every(isRecorded);
  const text = [INTRODUCTIONS[kind], kind === "writer" && (recorded || view) ? "writerTable" : null,
                recorded ? "pickOne" : "runsHere"].filter(Boolean).map((one) => say(one));
  const running = views.find((one) => !isRecorded(one.data));
  const things = recorded ? [] : [
    [say(kind === "writer" ? "tryText" : "trySentence"), on.type],
    view && [say("tryMoving"), () => view.tryMoving()],
    kind === "writer" ? [say("tryAgain"), on.again] : [say("tryBeam"), () => running.openTree()],
  ].filter(Boolean);
  return make(
    "section", { class: "intro" },
    make("div", {}, make("p", {}, text.join(" ")),
         ...lines.filter(Boolean).map((one) => make("p", { class: "quiet learned" }, one)),
         models[0].examples[0]?.sure?.length
           ? make("p", { class: "quiet" }, say("opening")) : null),
    recorded ? null : make(
      "div", {},
      make("p", { class: "quiet" }, say(things.length === 2 ? "twoThings" : "threeThings")),
      make("ol", {}, ...things.map(([text, does]) => make("li", {}, button(text, does))))));
}
