"""The built site, opened page by page in a real browser without a network.

NUMPY_ATTENTION_SITE names an existing site, such as that of `.ci/run` with all lessons run. Without
it, a site with only lesson 00 is built.
"""

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[3]
BUILT = os.environ.get("NUMPY_ATTENTION_SITE")
LOOKED_AT = ("index.html", "lessons/00_attention_on_paper.html", "api/attention.html",
             "api/attention/additive.html", "map.html", "mechanisms/attention/additive.html",
             "glossary.html", "results/index.html",
             "source/numpy_attention/attention/additive.py.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site."""
    if BUILT:
        return Path(BUILT).resolve()
    pytest.importorskip("myst_nb", reason="the site needs the extra site")
    pytest.importorskip("furo", reason="the site needs the extra site")
    out = tmp_path_factory.mktemp("site") / "site"
    process = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "build_site.py"), str(out), "--lessons", "00"],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-6000:]
    return out


# ---- the files ----------------------------------------------------------------------------------


class Page(HTMLParser):
    """The links, resources and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links = []
        self.loads = []
        self.anchors = {""}
        self.folded = self.open = 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        has = dict(attributes)
        self.anchors.update(filter(None, (has.get("id"), has.get("name"))))
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        elif tag == "link" and has.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(has["href"])
        elif tag in ("script", "img", "iframe", "source", "video") and has.get("src"):
            self.loads.append(has["src"])
        elif tag == "details":
            self.folded += "open" not in has
            self.open += "open" in has


@pytest.fixture(scope="module")
def pages(site):
    """Return {path: Page} of the whole site."""
    return {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
            for path in sorted(site.rglob("*.html"))}


def place(page, link):
    """Return (path, anchor) of the target of an internal link."""
    parts = urlsplit(link)
    path = os.path.normpath(os.path.join(os.path.dirname(page), unquote(parts.path)))
    return (page if not parts.path else path), unquote(parts.fragment)


def is_external(link):
    return bool(urlsplit(link).scheme or urlsplit(link).netloc)


def test_internal_links_are_valid(site, pages):
    dead = []
    for page, what in pages.items():
        for link in what.links + what.loads:
            if is_external(link):
                continue
            path, anchor = place(page, link)
            if not (site / path).is_file():
                dead.append(f"{page}: {link}")
            elif path in pages and anchor not in pages[path].anchors:
                dead.append(f"{page}: no anchor {link}")
    assert not dead, "\n".join(dead[:40])


def test_no_external_resources(site, pages):
    for page, what in pages.items():
        assert not [one for one in what.loads if is_external(one) and not one.startswith("data:")]
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"url\(\s*[\"']?(https?:)?//|@import", text), style


def test_every_lesson_has_a_page_with_folded_answers_and_downloads(site, pages):
    scripts = sorted(ROOT.glob("lessons/[0-9][0-9]_*.py"))
    assert scripts
    for script in scripts:
        page = pages[f"lessons/{script.stem}.html"]
        answers = (ROOT / "lessons" / "answers" / f"{script.stem}.md").read_text(encoding="utf-8")
        assert page.folded >= answers.count("<details>") > 0 and page.open == 0
        for name in (script.name, f"{script.stem}.ipynb"):
            assert f"../course/{name}" in page.links
        assert (site / "course" / script.name).read_bytes() == script.read_bytes()


def test_every_module_has_a_source_page_and_every_package_a_page(pages):
    for path in (ROOT / "numpy_attention").rglob("*.py"):
        assert f"source/{path.relative_to(ROOT).as_posix()}.html" in pages
    for part in (ROOT / "numpy_attention").iterdir():
        if (part / "__init__.py").is_file():
            assert f"api/{part.name}.html" in pages


def test_lessons_show_their_outputs(site):
    run = sorted(ROOT.glob("lessons/[0-9][0-9]_*.py"))[:None if BUILT else 1]
    for script in run:
        text = (site / "lessons" / f"{script.stem}.html").read_text(encoding="utf-8")
        assert 'class="output' in text and "<img" in text
        assert "was built without running the lesson" not in text


# ---- in a browser -------------------------------------------------------------------------------


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def address(site):
    """Serve the site locally; → its address."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def tab(browser, address):
    """A browser page that records unwanted events in `tab.wrong`."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    page.wrong = []
    page.on("console", lambda message: message.type == "error"
            and page.wrong.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: page.wrong.append(f"{page.url}: {error}"))
    # requests cancelled by opening the next page are not failures
    page.on("requestfailed", lambda request: "ERR_ABORTED" in (request.failure or "")
            or page.wrong.append(f"{page.url}: {request.url} failed"))
    page.on("request", lambda request: request.url.startswith((address, "data:", "blob:"))
            or page.wrong.append(f"{page.url}: asks for {request.url}"))
    page.on("response", lambda response: response.status < 400
            or page.wrong.append(f"{page.url}: {response.url} {response.status}"))
    yield page
    context.close()


SIDEWAYS = "document.scrollingElement.scrollWidth - innerWidth"
UNSEEN = """[...document.images].filter(image => image.getClientRects().length)
    .map(image => { image.loading = "eager"; return image })
    .filter(image => image.complete && !image.naturalWidth).map(image => image.src)"""


def test_pages_open_on_narrow_and_wide_screens(tab, address, site, pages):
    sizes = {page: (site / page).stat().st_size for page in pages if page.startswith("source/")}
    longest = sorted(sizes, key=sizes.get)[-20:]
    for page in [*(page for page in pages if page not in sizes), *longest]:
        tab.set_viewport_size({"width": 390, "height": 844})
        tab.emulate_media(color_scheme="dark")
        tab.goto(address + page, wait_until="load")
        assert tab.evaluate(SIDEWAYS) <= 0, f"{page} scrolls sideways at 390"
        assert tab.evaluate(UNSEEN) == [], page
        tab.set_viewport_size({"width": 1280, "height": 800})
        tab.emulate_media(color_scheme="light")
        assert tab.evaluate(SIDEWAYS) <= 0, f"{page} scrolls sideways at 1280"
    assert tab.wrong == []


CONTRASTS = """() => {
    const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number)
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        return 0.2126 * x + 0.7152 * y + 0.0722 * z
    }
    const behind = element => {
        for (let one = element; one; one = one.parentElement) {
            const colour = numbers(getComputedStyle(one).backgroundColor)
            if (colour.length === 3 || colour[3] > 0.99) return colour
        }
        return [255, 255, 255]
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const found = []
    let seen = 0
    while (walker.nextNode() && seen < 3000) {
        const element = walker.currentNode.parentElement
        if (!walker.currentNode.data.trim() || !element.checkVisibility({checkOpacity: true})
            || element.closest("svg, script, style, .headerlink")) continue
        seen += 1
        const style = getComputedStyle(element)
        if (!style.color.startsWith("rgb")) continue
        const [a, b] = [light(numbers(style.color)), light(behind(element))]
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
        if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5))
            found.push(ratio.toFixed(2) + " " + element.className + " "
                       + walker.currentNode.data.trim().slice(0, 40))
    }
    return [seen, found]
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(scheme, tab, address):
    tab.emulate_media(color_scheme=scheme)
    backgrounds = set()
    for page in LOOKED_AT:
        tab.goto(address + page)
        backgrounds.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
        seen, faint = tab.evaluate(CONTRASTS)
        assert seen > 40 and faint == [], page
    assert tab.wrong == []
    brightest = max(int(one) for text in backgrounds for one in re.findall(r"\d+", text)[:3])
    assert (brightest > 200) == (scheme == "light")


def test_search_works_offline(tab, address):
    tab.goto(address + "search.html?q=additive")
    tab.wait_for_selector("ul.search li a", timeout=30_000)
    tab.wait_for_function("/finished/.test(document.querySelector('#search-results').innerText)",
                          timeout=30_000)
    found = tab.eval_on_selector_all("ul.search li a", "all => all.map(one => one.href)")
    assert "lessons/06_additive_attention.html" in found[0], found[:10]
    assert not any("-internals" in one or "api/cli" in one for one in found), found
    assert tab.wrong == []


def test_old_address_of_a_class_redirects(tab, address):
    name = "numpy_attention.attention.additive.AdditiveAttention"
    tab.goto(f"{address}api/attention.html#{name}.score")
    tab.wait_for_url(f"{address}api/attention/additive.html#{name}.score")
    assert tab.locator(f'[id="{name}.score"]').is_visible() and tab.wrong == []


def test_package_on_the_map_shows_its_arrows(tab, address):
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.goto(address + "map.html")
    seen = "all => all.filter(one => getComputedStyle(one).display !== 'none'"
    seen += " && getComputedStyle(one).opacity > 0.5).length"
    before = tab.eval_on_selector_all(".map .arrow", seen)
    tab.focus(".map .part-cells")
    after = tab.eval_on_selector_all(".map .arrow", seen)
    every = tab.eval_on_selector_all(".map .from-cells, .map .to-cells", "all => all.length")
    assert 0 < after == every != before


def test_equations_are_next_to_their_code_on_wide_screens(tab, address):
    tab.goto(address + "mechanisms/attention/additive.html")
    boxes = """all => all.map(one => one.getBoundingClientRect())
        .map(one => [one.x, one.right, one.y])"""
    for width, is_wide in ((1280, True), (390, False)):
        tab.set_viewport_size({"width": width, "height": 844})
        (_, right, top), *_ = tab.eval_on_selector_all(".equations math", boxes)
        (left, _, below), *_ = tab.eval_on_selector_all(".passes pre", boxes)
        assert (right < left) == is_wide and (below - top > 250) != is_wide
    tab.set_viewport_size({"width": 1280, "height": 844})
    tab.evaluate("scrollTo(0, 900)")
    assert 0 <= tab.eval_on_selector_all(".equations math", boxes)[0][2] < 400
    assert tab.wrong == []
