"""What a reader sees of the page, and does with it: in a real browser, with small models."""

import re

import numpy as np
import pytest
from custom_files import PAST, scaled, written
from page_models import WORDS, translator_of, writer_of
from page_tab import (
    EXAMPLES,
    SENTENCE,
    cell,
    expanded,
    greedily,
    settle,
    translation,
    weights,
    write,
)

from numpy_attention.custom.kinds import custom_class
from numpy_attention.data.vocabulary import EOS, UNK
from numpy_attention.metrics import alignment_error_rate, links_from_weights, near_pointing
from numpy_attention.page.write import HERE

FRAGMENTS = ["#source=%E0%A4%A", "#beam=1e9&head=-1&step=x&seed=NaN",
             "#source=<script>alert(1)</script>", "#moved=0.0.0:1,1,1;;x.y.z;0.-1.0:;9.9.9:NaN",
             "#shown=constructor&language=__proto__", "#temperature=&length=1e-9&checkpoint=7",
             "#" + "moved=0.0.0:" * 3000, "#%00=%00&&&===", "#head=every&after=true&shown=corpus"]


# ---- a translator --------------------------------------------------------------------------------


def test_typing_translates_as_python_does(tab, open_page, additive, seeded):
    luong = translator_of("luong", {"layers": 1}, seeded)
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


def test_the_corpus_s_own_sentence_has_its_gold_links(tab, open_page, additive):
    open_page(additive)
    tab.get_by_label("or pick one from the corpus").select_option("w1 w2 w3")
    tab.get_by_role("button", name="Show its gold links").click()
    assert translation(tab) == "w4 w5 w6"
    assert tab.locator("td.sure").count() == 2
    assert tab.locator("td.possible").count() == 1
    pair = EXAMPLES[0]
    attended = additive.attend([pair])
    error = alignment_error_rate(links_from_weights(attended, [pair]), [pair])
    near = near_pointing(attended, [pair])
    text = tab.locator(".figures").inner_text()
    assert f"Alignment error rate: {error:.2f}" in text
    numbers = [int(word) for word in text.replace(",", " ").split() if word.isdigit()]
    on, linked, near_by = numbers
    assert (linked, on + near_by) == (2, round(2 * near))


def test_pointing_is_measured_as_in_python(tab, open_page, additive, seeded):
    open_page(additive)
    pair = EXAMPLES[0]
    example = {"source": pair.source, "target": pair.target, "sure": sorted(pair.sure),
               "possible": sorted(pair.possible)}
    for _ in range(20):
        rows = seeded.random((4, 4)) * (seeded.random((4, 1)) > 0.2)
        found = tab.evaluate("([rows, example]) => pointing(rows, example)",
                             [rows.tolist(), example])
        links = links_from_weights([rows], [pair])
        assert found["error"] == pytest.approx(alignment_error_rate(links, [pair]))
        near = near_pointing([rows], [pair])
        assert found["on"] + found["adjacent"] == round(found["linked"] * near)


# ---- what it says first --------------------------------------------------------------------------

LEARNED = {"name": "toy", "languages": "English → Spanish", "description": "random words",
           "sentences": 1200, "longest": 3}


def test_the_page_introduces_itself_and_has_three_things_to_try(tab, open_page, additive):
    open_page(additive, learned=LEARNED)
    assert tab.locator("h1").inner_text() == "English → Spanish: inside a small translator"
    assert tab.locator(".learned").inner_text() == (
        "Trained on: random words (toy) · 1,200 sentences · at most 3 words each")
    things = tab.locator(".intro button")
    assert things.count() == 3
    things.nth(0).click()
    assert tab.evaluate("document.activeElement.id") == "source"
    before = translation(tab)
    things.nth(1).click()
    assert translation(tab) != before and tab.locator(".translation mark").count() >= 1
    things.nth(2).click()
    settle(tab)
    assert tab.locator(".hypotheses").is_visible()
    tab.get_by_role("button", name="Español").click()
    assert tab.locator("h1").inner_text() == "Inglés → español: un pequeño traductor por dentro"


def test_a_language_model_introduces_itself(tab, open_page, seeded):
    writer = writer_of("attentive-language-model", {"attention": "combined"}, seeded)
    open_page(writer, learned={"name": "novel", "languages": None})
    assert tab.locator("h1").inner_text() == "Inside a small language model"
    assert tab.locator(".learned").inner_text() == "Trained on: novel"
    tab.locator(".intro button").nth(1).click()
    assert 1 in weights(tab)
    before = tab.locator(".word.written").all_inner_texts()
    tab.locator(".intro button").nth(2).click()
    settle(tab)
    assert tab.locator(".word.written").all_inner_texts() != before


def test_unknown_and_too_many_words_are_a_warning(tab, open_page, additive, seeded):
    open_page(additive, learned=LEARNED)
    assert not tab.locator(".warning").first.is_visible()
    write(tab, "cat w1 dog w2")
    said = tab.locator(".warning").first.inner_text()
    assert "Not in the model's vocabulary" in said and "cat, dog (2 of 4 words)" in said
    assert "This sentence has 4 words, but the model was trained on at most 3." in said
    assert tab.locator("thead .unknown").all_inner_texts() == ["cat", "dog"]
    write(tab, "w1 w2")
    assert not tab.locator(".warning").first.is_visible()
    open_page(writer_of("attentive-language-model", {"attention": "combined"}, seeded))
    write(tab, "w1 cat", "#text")
    assert "1 of 2 words" in tab.locator(".warning").first.inner_text()
    assert tab.locator(".word .unknown").all_inner_texts() == ["cat"]


def test_what_comes_next_stands_below_weights_that_stay_in_view(tab, open_page, additive):
    tab.set_viewport_size({"width": 1280, "height": 900})
    open_page(additive)
    expanded(tab)
    table, bars = (tab.locator(one).bounding_box() for one in ("table.heatmap", ".likely"))
    assert bars["y"] > table["y"] + table["height"] and bars["x"] < 640
    tab.evaluate("document.querySelector('.live').scrollIntoView({ block: 'end' })")
    assert tab.locator("table.heatmap").bounding_box()["y"] >= 0
    before = tab.locator(".likely").inner_text()
    cell(tab, 0, 2).focus()
    tab.keyboard.press("1")
    assert tab.locator(".likely").inner_text() != before


# ---- weights moved by hand -----------------------------------------------------------------------

FORCED = """([text, t, weights]) => {
  const model = load(JSON.parse(document.getElementById("models").textContent).models[0]);
  const given = (step) => (step === t ? Float32Array.from(weights) : null);
  return model.greedy(model.read(text.split(" ")), { given }).words.join(" ");
}"""


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


def test_without_a_change_is_what_was_on_screen(tab, open_page, additive):
    open_page(additive)
    tab.fill("input[type=number]", "5")
    write(tab, SENTENCE)
    before = translation(tab)
    expanded(tab)
    searched = tab.get_by_text("The search does not know your change.")
    assert not searched.is_visible()
    cell(tab, 0, 1).focus()
    tab.keyboard.press("1")
    said = tab.locator(".without").inner_text().split("\n")
    assert said[0] == f"Without your change: {before}" and searched.is_visible()
    kept = [line for line in said[1:] if line.startswith("The same, with the most probable word")]
    assert (len(kept) == 1) == (greedily(tab) != before)


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
    tab.get_by_label("also show attention after").check()
    settle(tab)
    found = tab.evaluate("""(text) => {
      const model = load(JSON.parse(document.getElementById("models").textContent).models[0]);
      const memory = model.read(text.split(" "));
      return Array.from(model.posterior(memory, model.start(memory), BOS,
                                        model.beam(memory, 5).hypotheses[0].ids[0]));
    }""", "w1 w2 w3")
    np.testing.assert_allclose(weights(tab, 1)[0], found, atol=0.0051)


def test_heads_stand_side_by_side(tab, open_page, seeded):
    heads = translator_of("rnnsearch", {"attention": "multi-head", "heads": 3}, seeded)
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
    assert "set by hand" not in tab.locator(".equations").inner_text()
    cell(tab, 1, 0).focus()
    tab.keyboard.press("1")
    assert "set by hand" in tab.locator(".equations .scores thead").inner_text()
    assert tab.locator(".scores .replaced").count() == 4
    cell(tab, 0, 0).focus()
    assert "set by hand" not in tab.locator(".equations").inner_text()
    vectors = tab.locator(".vector var").all_inner_texts()
    assert {"q", "c", "r", "z", "n"} <= set(vectors)
    tab.locator(".vector summary").first.click()
    assert len(tab.locator(".vector .numbers").first.inner_text().split()) == 7


def test_words_are_drawn_by_a_seed(tab, open_page, additive):
    open_page(additive)
    tab.get_by_label(re.compile("^Show")).select_option("drawn")
    settle(tab)
    found = set()
    for _ in range(4):
        tab.get_by_role("button", name="Resample").click()
        settle(tab)
        found.add(translation(tab))
    assert len(found) > 1


def test_a_slider_runs_over_the_training(tab, open_page, additive, seeded):
    earlier = translator_of("rnnsearch", {"reset": "before", "update": "new"}, seeded)
    open_page(additive, checkpoints={"step 1": dict(earlier.model.named_parameters())})
    write(tab, SENTENCE)
    for place, translator in (("0", earlier), ("1", additive)):
        tab.get_by_label("Checkpoint").fill(place)
        settle(tab)
        wanted, = translator.translate([SENTENCE.split()], beam=5)
        assert translation(tab).split() == wanted.target


# ---- language models -----------------------------------------------------------------------------


def test_a_language_model_writes_on_as_python_does(tab, open_page, seeded):
    writer = writer_of("attentive-language-model", {"attention": "key-value-predict"}, seeded)
    open_page(writer)
    tab.get_by_label("Temperature").fill("0")
    tab.get_by_label("Words to add").fill("6")
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


def test_a_language_model_s_weights_are_moved_too(tab, open_page, seeded):
    writer = writer_of("attentive-language-model", {"attention": "combined", "layers": 1}, seeded)
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


def test_a_language_model_without_attention_says_so(tab, open_page, seeded):
    open_page(writer_of("language-model", {"layers": 1}, seeded))
    write(tab, "w3 w1", "#text")
    assert "no attention" in tab.locator(".reading").first.inner_text()
    assert "Colours" not in tab.locator(".model").inner_text()
    assert "table" not in tab.locator(".intro").inner_text()
    assert tab.locator(".intro button").count() == 2
    assert tab.locator(".word.written").count() == 20


def test_characters_of_an_example_have_no_spaces_between_them(tab, open_page, seeded):
    writer = writer_of("language-model", {"layers": 1}, seeded)
    writer.training.unit = "characters"
    open_page(writer, examples=[[*"in the end"]])
    assert tab.locator("#text").input_value() == "in the"
    tab.get_by_label("or pick one from the corpus").select_option("in the end")
    assert tab.locator("#text").input_value() == "in the end"


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
def test_every_kind_is_drawn_with_its_equations(tab, open_page, seeded, build, kinds):
    open_page(*(build(name, settings, seeded) for name, settings in kinds.items()))
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


@pytest.mark.parametrize("build, name, settings, expected, never", SAYS)
def test_equations_are_those_of_the_settings(tab, open_page, seeded, build, name, settings,
                                             expected, never):
    open_page(build(name, settings, seeded))
    expanded(tab)
    lines = tab.locator(".equation").all_text_contents()
    for part in expected:
        assert any(part in line for line in lines), (part, lines)
    for part in [*never, "undefined", "null"]:
        assert not any(part in line for line in lines), (part, lines)


def test_a_user_defined_attention_is_recorded(tab, open_page, additive, tmp_path):
    kind = custom_class(str(written(tmp_path)))
    own = translator_of("rnnsearch", {"attention": kind}, np.random.default_rng(0))
    open_page(own)
    assert "user-defined Python code (mine.py:Mine), which a page cannot run" in (
        tab.locator(".model .warning").inner_text())
    found, = own.translate([EXAMPLES[0].source])
    assert translation(tab).split() == found.target
    np.testing.assert_allclose(weights(tab), found.weights, atol=0.0051)
    cell(tab, 0, 1).focus()
    tab.keyboard.press("1")
    np.testing.assert_allclose(weights(tab), found.weights, atol=0.0051)
    tab.get_by_label(re.compile("^Show")).select_option("corpus")
    settle(tab)
    np.testing.assert_allclose(weights(tab), own.attend([EXAMPLES[0]])[0], atol=0.0051)
    assert tab.locator("td.sure").count() == 2
    # there is nothing to type or search for
    assert tab.locator("#source, input[type=number], input[type=checkbox]").count() == 0
    examples = tab.get_by_label("Pick an example")
    assert examples.input_value() == "w1 w2 w3"
    examples.select_option("w7 w8")
    assert tab.locator(".reference").inner_text() == "Reference: w9 w1 w2"
    open_page(own, additive)
    write(tab, "w1 w5")
    assert "This sentence was not recorded" in tab.locator(".problem").first.inner_text()
    past = custom_class(str(written(tmp_path, PAST, "past.py")))
    reader = writer_of("attentive-language-model", {"attention": past}, np.random.default_rng(0))
    open_page(reader)
    there = tab.locator("table.heatmap tbody tr").nth(3).locator("td").all_inner_texts()
    np.testing.assert_allclose([float(one) for one in there if one],
                               reader.attend(WORDS[:4])[3, :3], atol=0.0051)


SCRIPT = """
class Mine extends SoftmaxAttention {
  score(query, memory) {
    return dotScores(product(query.map((q) => q * this.beta[0]), this.W), memory.values);
  }
}
Object.assign(KINDS, { Mine });
"""


def test_a_user_defined_attention_runs_with_a_script(tab, open_page, tmp_path):
    kind = custom_class(str(written(tmp_path, scaled("np.array(0.5, dtype)"))))
    own = translator_of("rnnsearch", {"attention": kind}, np.random.default_rng(0))
    open_page(own, script=SCRIPT)
    assert not tab.locator(".warning").first.is_visible()
    write(tab, SENTENCE)
    wanted, = own.translate([SENTENCE.split()], beam=5)
    assert translation(tab).split() == wanted.target
    np.testing.assert_allclose(weights(tab), wanted.weights, atol=0.0051)
    cell(tab, 0, 1).focus()
    tab.keyboard.press("1")
    assert weights(tab)[0][1] == 1
    open_page(own, script=SCRIPT.replace("(q) => q", "(q) => -9 * q"))
    assert "compute different weights" in (
        tab.locator(".warning").first.inner_text())


@pytest.mark.parametrize("script, message", [
    ("Object.assign(KINDS, { Other });", "of class Mine, which a page cannot run"),
    ("Object.assign(KINDS, { Mine, GRU });", "defines GRU, which the page already has")])
def test_a_script_that_does_not_fit_is_an_error(open_page, tmp_path, script, message):
    own = translator_of("rnnsearch", {"attention": custom_class(str(written(tmp_path)))},
                        np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        open_page(own, script=script)


def test_a_script_that_cannot_run_is_named(browser, open_page, additive):
    path = open_page(additive)
    broken = path.with_name("broken.html")
    text = path.read_text("utf-8")
    broken.write_text(text.replace("</body>", "<script>const = 3;</script></body>"), "utf-8")
    other = browser.new_page()              # an error in `tab` would fail the test
    other.goto(f"file://{broken}")
    assert "A script of this page failed: Uncaught SyntaxError" in (
        other.locator("#broken").inner_text())
    other.close()


def test_in_a_frame_the_model_comes_before_the_introduction(tab, open_page, additive):
    path = open_page(additive)
    assert tab.locator(".intro ~ .models").count() == 1
    outside = path.with_name("outside.html")
    outside.write_text('<iframe src="page.html"></iframe>', encoding="utf-8")
    tab.goto(f"file://{outside}")
    assert tab.frame_locator("iframe").locator(".models ~ .intro").count() == 1
    inside = tab.frames[1]
    for theme, scheme in (("dark", "dark"), ("light", "light"), ("auto", "light dark")):
        tab.evaluate("(theme) => frames[0].postMessage({ theme }, '*')", theme)
        inside.wait_for_function(
            "(scheme) => getComputedStyle(document.documentElement).colorScheme === scheme",
            arg=scheme)


# ---- the address ---------------------------------------------------------------------------------


def test_a_link_brings_everything_back(tab, open_page, additive):
    path = open_page(additive)
    greedily(tab)
    tab.get_by_label("also show attention after").check()
    cell(tab, 1, 3).focus()
    tab.keyboard.press("1")
    tab.get_by_role("button", name="Copy a link").click()
    text, address = translation(tab), tab.url
    tab.goto("about:blank")
    tab.goto(address)
    assert address.startswith(f"file://{path}#")
    assert tab.input_value("#source") == SENTENCE
    assert translation(tab) == text
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


# ---- the scripts as text -------------------------------------------------------------------------


def view():
    return "\n".join(path.read_text("utf-8") for path in sorted((HERE / "view").glob("*.js")))


def test_every_text_is_used_and_no_other(tab, open_page, additive):
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
