"""The page is everybody's: by keyboard, on a phone, in any colours, in Spanish, of any words."""

import csv
import io
import struct
from xml.etree import ElementTree

import numpy as np
import pytest
from page_models import writer_of
from page_tab import cell, expanded, greedily, settle, translation, weights, write

from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.plotting.html import heatmap_table

# characters that may occur in a word, and must be shown as text
UNSAFE = ["<script>alert(1)</script>", "</script>", "<img/src=x/onerror=alert(1)>", "\"'`&amp;",
           "a\u2028b", "\u202egnp", "a\x00b", "e\u0301", "שלום", "<!--", "]]>", "=1+1"]


# ---- keys, screens, colours, languages -----------------------------------------------------------


def test_the_keyboard_alone_reaches_and_works_everything(tab, open_page, additive):
    open_page(additive)
    for _ in range(90):
        tab.keyboard.press("Tab")
        here = tab.evaluate("""() => {
          const one = document.activeElement;
          one.dataset.reached = "";
          const style = getComputedStyle(one);
          return { name: one.localName, text: one.textContent.trim(),
                   seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
        }""")
        if here["name"] == "body":
            break
        assert here["seen"], here
        if here["name"] == "summary" and here["text"] == "The beam":
            tab.keyboard.press("Enter")
            settle(tab)
    assert tab.locator(".tree summary[data-reached]").count() > 1
    missed = tab.evaluate("""() => [...document.querySelectorAll(
      "#live button, #live input, #live select, #live summary, #live table.heatmap")].filter(
      (one) => one.checkVisibility() && !one.disabled && !one.matches("[data-reached]")
               && !one.querySelector("[data-reached]")).map((one) => one.outerHTML)""")
    assert missed == []
    tab.locator("#source").focus()
    tab.keyboard.press("End")
    tab.keyboard.type(" w4")
    settle(tab)
    wanted, = additive.translate([["w1", "w2", "w3", "w4"]], beam=5)
    assert translation(tab).split() == wanted.target


def test_arrow_keys_walk_over_cells_and_tree(tab, open_page, additive):
    open_page(additive)
    cell(tab, 0, 0).focus()
    for key in ("ArrowDown", "ArrowRight", "End", "ArrowLeft"):
        tab.keyboard.press(key)
    place = tab.evaluate("[document.activeElement.parentNode.sectionRowIndex, "
                         "document.activeElement.cellIndex - 1]")
    assert place == [1, 2]
    assert "w3" in tab.locator(".reading").inner_text()
    tab.locator("details", has_text="The beam").first.evaluate("(one) => { one.open = true; }")
    settle(tab)
    tab.locator(".tree summary").first.focus()
    tab.keyboard.press("ArrowLeft")
    assert tab.locator(".tree > details[open]").count() == 0
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.closest('.branch') !== null")


def test_a_phone_needs_no_sideways_scrolling(tab, open_page, additive, seeded):
    tab.set_viewport_size({"width": 390, "height": 844})
    writer = writer_of("attentive-language-model", {"attention": "combined"}, seeded)
    for models in ([additive, additive], [writer]):
        open_page(*models)
        expanded(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_finger_sees_the_whole_table_and_sets_a_weight(browser, open_page, additive):
    path = open_page(additive)
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True,
                                  is_mobile=True)
    tab = context.new_page()
    tab.goto(f"file://{path}")
    write(tab, " ".join(["w1 w2 w3 w4"] * 3))
    table = "document.querySelector('.scroll')"
    assert tab.evaluate(f"{table}.scrollWidth <= {table}.clientWidth")
    cell(tab, 1, 2).tap()
    assert tab.locator(".with-touch").is_visible() and not tab.locator(".with-keys").is_visible()
    tab.locator(".hand input[type=range]").fill("0.75")
    assert weights(tab)[1][2] == 0.75
    for words, scrolls in ((12, False), (24, False), (40, True)):
        write(tab, " ".join(["w1 w2 w3 w4"] * (words // 4)))
        assert tab.locator(".goes-on").count() == scrolls
    context.close()


CONTRASTS = """() => {
  const parse = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const share = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * share(r) + 0.7152 * share(g) + 0.0722 * share(b);
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const found = parse(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.getElementById("page"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    const off = one.closest("[disabled], [aria-disabled=true], option, .faint, .hidden");
    if (walker.currentNode.data.trim() === "" || off || !one.checkVisibility()) continue;
    const [a, b] = [light(parse(getComputedStyle(one).color)), light(behind(one))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), one.className, one.textContent]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(tab, open_page, additive, seeded, scheme):
    tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    writer = writer_of("attentive-language-model", {"attention": "combined"}, seeded)
    open_page(additive)
    greedily(tab)
    cell(tab, 1, 1).focus()
    tab.keyboard.press("1")
    expanded(tab)
    found = tab.evaluate(CONTRASTS)
    open_page(writer)
    expanded(tab)
    found += tab.evaluate(CONTRASTS)
    assert len(found) > 200
    assert min(found)[0] >= 4.5, min(found)


def test_the_ramps_only_rise_or_fall_in_lightness(tab, open_page, additive):
    for scheme, sign in (("light", -1), ("dark", 1)):
        tab.emulate_media(color_scheme=scheme)
        open_page(additive)
        light = tab.evaluate("[...Array(101).keys()].map((k) => luminance(colourOf(k / 100)))")
        assert (sign * np.diff(light) > 0).all()


def test_spanish_is_spoken_to_who_reads_it(tab, open_page, additive):
    tab.add_init_script("Object.defineProperty(navigator, 'language', { get: () => 'es-MX' })")
    open_page(additive)
    assert tab.get_attribute("html", "lang") == "es"
    assert tab.get_by_label("Escribe una oración").is_visible()
    tab.locator("summary", has_text="El haz").click()
    tab.get_by_role("button", name="English").click()
    assert tab.get_by_label("Write a sentence").is_visible()
    assert tab.locator(".hypotheses").is_visible()
    assert tab.get_attribute("html", "lang") == "en"
    texts = tab.evaluate("TEXTS")
    for name, (english, spanish) in texts.items():
        assert english and spanish
        places = [sorted(part for part in ("{0}", "{1}", "{2}", "{3}") if part in one)
                  for one in (english, spanish)]
        assert places[0] == places[1], name


def test_without_javascript_the_table_stands(browser, open_page, additive, tmp_path):
    static = heatmap_table(np.array([[0.25, 0.75]]), ["a", "b"], ["c"])
    path = open_page(additive, static=static)
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(f"file://{path}")
    assert "0.75" in tab.locator("#static").inner_text()
    assert tab.locator("noscript").is_visible()
    context.close()


# ---- words that would be markup ------------------------------------------------------------------


@pytest.fixture
def unsafe(seeded):
    pair = Pair(tuple(UNSAFE), tuple(UNSAFE), {(k, k) for k in range(len(UNSAFE))})
    # which no vocabulary holds
    known = tuple(word for word in UNSAFE if "\x00" not in word)
    small = {"hidden": 12, "embedding": 7, "reset": "before", "update": "new"}
    return pair, Translator.create([Pair(known, known)], "rnnsearch", small, TranslatorTraining())


def test_a_word_never_becomes_markup(tab, open_page, unsafe):
    pair, translator = unsafe
    open_page(translator, examples=[pair])
    tab.get_by_role("button", name="Show its gold links").click()
    for one in tab.locator("details").all():
        one.evaluate("(one) => { one.open = true; }")
    settle(tab)
    made = tab.evaluate("[...document.querySelectorAll('#live *')].map((one) => one.localName)")
    assert not {"script", "img", "iframe", "style", "link", "object"} & set(made)
    assert tab.locator("script").count() == 4
    heads = tab.locator("table.heatmap thead th").all_text_contents()
    assert heads[:3] == UNSAFE[:3]
    assert heads[4] == "a\ufffdb"
    assert heads[6] == "a␀b"
    assert tab.locator("table.heatmap thead th bdi").count() == len(UNSAFE) + 1


def kept(tab, name):
    """The bytes of the file that a button gives."""
    with tab.expect_download() as waiting:
        tab.get_by_role("button", name=name, exact=True).click()
    return open(waiting.value.path(), "rb").read()


def test_files_are_well_formed(tab, open_page, unsafe):
    pair, translator = unsafe
    open_page(translator, examples=[pair])
    tab.get_by_role("button", name="Show its gold links").click()
    rows = len(UNSAFE) + 1
    svg = ElementTree.fromstring(kept(tab, "SVG"))
    texts = [one.text.strip("\u2068\u2069") for one in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert UNSAFE[0] in texts
    table = kept(tab, "CSV").decode("utf-8").replace("\0", "␀")      # csv took no NUL before 3.11
    lines = list(csv.reader(io.StringIO(table, newline="")))
    assert lines[0] == ["t", "written", "s", "read", "weight"]
    assert len(lines) == 1 + rows * rows
    assert [line[3] for line in lines[1:rows]] == [one.replace("\0", "␀") for one in UNSAFE]
    first = sum(float(line[4]) for line in lines[1:rows + 1])
    assert first == pytest.approx(1, abs=1e-4)
    png = kept(tab, "PNG")
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (2 * int(svg.get("width")), 2 * int(svg.get("height")))
