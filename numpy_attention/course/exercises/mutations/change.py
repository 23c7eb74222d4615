"""What the mutations share: a change of one node of a function, and where it is."""

import ast
import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Mutation:
    """text: of the whole file, with the mistake; what: the mistake; where: its place, or "".

    Names of the function are in backticks: a user's own may have others.
    """

    text: str
    what: str
    where: str

    @property
    def description(self) -> str:
        return f"{self.what}, in {self.where}" if self.where else self.what


class Change(NamedTuple):
    """A mutation before it is made.

    node: the number of the node that it changes, in its function (`numbered`); write: returns the
    node that replaces it, or None.
    """

    node: int
    what: str
    where: str
    write: Callable[[Any], ast.AST | None]


def numbered(tree: ast.AST, name: str) -> ast.FunctionDef:
    """The function of this name, its nodes numbered."""
    function = next(node for node in ast.walk(tree)
                    if isinstance(node, ast.FunctionDef) and node.name == name)
    for number, node in enumerate(ast.walk(function)):
        if isinstance(node, (ast.stmt, ast.expr)):  # operators and such are shared
            setattr(node, "number", number)
    return function


def number_of(node: ast.AST) -> int:
    """The number of a node; -1: it has none, because it belongs to another tree."""
    return getattr(node, "number", -1)


def with_change(function: ast.FunctionDef, change: Change) -> str:
    """The text of a function in which one node is replaced or removed."""
    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if number_of(node) != change.node:
                return self.generic_visit(node)
            made = ast.copy_location(change.write(node) or ast.Pass(), node)
            return ast.fix_missing_locations(made)

    copied = pickle.loads(pickle.dumps(function))   # faster than a deep copy
    return ast.unparse(Exchange().visit(copied))


def replaced(node: ast.AST, what: str, where: str, other: ast.AST | str) -> Change:
    """The Change of an expression into another."""
    made = parsed(other) if isinstance(other, str) else other
    return Change(number_of(node), what, where, partial(instead, made))


def instead(other: ast.AST, _: ast.AST) -> ast.AST:
    return copy.deepcopy(other)


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """The simple statements of a function, and its for loops; no docstring."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return, ast.For)):
            yield node
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node


def place_of(statement: ast.stmt) -> str:
    """What a statement computes, in words."""
    target = getattr(statement, "target", None) or next(iter(getattr(statement, "targets", [])),
                                                        None)
    if isinstance(statement, ast.For):
        return "the range of the loop"
    if isinstance(statement, ast.Return):
        return "the return value"
    while isinstance(target, ast.Subscript):
        target = target.value
    return f"the computation of `{ast.unparse(target)}`" if target is not None else ""
