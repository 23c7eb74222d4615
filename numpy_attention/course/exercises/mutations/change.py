"""What the mutations share: a change of one node of a function, and where it is."""

import ast
import copy
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

    node: the number of the node that it changes, in its Function; write: given a copy of the node,
    returns what replaces it, or None.
    """

    node: int
    what: str
    where: str
    write: Callable[[Any], ast.AST | None]


class Function:
    """A function of which one node after the other can be replaced.

    node: its tree; each statement and expression in it has a number (`number_of`).
    """

    def __init__(self, tree: ast.AST, name: str):
        self.node = next(node for node in ast.walk(tree)
                         if isinstance(node, ast.FunctionDef) and node.name == name)
        self.places: list[tuple[Any, Any]] = []     # (what holds a node, and under which key)
        for parent in ast.walk(self.node):
            for field, value in ast.iter_fields(parent):
                if isinstance(value, list):
                    for index in range(len(value)):
                        self._number(value[index], value, index)
                else:
                    self._number(value, vars(parent), field)

    def _number(self, node: Any, holder: Any, key: Any) -> None:
        if isinstance(node, (ast.stmt, ast.expr)):  # operators and such are shared
            setattr(node, "number", len(self.places))
            self.places.append((holder, key))

    def with_change(self, change: Change) -> str:
        """The text of the function in which one node is replaced or removed."""
        if change.node < 0:
            return ast.unparse(change.write(copy.deepcopy(self.node)) or ast.Pass())
        holder, key = self.places[change.node]
        before = holder[key]
        holder[key] = change.write(copy.deepcopy(before)) or ast.Pass()
        try:
            return ast.unparse(self.node)
        finally:
            holder[key] = before


def number_of(node: ast.AST) -> int:
    """The number of a node; -1 of the function itself."""
    return getattr(node, "number", -1)


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
