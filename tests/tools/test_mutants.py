"""What is mutated, and how."""

import ast

import pytest
from mutants import functions, mutants

CODE = '''
import numpy as np


def forward(x):
    return -x


class Layer:
    def backward(self, dy, cache, grads):
        """A docstring."""
        expect("dy", dy)
        if cache is None:
            raise ValueError
        da = dy * cache
        grads.W += da
        grads.W -= da
        db = np.zeros_like(da)
        dx, dh = da @ self.W, 0
        return dx, dh


@njit
def scatter_add(rows, out):
    for row in rows:
        out += row
        out += row
'''


@pytest.fixture
def found(tmp_path):
    path = tmp_path / "layer.py"
    path.write_text(CODE)
    return functions(path, "layer.py")


def test_functions_that_carry_gradients(found):
    assert [function.name for function in found] == ["scatter_add", "Layer.backward"]
    lines = CODE.splitlines()
    _, first = found[0].first
    assert lines[first - 1] == "@njit"              # as a trace of calls has it
    assert not found[0].forward_too


def as_printed(what):
    """A mutant's name with its statement as this Python prints it, whose brackets differ."""
    name, statement = what.split(": ", 1)
    return f"{name}: {' '.join(ast.unparse(ast.parse(statement)).split())}"


def test_every_statement_in_turn(found):
    what = [mutant.what for mutant in mutants(found[1])]
    assert sorted(what) == sorted(as_printed(one) for one in [
        "delete: if cache is None: raise ValueError",
        "negate: if cache is None: raise ValueError",
        "delete: da = dy * cache",
        "negate: da = dy * cache",
        "delete: grads.W += da",
        "negate: grads.W += da",
        "delete: grads.W -= da",
        "negate: grads.W -= da",
        "delete: db = np.zeros_like(da)",           # 0 has no sign
        "delete: dx, dh = (da @ self.W, 0)",
        "negate element 1 of: dx, dh = (da @ self.W, 0)",
        "delete: return (dx, dh)",
        "negate element 1 of: return (dx, dh)",
        "negate element 2 of: return (dx, dh)",
    ])


@pytest.mark.parametrize("what, line", [
    ("negate: grads.W += da", "grads.W -= da"),
    ("negate: grads.W -= da", "grads.W += da"),
    ("negate: da = dy * cache", "da = -(dy * cache)"),
    ("negate: if cache is None: raise ValueError", "if not cache is None:"),
    ("negate element 2 of: return (dx, dh)", "return (dx, -dh)"),
    ("delete: return (dx, dh)", "pass"),
])
def test_a_mutant_differs_in_one_statement(found, what, line):
    before = ast.unparse(found[1].node)
    mutant = next(mutant for mutant in mutants(found[1]) if mutant.what == what)
    there = before.splitlines()
    now = ast.unparse(mutant.node).splitlines()
    assert ast.unparse(found[1].node) == before
    assert len(now) == len(there)
    assert [new.strip() for old, new in zip(there, now) if old != new] == [line]


def test_the_same_statement_once_more_is_told_apart(found):
    made = list(mutants(found[0]))
    keys = [mutant.key for mutant in made]
    assert "layer.py scatter_add: delete: out += row" in keys
    assert "layer.py scatter_add: delete: out += row (2)" in keys
    assert len(set(keys)) == len(keys)
    assert str(made[0]).startswith("layer.py:25 scatter_add: delete: for row in rows")
    assert not made[0].node.decorator_list
