"""`import numpy_attention as na`: every name is documented, and submodules are loaded lazily."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import numpy_attention as na


def test_every_public_name_is_a_documented_class_or_function():
    assert 35 <= len(na.__all__) <= 50
    for name in na.__all__:
        found = getattr(na, name)
        assert found.__doc__ and not found.__doc__.startswith(f"{name}("), name


@pytest.mark.parametrize("part", ["attention", "cells", "layers", "models", "training"])
def test_subpackages_export_their_classes(part):
    package = import_module(f"numpy_attention.{part}")
    assert len(package.__all__) >= 4 and set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match=f"numpy_attention.{part}' has no attribute 'Gru'"):
        package.Gru


def test_readme_and_docstring_show_the_same_example():
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    example = readme.split("```python\n")[1].split("```")[0]
    assert example.strip() in inspect.cleandoc(na.__doc__.replace("\n    ", "\n"))
    assert len(example.splitlines()) <= 10


def test_layer_composed_by_hand_in_the_docs():
    docs = Path(__file__).parents[1] / "docs" / "custom_mechanisms.md"
    example, = (code for code in docs.read_text(encoding="utf-8").split("```")
                if "memory.gradient()" in code)
    exec(example.removeprefix("python"), names := {})
    assert names["dquery"].any() and names["dvalues"].any() and names["grads"].W_a.any()


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, numpy_attention; print({'numpy', 'numba', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match=r"has no attribute 'Gru'; did you mean GRU( or|\?)"):
        na.Gru
    with pytest.raises(AttributeError, match="did you mean LuongTranslator"):
        na.LuongTranslater
    with pytest.raises(AttributeError, match="'xyzzy'$"):
        na.xyzzy


def test_aliases_in_expected_places():
    assert na.RNNsearch is na.RNNSearch
    from numpy_attention.data import load_corpus
    from numpy_attention.decoding import beam_search
    assert load_corpus is na.load_corpus and beam_search is na.beam_search


def test_dir_lists_names_before_they_are_loaded():
    assert set(na.__all__) <= set(dir(na))


@pytest.mark.parametrize("first", ["numpy_attention", "numpy_attention.gradcheck"])
def test_gradcheck_is_callable_for_any_import_order(first):
    code = (f"import {first}; import numpy as np, numpy_attention as na; "
            "rng = np.random.default_rng(0); "
            "layer = na.Linear.create(rng, 3, 2, dtype=np.float64); "
            "print(na.gradcheck(layer, rng.standard_normal((4, 3)), rng=rng))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Linear" in done.stdout, done.stderr


def test_gradcheck_of_an_attention(rng):
    attention = na.AdditiveAttention.create(rng, query_size=3, value_size=4, size=5,
                                            dtype=np.float64)
    queries, values = rng.standard_normal((2, 6, 3)), rng.standard_normal((6, 7, 4))
    assert "W_a" in str(na.gradcheck(attention, queries, values, rng=rng))


def test_load_corpus_returns_pairs_or_text():
    assert na.load_corpus("bible-en-es", "valid", max_length=7)[0].source
    assert na.load_corpus("bible-en", "valid")[0][0]
    with pytest.raises(ValueError, match="is unknown; choose one of"):
        na.load_corpus("bible")
    with pytest.raises(TypeError, match="'max_length' is an option for pairs .* 'bible-en' is"):
        na.load_corpus("bible-en", max_length=3)


def test_runs_accept_tuples_of_sentences():
    pairs = [(["a", "b"], ["x"]), (("b",), ("x", "y"))] * 4
    same = [na.Pair(*pair) for pair in pairs]
    training = na.TranslatorTraining(epochs=1)
    run = na.Translator.create(pairs, "luong", {"hidden": 4, "embedding": 4}, training)
    run.fit(pairs, pairs, threads=1, progress=False)
    for result in (run.measure, run.evaluate_without_unk, run.sentences):
        assert result(pairs) == result(same)
    assert len(run.attend(pairs)) == len(run.translate([pair[0] for pair in pairs])) == 8
    for wrong in ((["a"],), [["a"], ["b"]]):
        with pytest.raises(TypeError, match=r"^pairs\[1\] .* a Pair: numpy_attention.Pair\(source"):
            run.measure([pairs[0], wrong])


@pytest.mark.parametrize("text, same", [
    ([["a", "b"], ["b"]] * 4, na.Text([[["a", "b"], ["b"]] * 4])),
    (["a", "b", " "] * 4, na.Text([[["a", "b", " "] * 4]], "characters"))])
def test_runs_accept_lists_of_sentences_or_characters(text, same):
    training = na.LanguageModelTraining(epochs=1, batch_size=2, steps=2)
    run = na.LanguageModelRun.create(text, settings={"hidden": 4}, training=training)
    run.fit(text, text, threads=1, progress=False)
    assert run.measure(text) == run.measure(same) and run.sentences(text) == same.sentences
    with pytest.raises(TypeError, match=r"of sentences, or a Text: numpy_attention.Text\(articles"):
        run.measure("a b")
    with pytest.raises(TypeError, match=r"is the string 'a b'; expected a list of tokens"):
        run.measure(["a b", "b"])


@pytest.mark.parametrize("old", ["runs.translator", "recipes", "names", "data.corpora", "shapes"])
def test_module_paths_of_version_1_0_still_import(old):
    sys.modules.pop(f"numpy_attention.{old}", None)
    with pytest.warns(DeprecationWarning, match=rf"numpy_attention\.{old} has moved to"):
        found = import_module(f"numpy_attention.{old}")
    assert found.__name__ == found.__spec__.name != f"numpy_attention.{old}"
    assert found is sys.modules[found.__name__]
