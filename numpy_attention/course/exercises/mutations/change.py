"""Base of all mutations: the change of one node in the syntax tree of a function."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from numpy_attention.gradcheck import parsed

COMPUTATION = "the computation of"


@dataclass(frozen=True)
class Mutation:
    """A function with a mistake in one place.

    text: the code of the whole file with the mistake
    what: a description of the mistake, with names in backticks, such as "`b` instead of `a`"
    where: what the mistaken line computes, such as "the computation of `da`", or ""
    """

    text: str
    what: str
    where: str

    @property
    def description(self) -> str:
        return f"{self.what}, in {self.where}" if self.where else self.what


class Change(NamedTuple):
    """A planned Mutation: `other` will replace `node` in the syntax tree of the function."""

    node: ast.AST
    what: str
    where: str
    other: ast.AST


def replaced(node: ast.AST, what: str, where: str, text: str) -> Change:
    """Return the Change that replaces the expression `node` with the code `text`, such as "-x"."""
    return Change(node, what, where, parsed(text))


def statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield the assignments, returns, for loops and call statements of a function."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return, ast.For)):
            yield node
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node


def place_of(statement: ast.stmt) -> str:
    """Describe what a statement computes: "the computation of `da`". Return "" for a call."""
    target = getattr(statement, "target", None) or next(iter(getattr(statement, "targets", [])),
                                                        None)
    if isinstance(statement, ast.For):
        return "the range of the loop"
    if isinstance(statement, ast.Return):
        return "the return value"
    while isinstance(target, ast.Subscript):
        target = target.value
    return f"{COMPUTATION} `{ast.unparse(target)}`" if target is not None else ""
