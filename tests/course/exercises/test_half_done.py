"""No half-done file passes: a function left blank, a last statement left out, zeros returned."""

import ast

import pytest

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.checking import check

WRITTEN = [one for one in EXERCISES.values() if one.planted is None]
BLANKS = [(one, blank) for one in WRITTEN for blank in one.blanks]
ZEROS = '''
def zeros(found):
    if isinstance(found, (tuple, list)):
        return type(found)(zeros(one) for one in found)
    return None if found is None else 0 * found
'''


def pairs(blanks):
    return pytest.mark.parametrize("exercise, blank", blanks,
                                   ids=[f"{one.name}-{blank}" for one, blank in blanks])


def verdict(exercise, text, folder):
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return check(exercise, path)


def function_of(tree, blank):
    """The node of "softmax", or of "PlainRNN.backward"."""
    node = tree
    for name in blank.split("."):
        node = next(one for one in node.body if getattr(one, "name", None) == name)
    return node


@pairs([(one, blank) for one, blank in BLANKS if len(one.blanks) > 1])
def test_one_function_left_blank(exercise, blank, tmp_path):
    found = verdict(exercise, exercise.head + exercise.source.text((blank,)), tmp_path)
    assert (found.stage, found.blank) == ("runs", True)
    assert found.message == f"{blank} is not written yet"


@pairs([(one, blank) for one, blank in BLANKS if len(one.blanks) > 1])
def test_one_function_alone_is_written(exercise, blank, tmp_path):
    others = [one for one in exercise.blanks if one != blank]
    found = verdict(exercise, exercise.head + exercise.source.text(others), tmp_path)
    assert (found.stage, found.blank) == ("runs", True)
    assert found.message == f"{others[0]} is not written yet"


@pairs(BLANKS)
def test_the_last_statement_is_left_out(exercise, blank, tmp_path):
    tree = ast.parse(exercise.solution)
    function_of(tree, blank).body[-1] = ast.Pass()
    assert not verdict(exercise, ast.unparse(tree), tmp_path).passed


@pairs([(one, blank) for one, blank in BLANKS if "return" in one.source.body(blank)])
def test_zeros_are_returned(exercise, blank, tmp_path):
    tree = ast.parse(exercise.solution)
    for node in ast.walk(function_of(tree, blank)):
        if isinstance(node, ast.Return):
            node.value = ast.Call(ast.Name("zeros"), [node.value], [])
    assert not verdict(exercise, ast.unparse(tree) + ZEROS, tmp_path).passed
