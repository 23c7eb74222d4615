// Elements of the page. Tokens become text nodes; nothing here parses markup.

"use strict";

// Create an element with attributes and children (elements or text).
//
// A function as an attribute is an event listener: { click: f }. Attributes that are false or null
// are left out, and so are children that are null.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(attribute, value);
    else if (value !== false && value !== null) element.setAttribute(attribute, value);
  }
  element.append(...children.filter((one) => one !== null));
  return element;
}

function button(text, click, attributes = {}) {
  return make("button", { type: "button", click, ...attributes }, text);
}

// A control with a label above it.
function labelled(text, control) {
  return make("label", { class: "labelled" }, make("span", {}, text), control);
}

// choices: [value, text]
function select(choices, value, change) {
  const options = choices.map(([one, text]) => make("option", { value: one }, text));
  const menu = make("select", { change: () => change(menu.value) }, ...options);
  menu.value = value;
  return menu;
}

function checkbox(text, checked, change) {
  const box = make("input", { type: "checkbox", change: () => change(box.checked) });
  box.checked = checked;
  return make("label", { class: "check" }, box, make("span", {}, text));
}

// A slider with its value after the label.
function slider(text, value, [min, max, step], change, format = String) {
  const readout = make("b");
  const range = make("input", { type: "range", min, max, step });
  const update = () => {
    readout.textContent = format(Number(range.value));
    range.setAttribute("aria-valuetext", readout.textContent);
  };
  range.addEventListener("input", () => {
    update();
    change(Number(range.value));
  });
  range.value = value;
  update();
  return make("label", { class: "labelled" }, make("span", {}, text, " ", readout), range);
}

// Replace invisible characters as Python does: control characters by their pictures, else U+FFFD.
function visible(token) {
  return Array.from(token, (character) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(character)) return "\ufffd";
    return character;
  }).join("");
}

// A token, isolated from the direction of the text around it.
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

// An integer. In Spanish texts, thousands have no dots, which would look like decimal points.
function whole(n) {
  const text = n.toLocaleString("en");
  return language === 0 ? text : text.replaceAll(",", "\u202f");
}

// Save a blob as a file.
function download(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
