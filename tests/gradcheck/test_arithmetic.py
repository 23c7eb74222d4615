"""The arithmetic behind a single element, in explained statements."""

import ast

import numpy as np
import pytest
from planted import failure

from numpy_attention.gradcheck.locate.rewriting import Place
from numpy_attention.gradcheck.report import arithmetic
from numpy_attention.gradcheck.report.arithmetic import assigned_expression, format_terms, terms_of


@pytest.mark.parametrize("text, between, count", [
    ("a * b", "*", 1),
    ("a - b[0]", "-", 1),
    ("a / b", "/", 1),
    ("1 + b", "+", 1),
    ("m @ n", "*", 3),
    ("m @ n[0]", "*", 3),
    ("np.einsum('bij,bjk->bik', m, n)", "*", 3),
    ("np.einsum('bij,bjk->ik', m, n)", "*", 6),
    ("m.sum(0)", "+", 2),
    ("m.sum(axis=(0, 2))", "+", 6),
    ("m.sum(axis=-1, keepdims=True)", "+", 3),
])
def test_terms_add_up_to_every_element(rng, text, between, count):
    arrays = {"np": np, "a": rng.standard_normal((3, 4)), "b": rng.standard_normal((3, 4)),
              "m": rng.standard_normal((2, 4, 3)), "n": rng.standard_normal((2, 3, 5))}
    found = np.asarray(eval(text, arrays))
    node = ast.parse(text, mode="eval").body
    for at in np.ndindex(found.shape):
        pairs, sign = terms_of(node, at, found.shape, lambda one: np.asarray(
            eval(compile(ast.Expression(one), "text", "eval"), arrays)))
        assert len(pairs) == count and sign == between
        total = sum(one if other is None else eval(f"one {sign} other") for one, other in pairs)
        assert total == pytest.approx(found[at], rel=1e-12)


def test_reported_element_is_wrong():
    right = np.array([0.5, 100.0, 3.0, 1e-6])
    assert arithmetic.furthest(right + [1e-4, 1e-3, 0, 0], right) == (0,)
    assert arithmetic.furthest(2 * right, right) == (1,)
    assert arithmetic.furthest(np.where(right == 3, np.nan, right), right) == (2,)


def test_at_most_two_terms_are_printed():
    assert format_terms([(0.5, -2.0)], "/") == "0.5 / -2"
    assert format_terms([(0.5, 2.0), (1.0, 3.0)], "*") == "0.5 * 2 + 1 * 3"
    assert format_terms([(0.5, 2.0)] * 3, "*") == "0.5 * 2 + 0.5 * 2 + … (3 products)"
    assert format_terms([(0.5, None)] * 3, "+") == "0.5 + 0.5 + … (3 terms)"


@pytest.mark.parametrize("line, expected", [("da = dx * 2", True), ("da = np.exp(dx) * 2", True),
                                           ("da = count(dx) * 2", False), ("da += dx * 2", False),
                                           ("if dx: da = dx * 2", False), ("da = (dx *", False)])
def test_statements_that_can_be_evaluated_again(tmp_path, line, expected):
    file = tmp_path / "one.py"
    file.write_text(line + "    # ∂L/∂a\n")
    place = Place("f", str(file), 1, "assign", "da", line)
    assert (assigned_expression(place) is not None) == expected


@pytest.mark.parametrize("name, words", [
    ("heads: softmax's sum forgotten",
     "element [1, 0, 3, 1] of (2, 3, 4, 5): found 2.3444345, right 0.0076130837; "
     "computed as 0.9943 * 2.358"),
    ("heads: d without its root",
     "found -0.37177805, right -1.0515471; "
     "computed as -0.05501 * 2.912 + 0.05501 * -3.846 + … (5 products)")])
def test_arithmetic_is_in_the_report(name, words):
    assert words in str(failure(name))
