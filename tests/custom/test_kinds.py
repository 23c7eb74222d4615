"""The kind of a class by its methods, missing methods, and selecting a class from a file."""

import pytest
from custom_files import CELL, MINE, PAST, PRODUCT, changed, written

from numpy_attention.cells.gru import GRU
from numpy_attention.custom import kinds
from numpy_attention.custom.code import read
from numpy_attention.custom.kinds import custom_class, mechanism_kind, required
from numpy_attention.layers.linear import Linear
from numpy_attention.models.luong import LuongTranslator

OF_CELL = """from dataclasses import dataclass
import numpy as np
from numpy_attention.cells.cell import Cell

@dataclass(eq=False)
class A(Cell):
    def _step(self): pass
    def _step_backward(self): pass
"""


def test_kinds_of_package_classes():
    assert mechanism_kind(GRU) == kinds.CELL
    assert mechanism_kind(Linear) == kinds.LAYER
    assert mechanism_kind(LuongTranslator) == kinds.MODEL


@pytest.mark.parametrize("text, kind", [
    (MINE, kinds.ATTENTION), (PAST, kinds.SCORE), (CELL, kinds.CELL),
])
def test_file_with_one_class(text, kind, tmp_path):
    path = str(written(tmp_path, text))
    one = custom_class(path)
    assert mechanism_kind(one) == kind
    assert custom_class(f"{path}:{one.__name__}", kind) is custom_class(path, kind) is one


@pytest.mark.parametrize("old, new, message", [
    ("def score(", "def sore(", "^Mine derives from Softmax.*, so it must define score$"),
    ("(SoftmaxAttention)", "", "^Mine has score and score_.* derive it from SoftmaxAttention f"),
    ("@dataclass(eq=False)\n", "", "not a dataclass, so W would not be trained; write @datacla"),
    ("(eq=False)", "", r"^Mine is not hashable, because .* write @dataclass\(eq=False\)"),
    ("    @classm", "    def __eq__(self, a): pass\n    @classm", "or define __hash__ too"),
    ("def create", "def made", r"^Mine has no method create; .* create\(cls, rng, query_size, v"),
    ("value_size, init", "value_size, depth, init", "^Mine.create requires depth, which the"),
])
def test_incomplete_classes(old, new, message, tmp_path):
    with pytest.raises(ValueError, match=message) as error:
        custom_class(str(written(tmp_path, changed(old, new))))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text, message", [
    ("class A:\n    pass", "A has none of the expected methods; define forward"),
    ("class A:\n    def read(self): pass\n    def step(self): pass",
     "A has read, step; also define step_backward, read_backward to make it an attention mech"),
    ("class A:\n    def forward(self): pass", "A has forward; also define backward to make it"),
    ("class A:\n    def forward(self): pass\n    def backward(self): pass",
     r"A is not a Module, so its arrays are not parameters; import Module from"),
    (f"{OF_CELL}    W: np.ndarray\n    b: np.ndarray\n", "^A lacks U; declare the three para"),
    (f"{OF_CELL}    V: np.ndarray\n", "^A lacks W, U, b; declare the three parameters"),
    ("def A(): pass", r"mine\.py:A is not a class; define a class A$"),
])
def test_unsuitable_classes(text, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        custom_class(f"{written(tmp_path, text)}:A")


def test_class_without_parameters_must_be_a_dataclass(tmp_path):
    text = changed("@dataclass(eq=False)\n", "", PRODUCT)
    with pytest.raises(ValueError, match="^Product is not a dataclass; write @dataclass"):
        custom_class(str(written(tmp_path, text)))


def test_unexpected_kind(tmp_path):
    path = str(written(tmp_path))
    with pytest.raises(ValueError, match="mine.py:Mine is an attention mechanism for translators, "
                                         "not a score .*; derive Mine from HistoryAttention, or"):
        custom_class(f"{path}:Mine", kinds.SCORE)
    with pytest.raises(ValueError, match="^mine.py has no suitable class; derive one from Cell$"):
        custom_class(path, kinds.CELL)


def test_file_with_several_classes(tmp_path):
    path = str(written(tmp_path, MINE + CELL + MINE.replace("Mine(", "Other(")))
    assert custom_class(path, kinds.CELL).__name__ == "MinimalGatedUnit"
    with pytest.raises(ValueError, match="2 suitable classes; .* one of Mine, Other$"):
        custom_class(path, kinds.ATTENTION)
    with pytest.raises(ValueError, match="3 suitable classes"):
        custom_class(path)


def test_only_class_is_reported_if_incomplete(tmp_path):
    path = str(written(tmp_path, changed("def score(", "def sore(")))
    with pytest.raises(ValueError, match="must define score"):
        custom_class(path, kinds.ATTENTION)


def test_cases(tmp_path):
    text = "def case(rng): pass\ndef case_two(rng): pass\ndef cases(rng): pass\ncase_x = 1\n"
    assert kinds.cases(read(written(tmp_path, text))) == ["case", "case_two"]


def test_required_arguments():
    assert required(lambda rng, a, b=1, *c, d, **e: None) == ["a", "d"]
    assert required(lambda a, b: None, 0) == ["a", "b"]
