"""A damaged checkpoint: its model is loaded unchanged, or one line reports what is wrong.

Hypothesis edits the JSON of a checkpoint: an entry is removed, added, or has another value.
"""

import json
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining

PAIRS = [Pair(("a", "b"), ("x", "y")), Pair(("b",), ("y", "x")), Pair(("b", "a", "a"), ("x",))]
TEXT = Text([[["a", "b", "c"], ["b", "a"]], [["c", "c", "a", "b"]]] * 3, has_articles=True)
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 20), st.sampled_from([10**6, 10**12, 10**400]),
    st.floats(), st.text(max_size=5), st.just([]), st.just({}), st.just([1, "a", None]),
    st.just({"a": 1}), st.sampled_from(["gru", "lstm", "dot", "last", "sentence", "mine.py:Mine"]))


def translator():
    return Translator.create(PAIRS, "luong", dict(hidden=4, embedding=3, layers=1),
                             TranslatorTraining(epochs=2, batch_size=2, learning_rate=0.01),
                             {"name": "copy", "count": 9})


def writer():
    return LanguageModelRun.create(TEXT, "attentive-language-model",
                                   dict(attention="combined", hidden=4, layers=1, carried=2),
                                   LanguageModelTraining(epochs=2, batch_size=2, steps=4,
                                                         learning_rate=0.01))


def paths(tree, path=()):
    """Yield the path to every entry of nested dicts and lists."""
    items = tree.items() if isinstance(tree, dict) else (
        enumerate(tree) if isinstance(tree, list) else ())
    for key, value in items:
        yield (*path, key)
        yield from paths(value, (*path, key))


@st.composite
def edited(draw, about):
    """Return the tree with one random edit."""
    about = deepcopy(about)
    *way, key = draw(st.sampled_from(list(paths(about))))
    parent = about
    for step in way:
        parent = parent[step]
    edit = draw(st.sampled_from(["remove", "change", "change"]))
    if isinstance(parent[key], dict) and draw(st.booleans()):
        parent[key][draw(st.text(max_size=5))] = draw(ODD)
    elif edit == "remove":
        del parent[key]
    else:
        parent[key] = draw(ODD)
    return about


def put(folder, arrays, about):
    np.savez(folder / "checkpoint.npz", **arrays,
             about=np.frombuffer(json.dumps(about).encode(), np.uint8))


@pytest.fixture(scope="module", params=[translator, writer])
def run(request, tmp_path_factory):
    """A function that builds a run, its text and folder, and the contents of its checkpoint."""
    make = request.param
    text = PAIRS if make is translator else TEXT
    folder = tmp_path_factory.mktemp("run")
    best = make().fit(text, text, folder, 1, progress=False)
    with np.load(folder / "checkpoint.npz") as file:
        arrays = dict(file)
    about = json.loads(bytes(arrays.pop("about")))
    changed = deepcopy(about)
    changed["about"]["training"]["keep"] = "last"
    put(folder, arrays, changed)
    last = type(best).load(folder)
    return make, text, folder, arrays, about, [best.model.vector, last.model.vector]


@settings(max_examples=150)
@given(data=st.data())
def test_damaged_checkpoint_loads_unchanged_or_raises_one_line(run, data):
    make, text, folder, arrays, about, vectors = run
    put(folder, arrays, data.draw(edited(about)))
    trained = make()
    try:
        loaded = type(trained).load(folder)
        assert any(np.array_equal(loaded.model.vector, one) for one in vectors)
    except ValueError as error:
        assert str(error) and "\n" not in str(error)
    try:
        trained.fit(text, text, folder, 1, progress=False)
        assert np.isfinite(trained.model.vector).all()      # it may have trained further
    except ValueError as error:
        assert str(error) and "\n" not in str(error)
