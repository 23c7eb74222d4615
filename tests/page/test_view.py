"""What a reader sees of the page, and does with it: in a real browser, with small models."""

import csv
import io
import re
import struct
from xml.etree import ElementTree

import numpy as np
import pytest
from page_models import SPACES, WORDS, translator_of, writer_of

from numpy_attention.data.pairs import Pair
from numpy_attention.data.vocabulary import EOS, UNK
from numpy_attention.metrics import alignment_error_rate, links_from_weights, near_pointing
from numpy_attention.page.export import exported
from numpy_attention.page.table import heatmap_table
from numpy_attention.page.write import ROOM, write_page
from numpy_attention.runs.translator import Translator, TranslatorTraining

SENTENCE = "w1 w2 w3 w4"
EXAMPLES = [
    Pair(("w1", "w2", "w3"), ("w4", "w5", "w6"), {(0, 0), (1, 2)}, {(2, 1)}),
    Pair(("w7", "w8"), ("w9", "w1", "w2")),
]
# what may stand in a word, and may not become anything but text
HOSTILE = ["<script>alert(1)</script>", "</script>", "<img/src=x/onerror=alert(1)>", "\"'`&amp;",
           "a\u2028b", "\u202egnp", "a\x00b", "e\u0301", "שלום", "<!--", "]]>", "=1+1"]
FRAGMENTS = ["#source=%E0%A4%A", "#beam=1e9&head=-1&step=x&seed=NaN",
             "#source=<script>alert(1)</script>", "#moved=0.0.0:1,1,1;;x.y.z;0.-1.0:;9.9.9:NaN",
             "#shown=constructor&language=__proto__", "#temperature=&length=1e-9&checkpoint=7",
             "#" + "moved=0.0.0:" * 3000, "#%00=%00&&&===", "#head=every&after=true&shown=corpus"]


@pytest.fixture
def rng():
    """Of a seed with which the translators below write several words."""
    return np.random.default_rng(43)


@pytest.fixture
def open_page(tab, tmp_path):
    """A function that opens the page of some trained models, at a fragment."""
    def opened(*trained, fragment="", static="", **how):
        how = {"examples": EXAMPLES if trained[0].KIND == "translator" else [WORDS[:4]]} | how
        models = [exported(one, f"model {n}", SPACES, **how) for n, one in enumerate(trained, 1)]
        path = tmp_path / "page.html"
        write_page(path, models, "A page", static)
        tab.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
        tab.goto(f"file://{path}{fragment}")
        return path
    return opened


@pytest.fixture
def additive(rng):
    """A translator that changes its mind easily."""
    trained = translator_of("rnnsearch", {"reset": "before", "update": "new"}, rng)
    for _, array in trained.model.named_parameters():
        array *= 3
    return trained


def write(tab, text, place="#source"):
    """Type it, and wait until a slow machine has caught up."""
    tab.fill(place, text)
    settle(tab)


def settle(tab):
    """What is put off while somebody types is done."""
    tab.wait_for_timeout(150)


def translation(tab, model=0):
    return tab.locator(".translation").nth(model).inner_text()


def weights(tab, table=0):
    """The numbers of a table of weights."""
    return np.array(tab.locator("table.heatmap").nth(table).evaluate(
        "(table) => [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll('td')]"
        ".map((cell) => Number(cell.textContent)))"))


def cell(tab, t, s):
    return tab.locator("table.heatmap tbody tr").nth(t).locator("td").nth(s)


# ---- a translator --------------------------------------------------------------------------------


def test_typing_translates_as_python_does(tab, open_page, additive, rng):
    luong = translator_of("luong", {"layers": 1}, rng)
    open_page(additive, luong)
    for text in (SENTENCE, "w5", "w5 w9 w1 ?"):
        write(tab, text)
        for n, translator in enumerate((additive, luong)):
            wanted, = translator.translate([text.split()], beam=5)
            assert translation(tab, n).split() == wanted.target
            np.testing.assert_allclose(weights(tab, n), wanted.weights, atol=0.0051)
    assert tab.locator(".unknown").count() == 2


def test_the_beam_is_as_wide_as_asked(tab, open_page, additive):
    open_page(additive)
    for beam in (1, 3):
        tab.fill("input[type=number]", str(beam))
        write(tab, SENTENCE)
        found = additive.hypotheses(SENTENCE.split(), beam)
        assert translation(tab).split() == found[0].target
        tab.locator("details", has_text="The beam").first.evaluate("(one) => { one.open = true; }")
        assert tab.locator(".hypotheses li").count() == beam
        tab.locator(".hypotheses button").nth(beam - 1).click()
        assert translation(tab).split() == found[-1].target
        assert tab.locator(".tree .ended").count() >= 1


def test_an_empty_sentence_asks_for_words(tab, open_page, additive):
    open_page(additive)
    write(tab, "  ")
    assert "translated while you type" in translation(tab)
    assert not tab.locator(".live .seen").is_visible()
    write(tab, "w1 " * 200)
    assert "only the first 60 words" in tab.locator(".problem").inner_text()


def test_the_corpus_s_own_sentence_has_its_gold_links(tab, open_page, additive):
    open_page(additive)
    tab.get_by_label("or choose one of the corpus").select_option("w1 w2 w3")
    tab.get_by_role("button", name="Show its gold links").click()
    assert translation(tab) == "w4 w5 w6"
    assert tab.locator("td.sure").count() == 2
    assert tab.locator("td.possible").count() == 1
    pair = EXAMPLES[0]
    attended = additive.attend([pair])
    error = alignment_error_rate(links_from_weights(attended, [pair]), [pair])
    near = near_pointing(attended, [pair])
    said = tab.locator(".figures").inner_text()
    assert f"alignment error {error:.2f}" in said
    numbers = [int(word) for word in said.replace(",", " ").split() if word.isdigit()]
    linked, on, beside = numbers
    assert (linked, on + beside) == (2, round(2 * near))


def test_pointing_is_measured_as_in_python(tab, open_page, additive, rng):
    open_page(additive)
    pair = EXAMPLES[0]
    example = {"source": pair.source, "target": pair.target, "sure": sorted(pair.sure),
               "possible": sorted(pair.possible)}
    for _ in range(20):
        rows = rng.random((4, 4)) * (rng.random((4, 1)) > 0.2)
        found = tab.evaluate("([rows, example]) => pointing(rows, example)",
                             [rows.tolist(), example])
        links = links_from_weights([rows], [pair])
        assert found["error"] == pytest.approx(alignment_error_rate(links, [pair]))
        near = near_pointing([rows], [pair])
        assert found["on"] + found["beside"] == round(found["linked"] * near)


# ---- weights moved by hand -----------------------------------------------------------------------

FORCED = """([text, t, weights]) => {
  const model = load(JSON.parse(document.getElementById("models").textContent).models[0]);
  const given = (step) => (step === t ? Float32Array.from(weights) : null);
  return model.greedy(model.read(text.split(" ")), { given }).words.join(" ");
}"""


def greedily(tab, text=SENTENCE):
    """From the most probable word at each step, so that the engine's own search can be asked."""
    tab.fill("input[type=number]", "1")
    write(tab, text)
    return translation(tab)


def test_a_weight_moved_by_key_changes_what_is_written(tab, open_page, additive):
    open_page(additive)
    before = greedily(tab)
    changed = 0
    for s in range(5):
        cell(tab, 1, s).focus()
        tab.keyboard.press("1")
        alone = np.eye(5)[s]
        np.testing.assert_allclose(weights(tab)[1], alone)
        assert translation(tab) == tab.evaluate(FORCED, [SENTENCE, 1, alone.tolist()])
        if translation(tab) != before:
            changed += 1
            assert before in tab.locator(".without").inner_text()
            assert tab.locator(".translation mark").count() >= 1
        tab.get_by_role("button", name="Undo all changes").click()
        assert translation(tab) == before
    assert changed


def test_plus_and_minus_move_it_and_the_rest_is_shared(tab, open_page, additive):
    open_page(additive)
    greedily(tab)
    row = weights(tab)[0]
    s = int(row.argmin())
    cell(tab, 0, s).focus()
    tab.keyboard.press("+")
    tab.keyboard.press("+")
    moved = weights(tab)[0]
    assert moved[s] == pytest.approx(row[s] + 0.1, abs=0.011)
    assert moved.sum() == pytest.approx(1, abs=0.03)
    tab.keyboard.press("-")
    assert weights(tab)[0][s] == pytest.approx(row[s] + 0.05, abs=0.011)
    assert tab.evaluate("document.activeElement.tagName") == "TD"
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("p")
    assert tab.locator(".pin").count() == 0
    tab.keyboard.press("P")
    assert tab.locator(".pin").count() == 1


def test_the_mouse_and_the_slider_move_it_too(tab, open_page, additive):
    open_page(additive)
    greedily(tab)
    box = cell(tab, 1, 2).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x, y - 150)
    tab.mouse.up()
    assert weights(tab)[1][2] == 1
    assert translation(tab) == tab.evaluate(FORCED, [SENTENCE, 1, [0, 0, 1, 0, 0]])
    tab.locator(".hand input[type=range]").fill("0.5")
    assert weights(tab)[1][2] == 0.5
    tab.mouse.move(x, y)
    assert weights(tab)[1][2] == 0.5


def test_after_the_word_is_known_stands_beside(tab, open_page, additive):
    open_page(additive)
    tab.get_by_label("beside it, p(s | y)").check()
    settle(tab)
    found = tab.evaluate("""(text) => {
      const model = load(JSON.parse(document.getElementById("models").textContent).models[0]);
      const memory = model.read(text.split(" "));
      return Array.from(model.posterior(memory, model.start(memory), BOS,
                                        model.beam(memory, 5).hypotheses[0].ids[0]));
    }""", "w1 w2 w3")
    np.testing.assert_allclose(weights(tab, 1)[0], found, atol=0.0051)


def test_heads_stand_side_by_side(tab, open_page, rng):
    heads = translator_of("rnnsearch", {"attention": "multi-head", "heads": 3}, rng)
    open_page(heads)
    mean = weights(tab)
    tab.get_by_label("Heads").select_option("every")
    settle(tab)
    assert tab.locator("table.heatmap").count() == 3
    np.testing.assert_allclose(np.mean([weights(tab, k) for k in range(3)], 0), mean, atol=0.011)
    cell(tab, 0, 1).focus()
    tab.keyboard.press("1")
    assert weights(tab, 0)[0][1] == 1
    assert weights(tab, 1)[0][1] < 1


# ---- word by word --------------------------------------------------------------------------------


def test_a_step_shows_its_numbers_and_the_next_one(tab, open_page, additive):
    open_page(additive)
    opened = tab.locator("details", has_text="Word by word").first
    opened.evaluate("(one) => { one.open = true; }")
    for t in range(2):
        rows = tab.locator(".equations .scores tbody tr")
        alpha = [float(rows.nth(s).locator("td").nth(2).inner_text()) for s in range(4)]
        np.testing.assert_allclose(weights(tab)[t], alpha, atol=0.0056)
        assert f"Word {t + 1} of" in tab.locator(".walk span").inner_text()
        tab.get_by_role("button", name="Next").click()
    tab.get_by_role("button", name="Back").click()
    assert tab.locator("tr.current").count() == 1
    vectors = tab.locator(".vector var").all_inner_texts()
    assert {"q", "c", "r", "z", "n"} <= set(vectors)
    tab.locator(".vector summary").first.click()
    assert len(tab.locator(".vector .numbers").first.inner_text().split()) == 7


def test_words_are_drawn_by_a_seed(tab, open_page, additive):
    open_page(additive)
    tab.get_by_label("The words are").select_option("drawn")
    settle(tab)
    found = set()
    for _ in range(4):
        tab.get_by_role("button", name="Draw anew").click()
        settle(tab)
        found.add(translation(tab))
    assert len(found) > 1


def test_a_slider_runs_over_the_training(tab, open_page, additive, rng):
    earlier = translator_of("rnnsearch", {"reset": "before", "update": "new"}, rng)
    open_page(additive, checkpoints={"step 1": dict(earlier.model.named_parameters())})
    write(tab, SENTENCE)
    for place, translator in (("0", earlier), ("1", additive)):
        tab.get_by_label("Checkpoint").fill(place)
        settle(tab)
        wanted, = translator.translate([SENTENCE.split()], beam=5)
        assert translation(tab).split() == wanted.target


# ---- language models -----------------------------------------------------------------------------


def test_a_language_model_writes_on_as_python_does(tab, open_page, rng):
    writer = writer_of("attentive-language-model", {"attention": "key-value-predict"}, rng)
    open_page(writer)
    tab.get_by_label("Temperature").fill("0")
    tab.get_by_label("Words to write").fill("6")
    write(tab, "w3 w1 w2", "#text")
    ids = [EOS, *writer.vocabulary.encode(["w3", "w1", "w2"])]
    state = None
    for n in range(9):
        log_probs, attended, state = writer.model.next(np.array([ids[n]]), state)
        if n >= 3:
            allowed = log_probs[0].copy()
            allowed[[0, 1, UNK]] = -np.inf
            ids.append(int(allowed.argmax()))
    assert tab.locator(".word.written").all_inner_texts() == [
        writer.vocabulary.token(id) for id in ids[4:]]
    there = tab.locator("table.heatmap tbody tr").nth(8).locator("td").all_inner_texts()
    seen = [float(number) for number in there if number]
    np.testing.assert_allclose(seen, writer._visible(attended[0], 9)[:8], atol=0.0051)
    tab.locator(".word").nth(2).focus()
    assert tab.locator("tr.current th").inner_text() == "w1"


def test_a_language_model_s_weights_are_moved_too(tab, open_page, rng):
    writer = writer_of("attentive-language-model", {"attention": "combined", "layers": 1}, rng)
    for _, array in writer.model.named_parameters():
        array *= 3
    open_page(writer)
    tab.get_by_label("Temperature").fill("0")
    write(tab, "w3 w1 w2", "#text")
    before = tab.locator(".word.written").all_inner_texts()
    changed = 0
    for s in range(3):
        cell(tab, 3, s).focus()
        tab.keyboard.press("1")
        wanted = tab.evaluate("""(s) => {
          const model = load(JSON.parse(document.getElementById("models").textContent).models[0]);
          const { steps, ids } = model.readText(["w3", "w1", "w2"]);
          const weights = Float32Array.from([0, 1, 2, 3], (j) => Number(j === s));
          const step = model.step(steps[2].state, ids[3], { weights });
          return model.vocabulary.token(largest(forbid(step.logP, [UNK]), 1)[0]);
        }""", s)
        found = tab.locator(".word.written").all_inner_texts()
        assert found[0] == wanted
        assert tab.locator(".pin").count() == 1
        changed += found != before
        tab.get_by_role("button", name="Undo all changes").click()
        assert tab.locator(".word.written").all_inner_texts() == before
    assert changed
    cell(tab, 3, 2).focus()
    tab.keyboard.press("1")
    tab.get_by_role("button", name="Copy a link").click()
    found, address = tab.locator(".word.written").all_inner_texts(), tab.url
    tab.goto("about:blank")
    tab.goto(address)
    assert tab.locator(".word.written").all_inner_texts() == found
    assert tab.locator(".pin").count() == 1


def test_a_language_model_without_attention_says_so(tab, open_page, rng):
    open_page(writer_of("language-model", {"layers": 1}, rng))
    write(tab, "w3 w1", "#text")
    assert "no attention" in tab.locator(".reading").first.inner_text()
    assert tab.locator(".word.written").count() == 20


# ---- every kind of model -------------------------------------------------------------------------

KINDS = {
    "translators": (translator_of, {
        "encoder-decoder": {}, "transformer": {"layers": 1, "heads": 2},
        "luong": {"attention": "general", "window": "local-p", "width": 2, "layers": 2},
        "rnnsearch": {"layers": 2, "attention": "multi-head", "heads": 3}}),
    "language models": (writer_of, {
        "language-model": {"layers": 2, "cell": "gru"},
        "attentive-language-model": {"attention": "key-value", "window": 3, "cell": "gru"}}),
}


@pytest.mark.parametrize("build, kinds", KINDS.values(), ids=KINDS)
def test_every_kind_is_drawn_and_told_in_equations(tab, open_page, rng, build, kinds):
    open_page(*(build(name, settings, rng) for name, settings in kinds.items()))
    expanded(tab)
    assert tab.locator(".problem:not(:empty)").count() == 0
    for model in tab.locator(".model").all():
        assert model.locator(".equation").count() > 4
        assert model.locator(".strip").count() > 1
        assert model.locator(".scores .chosen").count() == 1


SAYS = [
    (translator_of, "rnnsearch", {"reset": "before", "update": "new"},
     ["n = tanh(x Wn + bn' + (r ∘ ht−1) Un)", "ht = z ∘ n + (1 − z) ∘ ht−1"], ["x ←"]),
    (translator_of, "rnnsearch", {"reset": "after", "update": "old", "layers": 2},
     ["n = tanh(x Wn + bn' + r ∘ (ht−1 Un + bn))", "ht = (1 − z) ∘ n + z ∘ ht−1", "x ← h1t"], []),
    (translator_of, "encoder-decoder", {}, ["c = hS"], ["exp(", "ej"]),
    (translator_of, "luong", {"layers": 1, "attention": "scaled-dot", "bidirectional": True},
     ["ej = q · hj / √D", "h̃t = tanh(c C + ht W)", "αj = exp(ej) / Σk exp(ek)"], ["x ←"]),
    (translator_of, "luong", {"layers": 1, "window": "local-p", "width": 2, "bias": True},
     ["gj = exp(−(j − p)² / 2σ²),  σ = 1", "αj = aj gj", "|k − p| ≤ 2", "ht W + b)"],
     ["αj = exp("]),
    (translator_of, "transformer", {"layers": 2, "heads": 2, "pre_norm": True},
     ["x ← v1t", "q = N(z)", "v = N(z' + FFN(N(z')))"], []),
    (writer_of, "attentive-language-model", {"attention": "key-value", "window": 3},
     ["t − 3 ≤ i, j < t", "yt = tanh(Wx p + Wr r + b)"], []),
    (writer_of, "attentive-language-model", {"attention": "ngram", "activation": "linear"},
     ["u = [h1t; h2t−1; h3t−2]", "yt = u W"], ["tanh(u", "exp("]),
]


@pytest.mark.parametrize("build, name, settings, said, never", SAYS)
def test_equations_are_those_of_the_settings(tab, open_page, rng, build, name, settings, said,
                                             never):
    open_page(build(name, settings, rng))
    expanded(tab)
    lines = tab.locator(".equation").all_text_contents()
    for part in said:
        assert any(part in line for line in lines), (part, lines)
    for part in [*never, "undefined", "null"]:
        assert not any(part in line for line in lines), (part, lines)


# ---- the address ---------------------------------------------------------------------------------


def test_a_link_brings_everything_back(tab, open_page, additive):
    path = open_page(additive)
    greedily(tab)
    tab.get_by_label("beside it, p(s | y)").check()
    cell(tab, 1, 3).focus()
    tab.keyboard.press("1")
    tab.get_by_role("button", name="Copy a link").click()
    said, address = translation(tab), tab.url
    tab.goto("about:blank")
    tab.goto(address)
    assert address.startswith(f"file://{path}#")
    assert tab.input_value("#source") == SENTENCE
    assert translation(tab) == said
    assert weights(tab)[1][3] == 1
    assert tab.locator("table.heatmap").count() == 2


def test_a_hostile_fragment_is_as_none(tab, open_page, additive):
    path = open_page(additive)
    for fragment in FRAGMENTS:
        tab.goto("about:blank")
        tab.goto(f"file://{path}{fragment}")
        assert translation(tab)
        assert tab.locator("#live script, #live img").count() == 0
        assert tab.locator(".pin").count() == 0


# ---- words that would be markup ------------------------------------------------------------------


@pytest.fixture
def hostile(rng):
    pair = Pair(tuple(HOSTILE), tuple(HOSTILE), {(k, k) for k in range(len(HOSTILE))})
    # which no vocabulary holds
    known = tuple(word for word in HOSTILE if "\x00" not in word)
    small = {"hidden": 12, "embedding": 7, "reset": "before", "update": "new"}
    return pair, Translator.create([Pair(known, known)], "rnnsearch", small, TranslatorTraining())


def test_a_word_never_becomes_markup(tab, open_page, hostile):
    pair, translator = hostile
    open_page(translator, examples=[pair])
    tab.get_by_role("button", name="Show its gold links").click()
    for one in tab.locator("details").all():
        one.evaluate("(one) => { one.open = true; }")
    settle(tab)
    made = tab.evaluate("[...document.querySelectorAll('#live *')].map((one) => one.localName)")
    assert not {"script", "img", "iframe", "style", "link", "object"} & set(made)
    assert tab.locator("script").count() == 3
    heads = tab.locator("table.heatmap thead th").all_text_contents()
    assert heads[:3] == HOSTILE[:3]
    assert heads[4] == "a\ufffdb"
    assert heads[6] == "a␀b"
    assert tab.locator("table.heatmap thead th bdi").count() == len(HOSTILE) + 1


def kept(tab, name):
    """The bytes of the file that a button gives."""
    with tab.expect_download() as waiting:
        tab.get_by_role("button", name=name, exact=True).click()
    return open(waiting.value.path(), "rb").read()


def test_files_are_well_formed(tab, open_page, hostile):
    pair, translator = hostile
    open_page(translator, examples=[pair])
    tab.get_by_role("button", name="Show its gold links").click()
    rows = len(HOSTILE) + 1
    svg = ElementTree.fromstring(kept(tab, "SVG"))
    texts = [one.text.strip("\u2068\u2069") for one in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert HOSTILE[0] in texts
    lines = list(csv.reader(io.StringIO(kept(tab, "CSV").decode("utf-8"), newline="")))
    assert lines[0] == ["t", "written", "s", "read", "weight"]
    assert len(lines) == 1 + rows * rows
    assert [line[3] for line in lines[1:rows]] == HOSTILE
    first = sum(float(line[4]) for line in lines[1:rows + 1])
    assert first == pytest.approx(1, abs=1e-4)
    png = kept(tab, "PNG")
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (2 * int(svg.get("width")), 2 * int(svg.get("height")))


# ---- everybody -----------------------------------------------------------------------------------


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


def expanded(tab):
    for one in tab.locator(".within > details").all():
        one.evaluate("(one) => { one.open = true; }")
    settle(tab)


def test_a_phone_needs_no_sideways_scrolling(tab, open_page, additive, rng):
    tab.set_viewport_size({"width": 390, "height": 844})
    writer = writer_of("attentive-language-model", {"attention": "combined"}, rng)
    for models in ([additive, additive], [writer]):
        open_page(*models)
        expanded(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390


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
def test_text_is_told_from_its_ground(tab, open_page, additive, rng, scheme):
    tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    writer = writer_of("attentive-language-model", {"attention": "combined"}, rng)
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
    tab.get_by_role("button", name="English").click()
    assert tab.get_by_label("Write a sentence").is_visible()
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


def view():
    return "\n".join(path.read_text("utf-8") for path in sorted((ROOM / "view").glob("*.js")))


def test_lines_of_the_view_are_as_short_as_python_s():
    assert not [line for line in view().splitlines() if len(line) > 100]


def test_every_text_is_said_and_no_other(tab, open_page, additive):
    open_page(additive)
    texts = set(tab.evaluate("Object.keys(TEXTS)"))
    scripts = view()
    assert texts <= set(re.findall(r"\"(\w+)\"", scripts))
    assert set(re.findall(r"say(?:With)?\(\"(\w+)\"", scripts)) <= texts


def test_the_view_reads_no_markup():
    scripts = view()
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                 "fetch(", "XMLHttpRequest", "DOMParser"):
        assert word not in scripts
