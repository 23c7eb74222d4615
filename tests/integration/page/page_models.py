"""Small models with random weights, their words, and the engine alone in a tab of the browser."""

import base64

import numpy as np

from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.data.text_form import TextForm
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.page.export import exported
from numpy_attention.page.write import engine, json_for_script

WORDS = [f"w{k}" for k in range(12)]
SENTENCES = 200
LONGEST = 6         # words
SPACES = TextForm("spaces", False)


def array_of(kept):
    """The array that the page's numbers stand for."""
    read = lambda name, dtype: np.frombuffer(base64.b64decode(kept[name]), dtype)
    if "float32" in kept:
        found = read("float32", "<f4")
    elif "float16" in kept:
        found = read("float16", "<f2").astype(np.float32)
    else:
        rows = read("byte", np.int8).reshape(kept["shape"]).astype(np.float32)
        found = rows * read("scales", "<f4")[:, None]
    return found.reshape(kept["shape"])


def sentences_of(rng, count=SENTENCES, longest=LONGEST, unknown=0.1):
    """Sentences of 1 … longest words, some of them unknown."""
    lengths = rng.integers(1, longest + 1, count)
    return [["?" if rng.random() < unknown else str(word) for word in rng.choice(WORDS, length)]
            for length in lengths]


def randomly(model, rng, scale=0.4):
    """Draw every array again, biases too."""
    for _, array in model.named_parameters():
        array[...] = rng.normal(0, scale, array.shape)


def translator_of(name, settings, rng, **training):
    pairs = [Pair(tuple(WORDS), tuple(WORDS))]
    small = {"size": 12} if name == "transformer" else {"hidden": 12, "embedding": 7}
    translator = Translator.create(pairs, name, small | settings, TranslatorTraining(**training))
    randomly(translator.model, rng)
    return translator


def writer_of(name, settings, rng, **training):
    text = Text([[WORDS]])
    writer = LanguageModelRun.create(text, name, {"hidden": 12} | settings,
                                     LanguageModelTraining(**training))
    randomly(writer.model, rng)
    return writer


def asked(tab, trained, script, argument, **how):
    """What the page's engine answers: script is a function of (model, argument)."""
    data = json_for_script(exported(trained, "a model", SPACES, **how))
    tab.set_content(f'<script type="application/json" id="model">{data}</script>'
                    f"<script>{engine()}</script>")
    return tab.evaluate(
        "(argument) => { const data = JSON.parse(document.getElementById('model').textContent); "
        f"const model = load(data); return ({script})(model, argument); }}", argument)


def numbers(rows):
    """Rows from the page, None where it had NaN, which JSON has not."""
    return np.array([[np.nan if one is None else one for one in row] for row in rows], float)
