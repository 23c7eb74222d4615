"""Documented shapes are correct in every gradient check and in decoding.

    pytest -n 0 tests/gradcheck/test_shape_comments.py -s

prints the shapes that were not checked, and every wrong one.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from shape_comments import Watch

import numpy_attention
from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.signatures import arrays_of
from numpy_attention.data.batching import PairBatches, TextBatches, pair_batch
from numpy_attention.data.cloze import Question
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.decoding.sampling import read, sample
from numpy_attention.experiments.analysis import (
    ablate,
    cloze_test,
    disturbed,
    loss_by_distance,
    recover,
    role_gradients,
)
from numpy_attention.gradcheck.cases import CASES
from numpy_attention.kernels import softmax
from numpy_attention.page.export import kept_array
from numpy_attention.plotting import gradient_heatmap
from numpy_attention.plotting.html import heatmap_table
from numpy_attention.products import Panels

PACKAGE = Path(numpy_attention.__file__).parent
VOCABULARY = Vocabulary(["a", "b", "c"])
QUESTION = Question([list("abca")], ["b"], [], ["a", "c"], 0)
PAIRS = pair_batch([[4, 5, 6, 7], [5, 7]], [[4, 5], [7, 4]])


# ---- shapes of the package -----------------------------------------------------------------------


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@pytest.fixture(scope="module")
def package():
    """Check all documented shapes while every gradient check and decoding run."""
    watch = Watch()
    for path in sorted(PACKAGE.rglob("*.py")):
        watch.read(path, module_name(path))
    measured = 0
    with watch.running():
        for name, create in CASES.items():
            case = create(np.random.default_rng(0), np.float64)
            *outputs, cache = case.forward(*case.inputs)
            case.backward(*outputs, cache, case.target.zeros_like())    # dy has the shape of y
            if name.endswith("loss"):               # the case is a whole model
                decode(case.target)
                measured += measure(case.target)
        gradient_heatmap(np.ones((2, 3)), np.ones((2, 3)), source_tokens="abc",
                         target_tokens="xy", visible=np.ones((2, 3), bool))
        heatmap_table(np.ones((2, 3)), "abc", "xy")
        kept_array("W", np.ones((2, 3), np.float32), "byte")
        np.ones((3, 5)) @ Panels(np.ones((5, 130)), 3)      # larger than the models of the cases
        for exercise in EXERCISES.values():
            complete(exercise)
    assert measured > 10
    print("", "shapes of the package", watch.report(), sep="\n")
    return watch


def complete(exercise):
    """Run the cases of an exercise that is taken from the package."""
    if exercise.source.file.endswith(".py"):
        its = sys.modules[exercise.cases.__module__]
        for case in exercise.cases(np.random.default_rng(0), its):
            list(arrays_of(case, 0))


def decode(model):
    if hasattr(model, "start"):
        greedy(model, PAIRS.source, PAIRS.source_mask)
        beam_search(model, PAIRS.source, PAIRS.source_mask, beam=2)
    elif hasattr(model, "next"):
        list(sample(model, read(model, [2, 4, 5]), np.random.default_rng(0), length=3))


def measure(model):
    """Run the evaluations of a language model; return whether it has attention to ablate."""
    rng = np.random.default_rng(0)
    batches = TextBatches(rng.integers(4, 9, 60), batch_size=3, steps=5)
    if hasattr(model, "start"):
        batches = PairBatches([[4, 5, 6, 7], [5, 7]], [[4, 5], [7, 4]], batch_size=2)
    elif hasattr(model, "next"):
        cloze_test(model, VOCABULARY, [QUESTION], rng, steps=3)
        loss_by_distance(model, batches, rng)
        recover(model, disturbed(batches, rng, 1, 2, 3, 4), rng)
        if hasattr(getattr(model, "reader", None), "attention"):
            role_gradients(model, batches, rng)
    try:
        ablate(model, batches, rng)
    except (TypeError, ValueError):
        return False                    # a layer, or no attention
    return True


def test_documented_shapes_are_correct(package):
    assert "\n".join(package.wrong_claims.values()) == ""


def test_most_documented_shapes_are_checked(package):
    checked = [claim for claim in package.claims if claim.state == "checked"]
    assert len(checked) >= 600 and len(checked) >= 0.92 * len(package.claims)


def test_original_code_is_restored(package):
    assert isinstance(softmax.masked_softmax.compiled, Dispatcher)
    for function in (softmax.masked_softmax.py_func, beam_search, numpy_attention.module.join):
        assert "_shapes" not in function.__code__.co_varnames


# ---- planted errors -----------------------------------------------------------------------------

CORRECT = '''
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np

class Cache(NamedTuple):
    x: np.ndarray  # (N, I)

@dataclass
class Layer:
    """y = x W.   x (N, I) → y (N, H)."""
    W: np.ndarray  # (I, H)
    b: np.ndarray | None = None  # (H,)
    heads: int = 2

    def forward(self, x):
        y = x @ self.W                              # (N, H), without b
        y += 0.0                                    # still (N, H)
        parts = y.reshape(len(y), 2, -1)            # (N, heads, H / heads)
        rows, column = y.ravel(), y[:, :1]          # (N H,), (N, 1)
        below = np.zeros((len(y) + 1, 6))           # (N + 1, 3I)
        less, count = y[1:], len(y)                 # (N − 1, H) and how many
        return y, Cache(x)

    def backward(self, dy, cache):
        """dy (N, H) → dx (N, I), None."""
        return dy @ self.W.T, None

def doubled(x, out):
    """x, out (…, K) of any size."""
    out[...] = 2 * x

def transposed(x):
    """(R, C) → (C, R)."""
    return x.T                                      # (C, R), a view

def ones(T, B):
    """→ ones (T, B)."""
    return np.ones((T, B))

layer = Layer(np.ones((2, 6)))
y, cache = layer.forward(np.ones((5, 2)))
layer.backward(y, cache)
doubled(np.ones((3, 4, 5)), np.ones((3, 4, 5)))
transposed(np.ones((2, 3)))
for n in (2, 3):
    grown = np.ones((n, 2))                         # (rows, 2)
    twice = np.concatenate([grown, grown])          # (2rows, 2)
ones(2, 3)
total = y.sum(1)                                    # (N,)
'''

WRONG = [
    ("W: np.ndarray  # (I, H)", "W: np.ndarray  # (I, I)", "I is 2; letters: I = 2"),
    ("x: np.ndarray  # (N, I)", "x: np.ndarray  # (N, I, 1)", "3 axes are documented"),
    ("y = x W.   x (N, I)", "y = x W.   x (N, N)", "N is 5"),
    ("→ y (N, H)", "→ y (N, I)", "I is 2; letters: I = 2, H = 6, N = 5"),
    ("(N, H), without b", "(N, I), without b", "the array is (5, 6): I is 2"),
    ("still (N, H)", "still (H, N)", "H is 6"),
    ("(N, heads, H / heads)", "(N, heads, H)", "the array is (5, 2, 3): H is 6"),
    ("(N H,), (N, 1)", "(N I,), (N, 1)", "N I is 10"),
    ("(N H,), (N, 1)", "(N H,), (N, 2)", "2 is 2"),
    ("(N + 1, 3I)", "(N, 3I)", "N is 5"),
    ("(N + 1, 3I)", "(N + 1, 4I)", "4I is 8"),
    ("(N − 1, H) and", "(N, H) and", "N is 5"),
    ("dy (N, H)", "dy (H, N)", "H is 6"),
    ("dx (N, I)", "dx (I, N)", "I is 2"),
    ("(…, K) of", "(…, K, K) of", "K is 4"),
    ("(R, C) →", "(R, R) →", "R is 2"),
    ("(C, R), a view", "(R, C), a view", "R is 2; letters: R = 2, C = 3"),
    ("→ ones (T, B)", "→ ones (B, T)", "B is 3; letters: B = 3 (a number)"),
    ("(2rows, 2)", "(rows, 2)", "rows is 2"),
    ("# (rows, 2)", "# (R, 2)", "R is 2; letters: R = 2"),
    ("# (N,)", "# (2N,)", "2N cannot be 5"),
]


def run(text, folder):
    path = folder / "planted.py"
    path.write_text(text, encoding="utf-8")
    watch, names = Watch(), {"__name__": "planted"}
    with watch.running():
        code = compile(watch.read(path, "planted"), str(path), "exec")
        exec(code, names | {"_shapes": watch.cell({})})
    return watch


def test_correct_shapes_pass_and_are_all_checked(tmp_path):
    watch = run(CORRECT, tmp_path)
    assert not watch.wrong_claims and not watch.unread
    left = [claim.text for claim in watch.claims if claim.state != "checked"]
    assert left == ["b  # (H,)"]                                        # b is None


@pytest.mark.parametrize("correct, wrong, why", WRONG, ids=[wrong for _, wrong, _ in WRONG])
def test_wrong_shape_is_reported_with_its_line(correct, wrong, why, tmp_path):
    assert CORRECT.count(correct) == 1
    line = CORRECT[:CORRECT.index(correct)].count("\n") + 1
    watch = run(CORRECT.replace(correct, wrong), tmp_path)
    assert {claim.place for claim in watch.wrong_claims} == {f"planted.py:{line}"}
    for message in watch.wrong_claims.values():
        assert message.startswith(f"planted.py:{line}: ") and why in message


@pytest.mark.parametrize("text", [
    "x = (1, 2)  # (B, what follows)",
    "x = 1  # (B, S), (S, D)",
    "a, *b = 1, 2  # (B, S)",
    'def f():\n    """Some (B, S) of it."""',
    'def f(x):\n    """memory: (states (B, S), mask) of before."""',
])
def test_unparsed_shapes_are_listed(text, tmp_path):
    watch = run(text, tmp_path)
    assert not watch.claims and len(watch.unread) == 1 and watch.unread[0].startswith("planted.py:")


def test_results_that_match_no_arrow_are_listed(tmp_path):
    text = 'def f(x):\n    """x (B,) → y (B, S), cache."""\n    return x, 1, 2\n\nf(1)'
    states = [claim.state for claim in run(text, tmp_path).claims]
    assert states == ["no array, but of type int", "one of 2 parts, where 3 return"]
