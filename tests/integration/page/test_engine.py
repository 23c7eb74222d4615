"""The page's own JavaScript, run in a real browser, against the Python forward passes.

Of every kind of model: random weights, 200 sentences, the same tokens, and weights within 1e-4.
"""

from pathlib import Path

import numpy as np
import pytest
from alignment import posterior
from page_models import (
    SENTENCES,
    WORDS,
    array_of,
    asked,
    numbers,
    randomly,
    sentences_of,
    translator_of,
    writer_of,
)

from numpy_attention.data.batching import pair_batch
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.pairs import Pair
from numpy_attention.data.text_form import TextForm
from numpy_attention.data.vocabulary import EOS
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.page.export import kept_array

CLOSE = 1e-4

RNNSEARCH = {
    "as the paper": {"readout": "previous", "reset": "before", "update": "new"},
    "two layers": {"layers": 2, "readout": "current", "reset": "after", "update": "old"},
    "one direction, general": {"bidirectional": False, "reset": "before", "update": "old",
                               "attention": "general"},
    "scaled-dot, local-m": {"reset": "after", "update": "new", "attention": "scaled-dot",
                            "window": "local-m", "width": 1},
    "multi-head": {"layers": 2, "bidirectional": False, "attention": "multi-head", "heads": 3},
    "location": {"attention": "location", "longest": 7, "maxout": 5},
    "dot": {"bidirectional": False, "attention": "dot"},
    "local-p": {"window": "local-p", "width": 2, "readout": "current", "alignment": 5},
}
FIXED = {
    "one direction": {},
    "two directions, two layers": {"bidirectional": True, "layers": 2, "reset": "after"},
}
LUONG = {
    "dot": {"layers": 2},
    "general": {"attention": "general", "cell": "gru", "layers": 1, "bias": True},
    "concat": {"attention": "concat", "cell": "rnn", "layers": 2, "bidirectional": True},
    "location": {"attention": "location", "longest": 7, "layers": 1, "input_feeding": False},
    "scaled-dot": {"attention": "scaled-dot", "layers": 1, "query": "previous"},
    "multi-head": {"attention": "multi-head", "heads": 2, "layers": 2, "bidirectional": True},
    "dot, local-m": {"window": "local-m", "width": 1, "layers": 1, "query": "previous"},
    "general, local-p": {"attention": "general", "window": "local-p", "width": 2, "layers": 1},
    "concat, local-p": {"attention": "concat", "window": "local-p", "width": 1, "layers": 1,
                        "cell": "gru", "input_feeding": False},
    "multi-head, local-m": {"attention": "multi-head", "heads": 4, "window": "local-m",
                            "width": 2, "layers": 1, "bias": True},
}
TRANSFORMER = {
    "post-norm": {"layers": 2, "heads": 3, "inner": 10},
    "pre-norm, untied": {"layers": 1, "heads": 2, "pre_norm": True, "tied": False},
}
OF_NAMES = {"rnnsearch": RNNSEARCH, "encoder-decoder": FIXED, "luong": LUONG,
            "transformer": TRANSFORMER}
# sources read from their end
REVERSED = {
    "encoder-decoder": {"readout": "current"},
    "luong": {"layers": 1, "window": "local-m", "width": 1, "backwards": True},
}
TRANSLATORS = [
    *(pytest.param(name, settings, False, id=f"{name} {about}")
      for name, kinds in OF_NAMES.items() for about, settings in kinds.items()),
    *(pytest.param(name, settings, True, id=f"{name} reversed")
      for name, settings in REVERSED.items()),
]

SEARCH = """(model, [sentences, sizes]) => sizes.map((size) => sentences.map((words) => {
  const memory = model.read(words);
  const found = size === 1 ? model.greedy(memory) : model.beam(memory, size).hypotheses[0];
  const mean = (step) => Array.from(step.weights[0].keys(), (s) => (
    step.weights.reduce((total, head) => total + head[s], 0) / step.weights.length));
  return { words: found.words, logP: found.logP, weights: found.steps.map(mean) };
}))"""


def check_alike(found, wanted):
    """The same words with the same log p, and weights within 1e-4."""
    assert [one["words"] for one in found] == [other.target for other in wanted]
    for one, other in zip(found, wanted):
        assert one["logP"] == pytest.approx(other.log_probability, rel=CLOSE, abs=CLOSE)
        np.testing.assert_allclose(one["weights"], other.weights, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("name, settings, backwards", TRANSLATORS)
def test_a_translator_translates_as_in_python(tab, rng, name, settings, backwards):
    translator = translator_of(name, settings, rng, reverse_source=backwards)
    sentences = sentences_of(rng)
    greedy, beam = asked(tab, translator, SEARCH, [sentences, [1, 5]])
    check_alike(greedy, translator.translate(sentences, 1))
    check_alike(beam, translator.translate(sentences, 5))


WRITERS = {
    "plain": ("language-model", {"layers": 2}),
    "plain, gru, tied": ("language-model", {"layers": 1, "cell": "gru", "tied": True}),
    "plain, rnn": ("language-model", {"layers": 2, "cell": "rnn", "embedding": 5}),
    "single": ("attentive-language-model", {"attention": "single"}),
    "combined": ("attentive-language-model", {"attention": "combined", "layers": 1}),
    "combined, window, linear": ("attentive-language-model", {
        "attention": "combined", "window": 3, "carried": 6, "activation": "linear",
        "cell": "rnn"}),
    "attention": ("attentive-language-model", {"attention": "attention", "tied": False,
                                               "carried": 7, "embedding": 5, "layers": 1}),
    "key-value": ("attentive-language-model", {"attention": "key-value", "window": 5}),
    "key-value-predict": ("attentive-language-model", {
        "attention": "key-value-predict", "window": 4, "carried": 4, "cell": "gru"}),
    "4-gram": ("attentive-language-model", {"attention": "ngram", "layers": 1}),
    "2-gram": ("attentive-language-model", {"attention": "ngram", "order": 2, "tied": False}),
    "projection": ("attentive-language-model", {"attention": "projection", "layers": 1}),
}

READ = """(model, sentences) => sentences.map((words) => {
  const { steps } = model.readText(words);
  return { logP: steps.map((step) => Array.from(step.logP)),
           weights: model.attends ? steps.map((step) => Array.from(step.weights[0])) : null };
})"""


@pytest.mark.parametrize("name, settings", WRITERS.values(), ids=WRITERS)
def test_a_language_model_reads_as_in_python(tab, rng, name, settings):
    writer = writer_of(name, settings, rng)
    sentences = [[str(word) for word in rng.choice([*WORDS, "?"], 9)] for _ in range(SENTENCES)]
    found = asked(tab, writer, READ, sentences)
    ids = np.array([[EOS, *writer.vocabulary.encode(words)] for words in sentences]).T  # (10, 200)
    state = None
    for t, tokens in enumerate(ids):
        log_probs, weights, state = writer.model.next(tokens, state)
        there = np.array([one["logP"][t] for one in found])
        np.testing.assert_allclose(there, log_probs, rtol=0, atol=CLOSE)
        if weights is not None:
            wanted = [writer._visible(row, t + 1) for row in weights]
            np.testing.assert_allclose(numbers([one["weights"][t] for one in found]), wanted,
                                       rtol=0, atol=CLOSE)
    assert (found[0]["weights"] is None) == (not hasattr(writer.model, "reader")
                                             or not hasattr(writer.model.reader, "attention"))


# ---- what the view asks besides -----------------------------------------------------------------


STEP = """(model, [words, override, word]) => {
  const memory = model.read(words);
  const state = model.start(memory);
  const step = model.step(memory, state, BOS, override === null ? {} : { weights: override });
  const plain = (list) => list.map((head) => Array.from(head));
  return { weights: plain(step.weights), scores: plain(step.scores), tokens: memory.tokens,
           context: Array.from(step.context), logP: Array.from(step.logP),
           names: Object.keys(step.values), unknown: memory.unknown,
           posterior: Array.from(model.posterior(memory, state, BOS, word)) };
}"""
WITH_HEADS = {"bidirectional": False, "attention": "multi-head", "heads": 3}


def test_given_weights_take_the_place_of_alpha(tab, rng):
    translator = translator_of("rnnsearch", {"readout": "current"}, rng, reverse_source=True)
    words = ["w1", "w2", "w3"]
    given = [0.0, 1.0, 0.0, 0.0]
    found = asked(tab, translator, STEP, [words, given, 5])
    assert found["weights"] == [given] and found["tokens"] == [*words, "</s>"]
    batch = translator._source_batch(words)
    memory, _, _ = translator.model.encode(batch.source, batch.source_mask)
    # the source is reversed, and w2 is in the middle in both orders
    np.testing.assert_allclose(found["context"], memory.values[0, 1], atol=CLOSE)


@pytest.mark.parametrize("name, settings", [
    ("rnnsearch", WITH_HEADS), ("luong", {"window": "local-p", "width": 1, "layers": 1}),
    ("encoder-decoder", {}), ("transformer", {"heads": 3, "layers": 2, "inner": 8}),
    ("luong", {"layers": 1})])
def test_its_own_weights_given_change_nothing(tab, rng, name, settings):
    translator = translator_of(name, settings, rng)
    found, again = asked(tab, translator, f"""(model, [words]) => {{
      const first = ({STEP})(model, [words, null, 5]);
      return [first, ({STEP})(model, [words, first.weights, 5])];
    }}""", [["w1", "w2", "w3"]])
    assert len(found["weights"]) == settings.get("heads", 1)
    np.testing.assert_allclose(again["logP"], found["logP"], atol=1e-5)
    assert again["weights"] == found["weights"]


def test_scores_become_the_weights(tab, rng):
    found = asked(tab, translator_of("rnnsearch", {}, rng), STEP, [["w1", "?"], None, 5])
    e = np.exp(found["scores"][0])
    np.testing.assert_allclose(found["weights"][0], e / e.sum(), atol=CLOSE)
    assert {"reset", "z", "candidate", "query", "context", "s", "t", "Ey"} <= set(found["names"])
    assert found["unknown"] == [False, True, False]


@pytest.mark.parametrize("settings", [{}, {"attention": "multi-head", "heads": 3}])
def test_the_posterior_is_that_of_the_benchmark(tab, rng, settings):
    about = {"layers": 1, "input_feeding": False} | settings
    translator = translator_of("luong", about, rng)
    pair = Pair(("w1", "w2", "w3"), ("w4", "w5"))
    found = asked(tab, translator, """(model, [source, target]) => {
      const memory = model.read(source);
      const { ids, steps } = model.force(memory, target);
      let state = model.start(memory);
      let previous = BOS;
      return ids.map((id, t) => {
        const p = Array.from(model.posterior(memory, state, previous, id));
        state = steps[t].state;
        previous = id;
        return p;
      });
    }""", [list(pair.source), list(pair.target)])
    wanted = posterior(translator.model, translator.batches([pair]).batch([0]))[:, 0]
    np.testing.assert_allclose(found, wanted, atol=CLOSE)
    np.testing.assert_allclose(np.sum(found, axis=1), 1, atol=1e-5)


def test_forced_words_have_python_s_weights(tab, rng):
    translator = translator_of("rnnsearch", {}, rng, reverse_source=True)
    pair = Pair(("w1", "w2", "w3"), ("w4", "?", "w5"))
    found = asked(tab, translator, """(model, [source, target]) => (
      model.force(model.read(source), target).steps.map((step) => Array.from(step.weights[0])))""",
                  [list(pair.source), list(pair.target)])
    np.testing.assert_allclose(found, translator.attend([pair])[0], atol=CLOSE)


def test_the_beam_s_tree_holds_its_hypotheses(tab, rng):
    translator = translator_of("luong", {"layers": 1}, rng)
    words = ["w1", "w2", "w3"]
    found = asked(tab, translator, """(model, words) => {
      const { hypotheses, tree } = model.beam(model.read(words), 3);
      return { tree, hypotheses: hypotheses.map(({ steps, ...one }) => one) };
    }""", words)
    tree = found["tree"]
    wanted = translator.hypotheses(words, 3)
    assert [one["words"] for one in found["hypotheses"]] == [one.target for one in wanted]
    np.testing.assert_allclose([one["score"] for one in found["hypotheses"]],
                               [one.score for one in wanted], atol=CLOSE)
    for one in found["hypotheses"]:
        path = []
        node = tree[one["node"]]
        assert node["state"] == "ended" and node["total"] == one["logP"]
        while node["parent"] is not None:
            path.insert(0, node["id"])
            node = tree[node["parent"]]
        assert path == one["ids"]
    kept = [node for node in tree if node["state"] != "dropped"]
    for depth in range(1, max(node["depth"] for node in tree)):
        totals = {state: [node["total"] for node in tree if node["depth"] == depth
                          and (node in kept) == (state == "kept")] for state in ("kept", "dropped")}
        assert min(totals["kept"]) >= max(totals["dropped"], default=-np.inf)


def test_samples_are_drawn_as_often_as_they_are_probable(tab, rng):
    logs = np.log([0.5, 0.3, 0.15, 0.05])
    script = """(model, [logP, how]) => {
      const random = generator(3);
      const counts = logP.map(() => 0);
      for (let n = 0; n < 20000; n++) counts[choose(Float64Array.from(logP), random, how)] += 1;
      return counts;
    }"""
    writer = writer_of("language-model", {"layers": 1}, rng)
    wanted = {
        (): [0.5, 0.3, 0.15, 0.05],
        (("temperature", 0.5),): np.square([0.5, 0.3, 0.15, 0.05]) / 0.365,
        (("topK", 2),): [0.625, 0.375, 0, 0],
        (("topP", 0.6),): [0.625, 0.375, 0, 0],
        (("temperature", 0),): [1, 0, 0, 0],
    }
    found = asked(tab, writer, f"""(model, [logP, hows]) => (
      hows.map((how) => ({script})(model, [logP, how])))""",
                  [logs.tolist(), [dict(how) for how in wanted]])
    for counts, shares in zip(found, wanted.values()):
        np.testing.assert_allclose(np.array(counts) / 20000, shares, atol=0.015)


def test_a_sampled_translation_has_its_own_log_p(tab, rng):
    translator = translator_of("luong", {"layers": 1}, rng)
    found = asked(tab, translator, """(model, words) => {
      const { ids, logP } = model.sample(model.read(words), { random: generator(1) });
      return { ids, logP };
    }""", ["w1", "w2"])
    assert 3 not in found["ids"] and 1 not in found["ids"]
    batch = pair_batch([translator.source_vocabulary.encode(["w1", "w2"])],
                       [[one for one in found["ids"] if one != EOS]])
    losses, _ = translator.model.losses(batch)
    assert found["logP"] == pytest.approx(-losses[:len(found["ids"]), 0].sum(), abs=1e-3)


@pytest.mark.parametrize("settings, training", [
    ({"attention": "combined", "window": 4}, {}),
    ({"attention": "key-value", "layers": 1}, {"state": "sentence"})])
def test_a_writer_writes_on_as_in_python(tab, rng, settings, training):
    writer = writer_of("attentive-language-model", settings, rng, **training)
    found = asked(tab, writer, """(model, [prompt, length]) => {
      const { words, steps } = model.write(prompt, length, { temperature: 0, random: () => 0 });
      return { words, weights: steps.map((step) => Array.from(step.weights[0])) };
    }""", [["w1", "w2"], 80])
    wanted = list(writer.generate(rng, ["w1", "w2"], 80, temperature=0))
    assert found["words"] == [word.token for word in wanted]
    if not training:
        assert len(found["weights"][-1]) == 82          # more than the memory holds
        for one, word in zip(found["weights"], wanted):
            np.testing.assert_allclose(numbers([one])[0], word.weights, atol=CLOSE)


def test_given_weights_of_a_writer_change_its_sum(tab, rng):
    writer = writer_of("attentive-language-model", {"attention": "single", "layers": 1}, rng)
    own, first = asked(tab, writer, """(model, words) => {
      const { state } = model.readText(words);
      const step = (how) => model.step(state, 5, how);
      const own = Array.from(step({}).weights[0]);
      const logs = [{}, { weights: own }, { weights: [1, 0, 0, 0] }].map(
        (how) => Array.from(step(how).logP));
      return [logs.slice(0, 2), logs[2]];
    }""", ["w1", "w2"])
    np.testing.assert_allclose(own[0], own[1], atol=1e-5)
    assert np.abs(np.subtract(own[0], first)).max() > 1e-3


TEXTS = ["It's l’homme, 3,000.5 (well-known)!", "  two\tspaces ", "e\u0301te\u0301 नमस्ते שלום",
         "don't-stop 'quoted' _x_ 1.2.3 4,x", "ΑΣ İi \U0001d7d9 a\u00a0b",
         "\u2764\ufe0f \U0001f468\u200d\U0001f469\u200d\U0001f467 a\u200bb so\u00adft",
         "\U0001f1e9\U0001f1ea\U0001f44d\U0001f3fd well\u2011known ٣٫٥ \ufe0f x",
         'צה״ל צה"ל "שלום" paral·lel \U0001e906\U0001e944\U0001e92a! क्\u200dष।']


@pytest.mark.parametrize("form", [TextForm("words", True), TextForm("words", False),
                                  TextForm("spaces", True), TextForm("characters", False)],
                         ids=["words", "case kept", "spaces", "characters"])
def test_text_is_cut_as_in_python(tab, rng, form):
    writer = writer_of("language-model", {"layers": 1}, rng)
    found = asked(tab, writer, f"""(model, texts) => texts.map((text) => tokensOf(text, {{
      cut: "{form.tokenizer}", lowercase: {str(form.lowercase).lower()} }}))""", TEXTS)
    assert found == [form.tokens(text) for text in TEXTS]


@pytest.mark.parametrize("precision", ["float16", "byte"])
def test_fewer_bytes_give_what_the_rounded_model_gives(tab, rng, precision):
    translator = translator_of("rnnsearch", {}, rng)
    sentences = sentences_of(rng, 50)
    greedy, = asked(tab, translator, SEARCH, [sentences, [1]], precision=precision)
    for name, array in translator.model.named_parameters():
        array[...] = array_of(kept_array(name, array, precision))
    check_alike(greedy, translator.translate(sentences, 1))


def test_an_earlier_checkpoint_is_the_model_of_then(tab, rng):
    translator = translator_of("luong", {"layers": 1}, rng)
    now = {name: array.copy() for name, array in translator.model.named_parameters()}
    randomly(translator.model, rng)
    wanted = translator.translate([["w1", "w2"]], 1)
    translator.model, then = translator.model.copy(), dict(translator.model.named_parameters())
    translator.model.load(now)
    found = asked(tab, translator, f"""(model, argument) => (
      ({SEARCH})(load(model.data, 0), argument)[0])""", [[["w1", "w2"]], [1]],
                  checkpoints={"epoch 1": then})
    check_alike(found, wanted)


def test_what_cannot_be_read_is_reported(tab, rng):
    translator = translator_of("luong", {"layers": 1, "attention": "location", "longest": 3}, rng)
    found = asked(tab, translator, """(model, sentences) => sentences.map((words) => {
      try { model.read(words); return ""; } catch (error) { return error.message; }
    })""", [[], ["w1"] * 2, ["w1"] * 3])
    assert "empty" in found[0] and found[1] == "" and "columns for 2" in found[2]


# ---- trained models -----------------------------------------------------------------------------

SHIPPED = Path(__file__).resolve().parents[3] / "lessons" / "checkpoints" / "lesson-06"


def test_the_shipped_translator_translates_as_in_python(tab):
    translator = Translator.load(SHIPPED)
    pairs = load_parallel("bible-en-es", "test", part="clauses", max_length=8)
    sentences = [list(pair.source) for pair in pairs[:SENTENCES]]
    greedy, beam = asked(tab, translator, SEARCH, [sentences, [1, 5]])
    check_alike(greedy, translator.translate(sentences, 1))
    check_alike(beam, translator.translate(sentences, 5))
