// Send the theme of this page to the model's page in the frame.

"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const frame = document.querySelector("iframe.living");
  if (!frame) return;
  const send = () => frame.contentWindow.postMessage({ theme: document.body.dataset.theme }, "*");
  frame.addEventListener("load", send);
  new MutationObserver(send).observe(document.body, { attributeFilter: ["data-theme"] });
});
