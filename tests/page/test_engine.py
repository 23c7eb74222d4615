"""The page's own JavaScript, run in a real browser, against the Python forward passes.

Of every kind of model: random weights, 200 sentences, the same tokens, and weights within 1e-4.
"""

import numpy as np
import pytest
from page_models import SENTENCES, WORDS, asked, numbers, sentences_of, translator_of, writer_of

from numpy_attention.data.vocabulary import EOS

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


def expect_alike(found, wanted):
    """The same words with the same log p, and weights within 1e-4."""
    assert [one["words"] for one in found] == [other.target for other in wanted]
    for one, other in zip(found, wanted):
        assert one["logP"] == pytest.approx(other.log_probability, rel=CLOSE, abs=CLOSE)
        np.testing.assert_allclose(one["weights"], other.weights, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("name, settings, turned", TRANSLATORS)
def test_a_translator_translates_as_in_python(tab, rng, name, settings, turned):
    translator = translator_of(name, settings, rng, reverse_source=turned)
    sentences = sentences_of(rng)
    greedy, beam = asked(tab, translator, SEARCH, [sentences, [1, 5]])
    expect_alike(greedy, translator.translate(sentences, 1))
    expect_alike(beam, translator.translate(sentences, 5))


WRITERS = {
    "plain": ("language-model", {"layers": 2}),
    "plain, gru, tied": ("language-model", {"layers": 1, "cell": "gru", "tied": True}),
    "plain, rnn": ("language-model", {"layers": 2, "cell": "rnn", "embedding": 5}),
    "single": ("attentive-language-model", {"attention": "single"}),
    "combined": ("attentive-language-model", {"attention": "combined", "layers": 1}),
    "combined, window, linear": ("attentive-language-model", {
        "attention": "combined", "window": 3, "activation": "linear", "cell": "rnn"}),
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
