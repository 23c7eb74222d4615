"""Lessons 09 and 10 as files, and their derivations against the library. (CI runs them; their own asserts check the rest.)"""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.data.batching import pair_batch
from numpy_attention.gradcheck import randomize
from numpy_attention.models.luong import LuongTranslator

LESSONS = Path(__file__).parents[2] / "lessons"
NAMES = ["09_luong_attention.py", "10_scaled_dot_product.py"]
text_of = {name: (LESSONS / name).read_text(encoding="utf-8") for name in NAMES}


def cells(text):
    """[(marker, body)] of a percent-cell script."""
    parts = re.split(r"^(# %%.*)$", text, flags=re.MULTILINE)
    assert parts[0] == "", "something stands before the first cell"
    return list(zip(parts[1::2], parts[2::2]))


def derivation(name, folder):
    """What the code before `## Check` defines; its pictures go to the folder."""
    before = text_of[name].split("# ## Check\n")[0]
    names = {"__file__": str(folder / name), "__name__": "lesson"}
    for marker, body in cells(before):
        if "markdown" not in marker:
            exec(compile(body, name, "exec"), names)
    return names


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_text_or_code_and_each_compiles(name):
    parts = cells(text_of[name])
    assert {marker for marker, _ in parts} == {"# %%", "# %% [markdown]"}
    for marker, body in parts:
        compile(body, name, "exec")
        lines = [line for line in body.splitlines() if line]
        if "markdown" in marker:
            assert lines and all(line.startswith("# ") or line == "#" for line in lines), "text stands in comments"
        else:
            assert ast.parse(body).body, "a code cell without code"
    assert parts[0][1].startswith(f"\n# # Lesson {name[:2]}") and "# ## Questions" in parts[-1][1]


@pytest.mark.parametrize("name", NAMES)
def test_prints_before_it_imports_anything(name):
    first = ast.parse(text_of[name]).body[0]
    assert re.match(rf"print\(['\"]Lesson {name[:2]}: .*flush=True\)", ast.unparse(first))


@pytest.mark.parametrize("name", NAMES)
def test_derives_checks_and_plants_a_bug_that_must_be_caught(name):
    for needed in ("# ## Forward", "# ## Backward", r"gradcheck\(", r"np\.allclose\(",
                   r"except GradientError as error:\n.*\nelse:\n    raise AssertionError", r"plotting\.save\("):
        assert re.search(needed, text_of[name]), f"{name} has no {needed}"


@pytest.mark.parametrize("name", NAMES)
def test_seeds_every_generator_and_writes_beside_itself(name):
    assert "default_rng()" not in text_of[name] and not re.search(r"np\.random\.(?!default_rng)", text_of[name])
    assert '"__file__" in globals()' in text_of[name]


@pytest.mark.parametrize("score, window", [("dot", "local-p"), ("concat", "local-m"), ("location", "global")])
def test_lesson_09_derives_what_the_translator_computes(score, window, tmp_path):
    lesson, source, target = derivation(NAMES[0], tmp_path), [7, 4, 5, 5, 2], [6, 6, 4, 2]
    model = randomize(LuongTranslator.create(np.random.default_rng(3), 8, 7, embedding=2, hidden=3, layers=1, cell="rnn", D=3,
                                             attention=score, window=window, dtype=np.float64), np.random.default_rng(4))
    plain, theirs = model.zeros_like(), model.zeros_like()
    L, cache = lesson["forward"](source, target, model)
    lesson["backward"](cache, model, plain)
    loss, _ = model.loss_and_grad(pair_batch([source[:-1]], [target[:-1]]), None, 1.0, theirs)
    assert L == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(plain.vector, theirs.vector, atol=1e-12)
    assert np.linalg.norm(plain.F) > 0
    lesson["backward"](cache, model, forgetful := model.zeros_like(), forget=True)
    assert not np.allclose(forgetful.F, plain.F), "the planted bug changes the gradient"


def test_lesson_10_derives_what_the_attention_computes(tmp_path):
    lesson, rng = derivation(NAMES[1], tmp_path), np.random.default_rng(5)
    package = randomize(MultiHeadAttention.create(rng, 3, 5, 8, 4, heads=4, dtype=np.float64), rng)
    plain = lesson["PlainMultiHead"](*[array for _, array in package.named_parameters()], 4)
    X, M, visible = rng.standard_normal((2, 3, 3)), rng.standard_normal((2, 4, 5)), np.ones((2, 3, 4), bool)
    visible[0, 1, 2:] = False
    dy, dweights, results = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 3, 4)), []
    for layer in (plain, package):
        y, weights, cache = layer.forward(X, M, visible)
        grad = layer.zeros_like()
        results.append((y, weights, *layer.backward(dy, dweights, cache, grad), grad.vector))
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
