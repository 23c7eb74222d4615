// Tells the living page in a frame which theme the reader has chosen here.

"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const frame = document.querySelector("iframe.living");
  if (!frame) return;
  const tell = () => frame.contentWindow.postMessage({ theme: document.body.dataset.theme }, "*");
  frame.addEventListener("load", tell);
  new MutationObserver(tell).observe(document.body, { attributeFilter: ["data-theme"] });
});
