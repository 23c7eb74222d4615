"""Small edits of syntax trees: replace a node temporarily, or copy a node with a change."""

import ast
import contextlib
import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

SIGN: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
# {comparison: the same comparison with the boundary included or excluded}
BOUNDARY: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any", "argmin": "argmax",
             "argmax": "argmin"}
# replacements of {0} @ {1}
PRODUCTS = "({0}).T @ ({1})", "({0}) @ ({1}).T", "({1}) @ ({0})", "(({0}) @ ({1})).T"


class Slot(NamedTuple):
    """The position of a node in a syntax tree: the attribute `field` of the node `parent`.

    number: the index of the node if the attribute is a list, or None for the whole attribute.
    """

    parent: Any
    field: str
    number: int | None = None

    @contextlib.contextmanager
    def holding(self, *nodes: Any) -> Iterator[None]:
        """Inside this context, replace the node in this slot with `nodes`.

        nodes: any number of nodes if the slot is an item of a list, otherwise one node or one list.
        """
        before = getattr(self.parent, self.field)
        after = nodes[0] if self.number is None else with_item(before, self.number, *nodes)
        setattr(self.parent, self.field, after)
        try:
            yield
        finally:
            setattr(self.parent, self.field, before)


def children(parent: ast.AST) -> Iterator[tuple[Slot, Any]]:
    """Yield (Slot, child) for each child node of a node."""
    for field, value in ast.iter_fields(parent):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield Slot(parent, field, index), child


def parsed(text: str) -> Any:
    return ast.parse(text, mode="eval").body


def one_line(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def changed(node: Any, **fields: Any) -> Any:
    """Return a copy of a node with some fields replaced; the other fields are shared."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def with_item(values: list[Any], i: int, *new: Any) -> list[Any]:
    """Return a copy of a list in which the items `new` replace item i."""
    return [*values[:i], *new, *values[i + 1:]]


def exchanged(values: list[Any], i: int, k: int) -> list[Any]:
    """Return a copy of a list with the items i and k swapped."""
    return with_item(with_item(values, i, values[k]), k, values[i])


def opposite_sign(node: Any) -> Any:
    """Return x - y for x + y, x -= y for x += y, and the reverse."""
    return changed(node, op=SIGN[type(node.op)]())


def by_pattern(node: ast.BinOp, table: dict[type, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, expression) for each pattern that `table` has for the operator of `node`.

    table: {operator: [(name, pattern)]}. In a pattern, {0} and {1} stand for the operands.
    """
    sides = ast.unparse(node.left), ast.unparse(node.right)
    for name, pattern in table.get(type(node.op), ()):
        yield name, parsed(pattern.format(*sides))


# ---- calls --------------------------------------------------------------------------------------


def function_name(call: Any) -> str:
    """Return the last part of the name of the called function, or "" if there is no name."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def calling(call: Any, name: str) -> Any:
    """Return a copy of a call with the name of the function or method replaced by `name`."""
    part = "attr" if isinstance(call.func, ast.Attribute) else "id"
    return changed(call, func=changed(call.func, **{part: name}))


def without_keyword(call: Any, name: str) -> Any:
    return changed(call, keywords=[one for one in call.keywords if one.arg != name])


def with_axis(call: Any, axis: str) -> Any:
    """Return a copy of a call such as x.sum(0) with another axis, for example "(0, 1)"."""
    if any(one.arg == "axis" for one in call.keywords):
        return changed(call, keywords=[
            changed(one, value=parsed(axis)) if one.arg == "axis" else one
            for one in call.keywords])
    is_function = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "np"
    return changed(call, args=with_item(call.args, int(is_function), parsed(axis)))
