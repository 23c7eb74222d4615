"""Words cut into pieces by the page's own JavaScript, against sentencepiece."""

import numpy as np
import pytest
from page_models import asked, numbers

from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.metrics import alignment_error_rate, links_from_weights, near_pointing

pytest.importorskip("sentencepiece", reason="subwords need sentencepiece")

# spaces, marks and characters of every length, and what looks like a piece's own mark
STRANGE = ["a▁b", "▁a", "a▁", "▁", "a b", " ", "a\tb", "a\u2028b", "a\x00b", "</s>", "☃☃x", "☃▁☃",
           "e\u0301é", "שלום", "😀a", "ﬁn", "İ", "the", "unbelievable"]
CLOSE = 1e-4
# the model of the page that is open
MODEL = 'load(JSON.parse(document.getElementById("models").textContent).models[0])'


@pytest.fixture(scope="module")
def clauses():
    return load_parallel("bible-en-es", "test", part="clauses")


@pytest.fixture
def translator(clauses, rng):
    training = TranslatorTraining(subwords=160)
    small = {"hidden": 12, "embedding": 7}
    trained = Translator.create(clauses[:300], "rnnsearch", small, training)
    for _, array in trained.model.named_parameters():
        array[...] = rng.normal(0, 0.6, array.shape)
    return trained


def test_words_are_cut_as_sentencepiece_cuts_them(tab, translator, clauses):
    known = sorted({word for pair in clauses for word in pair.source})
    words = [*STRANGE, *known, *(one + other for one, other in zip(known, known[7:]))]
    vocabulary = translator.source_vocabulary
    found = asked(tab, translator, "(model, words) => words.map((word) => "
                  "[model.sourceVocabulary.encode([word]), model.sourceVocabulary.shown([word])])",
                  words)
    assert len(words) > 500
    for word, (ids, texts) in zip(words, found):
        assert ids == vocabulary.encode([word]), word
        assert texts == [vocabulary.token(id) for id in ids]


def test_places_and_words_of_ids_are_pythons(tab, translator, rng):
    vocabulary = translator.target_vocabulary
    rows = [rng.integers(0, len(vocabulary), 9).tolist() for _ in range(300)]
    blank = vocabulary.encode(["☃"])
    rows += [[], blank, [*blank, *blank], vocabulary.encode(["a", "☃", "b"])]
    words = ["the", "unseen", "☃"]
    found, places = asked(tab, translator, """(model, [rows, words]) => [
      rows.map((ids) => model.targetVocabulary.read(ids)),
      model.targetVocabulary.places(words)]""", [rows, words])
    for ids, one in zip(rows, found):
        assert (one["words"], one["places"]) == vocabulary.read(ids)
    assert places == vocabulary.places(words)


@pytest.mark.parametrize("size", [1, 5])
def test_two_hundred_sentences_are_translated_alike(tab, open_page, translator, clauses, size):
    sentences = [list(pair.source) for pair in clauses[:200]]
    open_page(translator)
    found = tab.evaluate(f"""([sentences, size]) => {{
      const model = {MODEL};
      return sentences.map((words) => {{
        const memory = model.read(words);
        const best = size === 1 ? model.greedy(memory) : model.beam(memory, size).hypotheses[0];
        const weights = best.steps.map((step) => weightsOf(step));
        const rows = inWords(weights, memory.places, best.places);
        return {{ words: best.words, rows: rows.map((row) => Array.from(row)) }};
      }});
    }}""", [sentences, size])
    for one, other in zip(found, translator.translate(sentences, beam=size), strict=True):
        assert one["words"] == other.target
        np.testing.assert_allclose(numbers(one["rows"]), other.weights, atol=CLOSE)


def test_gold_links_of_words_stand_at_all_their_pieces(tab, open_page, translator, clauses):
    pair = next(one for one in clauses if len(one.sure) > 3)
    open_page(translator)
    example = {"source": pair.source, "target": pair.target, "sure": sorted(pair.sure),
               "possible": sorted(pair.possible)}
    found = tab.evaluate(f"""(example) => {{
      const model = {MODEL};
      const memory = model.read(example.source);
      const {{ steps, places }} = model.force(memory, example.target);
      const rows = inWords(steps.map((step) => weightsOf(step)), memory.places, places);
      return {{ links: [...linkSet(example.sure, memory.places, places)],
                ...pointing(rows, example) }};
    }}""", example)
    columns = translator.source_vocabulary.places(pair.source)
    rows = translator.target_vocabulary.places(pair.target)
    links = {f"{s} {t}" for s, i in enumerate(columns) for t, j in enumerate(rows)
             if (i, j) in pair.sure}
    assert set(found["links"]) == links and len(links) > len(pair.sure)
    attended = translator.attend([pair])
    error = alignment_error_rate(links_from_weights(attended, [pair]), [pair])
    assert found["error"] == pytest.approx(error)
    near = near_pointing(attended, [pair])
    assert (found["on"] + found["adjacent"]) / found["linked"] == pytest.approx(near)


def test_a_reader_sees_pieces_and_words(tab, open_page, translator, clauses):
    pair = next(one for one in clauses if len(one.sure) > 3)
    open_page(translator, examples=[pair])
    tab.get_by_role("button", name="Show its gold links").click()
    heads = tab.locator("table.heatmap").first.locator("thead th bdi").all_text_contents()
    assert heads == [translator.source_vocabulary.token(id)
                     for id in translator.source_vocabulary.encode(pair.source)] + ["</s>"]
    assert tab.locator(".translation").inner_text().split() == list(pair.target)
    assert tab.locator("td.sure").count() > len(pair.sure)
