// A heatmap as a file: SVG, PNG or CSV.

"use strict";

const SVG = "http://www.w3.org/2000/svg";
const CELL = 34;        // pixels
const LETTER_WIDTH = 8; // pixels, approximate

function makeSvg(name, attributes, text = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  // isolate the token from the direction of the text around it
  if (text !== null) element.textContent = `\u2068${visible(text)}\u2069`;
  return element;
}

// The picture as an <svg> element, in the current colours of the page.
function svgOf({ rows, columns, weights, sure, possible, caption, top: most }) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const lengthOf = (token) => Array.from(token).length;
  const room = (tokens) => 20 + LETTER_WIDTH * Math.max(...tokens.map(lengthOf));
  const left = room(rows);
  const top = room(columns) + 24;
  const width = left + CELL * columns.length + 20;
  const height = top + CELL * rows.length + 10;
  const svg = makeSvg("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`,
                               "font-family": "system-ui, sans-serif", "font-size": 14 });
  const put = (name, attributes, text) => svg.append(makeSvg(name, attributes, text));
  const ink = colour("--ink");
  put("title", {}, caption);
  put("rect", { width, height, fill: colour("--paper") });
  put("text", { x: 10, y: 18, fill: ink, "font-size": 13 }, caption);
  columns.forEach((token, s) => {
    const x = left + CELL * (s + 0.5) + 5;
    put("text", { transform: `translate(${x} ${top - 8}) rotate(-90)`, fill: ink }, token);
  });
  rows.forEach((token, t) => {
    const y = top + CELL * t;
    put("text", { x: left - 8, y: y + 22, "text-anchor": "end", fill: ink }, token);
    weights[t].forEach((w, s) => {
      if (Number.isNaN(w)) return;
      const x = left + CELL * s;
      const fill = colourOf(w, most);
      put("rect", { x, y, width: CELL - 1, height: CELL - 1, fill });
      const isSure = sure?.has(`${s} ${t}`);
      if (isSure || possible?.has(`${s} ${t}`)) {
        put("rect", { x: x + 1.5, y: y + 1.5, width: CELL - 4, height: CELL - 4, fill: "none",
                      stroke: colour("--gold"), "stroke-width": isSure ? 3 : 1.5,
                      "stroke-dasharray": isSure ? "none" : "3 2" });
      }
      if (w < 0.095) return;
      put("text", { x: x + CELL / 2, y: y + 21, fill: inkOn(fill), "font-size": 11,
                    "text-anchor": "middle" }, w.toFixed(2).replace(/^0/, ""));
    });
  });
  return svg;
}

function svgText(picture) {
  return new XMLSerializer().serializeToString(svgOf(picture));
}

// A promise of the picture as a PNG, at twice its size.
function pngOf(picture) {
  const image = new Image();
  return new Promise((resolve, reject) => {
    image.onerror = reject;
    image.onload = () => {
      const canvas = make("canvas", { width: 2 * image.width, height: 2 * image.height });
      const pen = canvas.getContext("2d");
      pen.scale(2, 2);
      pen.drawImage(image, 0, 0);
      canvas.toBlob(resolve, "image/png");
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(picture))}`;
  });
}

// One line per weight: step, word, position, token, weight (RFC 4180).
function csvOf({ rows, columns, weights }) {
  const quoted = (token) => `"${token.replaceAll("\"", "\"\"")}"`;
  const lines = ["t,written,s,read,weight"];
  rows.forEach((word, t) => weights[t].forEach((w, s) => {
    if (!Number.isNaN(w)) lines.push([t, quoted(word), s, quoted(columns[s]), w].join(","));
  }));
  return lines.join("\r\n") + "\r\n";
}

// Three buttons. picture: a function that returns the picture to save.
function keepButtons(picture) {
  const keep = {
    SVG: () => download("attention.svg", new Blob([svgText(picture())], { type: "image/svg+xml" })),
    PNG: () => pngOf(picture()).then((blob) => download("attention.png", blob)),
    CSV: () => download("attention.csv", new Blob([csvOf(picture())], { type: "text/csv" })),
  };
  return make("p", { class: "keep" }, say("keep"), ...Object.entries(keep).map(([name, does]) => (
    button(name, does))));
}
