// Elements of the page. Whatever a token holds, it becomes text: nothing here reads markup.

"use strict";

// An element with attributes and what stands inside it: elements, or text.
//
// An attribute that is a function is what happens at an event: { click: f }. What is false or null
// is left out.
function make(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(attribute, value);
    else if (value !== false && value !== null) made.setAttribute(attribute, value);
  }
  made.append(...inside.filter((one) => one !== null));
  return made;
}

function button(text, click, attributes = {}) {
  return make("button", { type: "button", click, ...attributes }, text);
}

// A control with its name above it.
function labelled(text, control) {
  return make("label", { class: "labelled" }, make("span", {}, text), control);
}

// choices: [value, text]
function select(choices, value, change) {
  const options = choices.map(([one, text]) => make("option", { value: one }, text));
  const made = make("select", { change: () => change(made.value) }, ...options);
  made.value = value;
  return made;
}

function checkbox(text, checked, change) {
  const box = make("input", { type: "checkbox", change: () => change(box.checked) });
  box.checked = checked;
  return make("label", { class: "check" }, box, make("span", {}, text));
}

// A range with its value beside it.
function slider(text, value, [min, max, step], change, told = String) {
  const beside = make("b");
  const range = make("input", { type: "range", min, max, step });
  const tell = () => {
    beside.textContent = told(Number(range.value));
    range.setAttribute("aria-valuetext", beside.textContent);
  };
  range.addEventListener("input", () => {
    tell();
    change(Number(range.value));
  });
  range.value = value;
  tell();
  return make("label", { class: "labelled" }, make("span", {}, text, " ", beside), range);
}

// What cannot be seen, as Python shows it: control characters by their pictures, else U+FFFD.
function visible(token) {
  return Array.from(token, (character) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(character)) return "\ufffd";
    return character;
  }).join("");
}

// A token whose direction stays its own.
function tokenText(token, attributes = {}) {
  return make("bdi", attributes, visible(token));
}

// Tokens as a line of text.
function line(tokens) {
  return tokens.flatMap((token, n) => (n === 0 ? [tokenText(token)] : [" ", tokenText(token)]));
}

function number(x, digits = 2) {
  if (Number.isNaN(x)) return "–";
  return x.toFixed(digits).replace("-", "−");
}

// A number of things. In Spanish texts, a dot between thousands would look like those of `number`.
function whole(n) {
  const text = n.toLocaleString("en");
  return language === 0 ? text : text.replaceAll(",", "\u202f");
}

// What the reader keeps as a file.
function download(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
