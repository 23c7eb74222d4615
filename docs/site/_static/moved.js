/* Redirect an old address of a class, on the page of its subpackage, to the page of its module. */
addEventListener("DOMContentLoaded", () => {
  const names = location.hash.slice(1).replace(/^module-/, "").split(".");
  if (names.length < 3 || document.getElementById(location.hash.slice(1))) return;
  for (let end = names.length; end > 2; end -= 1) {
    const page = document.querySelector(`article a[href$="/${names.slice(2, end).join(".")}.html"]`);
    if (page) return location.replace(page.href + location.hash);
  }
});
