// Colours of numbers. The ramps use blue and yellow, and their lightness is monotonic, so colours
// can be distinguished with any kind of colour vision, and in greyscale.

"use strict";

// from weight 0, close to the background, to weight 1
const RAMPS = {
  light: ["#f4f2ec", "#ecdf9c", "#cdbb68", "#a09876", "#727373", "#414d6b", "#00224e"],
  dark: ["#23272e", "#17305c", "#3b496c", "#666970", "#948e77", "#c8b866", "#fee838"],
};
// from −1 over 0 to 1
const DIVERGING = {
  light: ["#b84a00", "#f4f2ec", "#00639b"],
  dark: ["#ff9d5c", "#1b1e24", "#5fb4f0"],
};

const darkness = matchMedia("(prefers-color-scheme: dark)");

// The theme of the page around this frame (page.js), or that of the system.
function theme() {
  return document.documentElement.dataset.theme ?? (darkness.matches ? "dark" : "light");
}

function channels(colour) {
  return [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
}

function hex(rgb) {
  return "#" + rgb.map((c) => Math.round(c).toString(16).padStart(2, "0")).join("");
}

// Interpolate linearly between the stops; share is in 0 … 1.
function between(stops, share) {
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const left = Math.min(Math.floor(place), stops.length - 2);
  const from = channels(stops[left]);
  const to = channels(stops[left + 1]);
  return hex(from.map((c, k) => c + (to[k] - c) * (place - left)));
}

// top: the weight at which the ramp ends
function colourOf(weight, top = 1) {
  return between(RAMPS[theme()], weight / top);
}

// x is in −1 … 1
function signedColour(x) {
  return between(DIVERGING[theme()], (x + 1) / 2);
}

// relative luminance (WCAG 2)
function luminance(colour) {
  const [r, g, b] = channels(colour).map((c) => {
    const share = c / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Black or white, whichever has more contrast to this colour: at least 4.58 to 1.
function inkOn(colour) {
  return luminance(colour) > 0.179 ? "#000000" : "#ffffff";
}

function striped(stops) {
  return `background: linear-gradient(to right, ${stops.join(", ")})`;
}

// The colour bar, from weight 0 to top.
function colourBar(top = 1) {
  const ramp = make("span", { class: "ramp", style: striped(RAMPS[theme()]) });
  return make("div", { class: "bar" }, "0", ramp, top === 1 ? "1" : number(top));
}

// A vector as a strip with one coloured stripe per number, relative to the largest magnitude.
function strip(vector) {
  const numbers = Array.from(vector);
  const scale = Math.max(1e-9, ...numbers.map(Math.abs));
  const share = 100 / numbers.length;
  const stops = numbers.map((x, k) => (
    `${signedColour(x / scale)} ${(k * share).toFixed(3)}% ${((k + 1) * share).toFixed(3)}%`));
  return make("span", { class: "strip", style: striped(stops) });
}
