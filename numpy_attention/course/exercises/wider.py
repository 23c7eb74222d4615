"""Slips in one place that are no exchange of one expression by its like: what is scaled, a case, a
loop, an order, another number.

    for slip in wider(text, "backward"): slip.text, slip.what, slip.of
"""

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from numpy_attention.course.exercises.operators import (
    Change, Known, Slip, changes, instead, made_by, of_expression, parsed, place_of, placed,
    statements, with_change)


def wider(text: str, name: str) -> Iterator[Slip]:
    """Every such slip of the function of this name that no exchange of an expression has made."""
    tree = ast.parse(text)
    function = placed(tree, name)
    seen = {ast.unparse(tree), *(with_change(tree, one) for one in changes(function))}
    for change in [*scaled(function), *of_cases(function), *of_order(function),
                   *of_loops(function), *of_numbers(function)]:
        made = with_change(tree, change)
        if made not in seen:
            seen.add(made)
            yield Slip(made, change.what, change.of)


def exchange(node: ast.AST, what: str, of: str, text: str) -> Change:
    """The Change of an expression into another."""
    return Change(place_of(node), what, of, partial(instead, parsed(text)))


# ---- too much, too little, nothing --------------------------------------------------------------


def scaled(function: ast.FunctionDef) -> Iterator[Change]:
    """What is made or returned, times a number: twice, a half, 0, divided by a length."""
    for statement in statements(function):
        of = made_by(statement)
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Sub):
            yield Change(place_of(statement), "a plus for a minus", of, added)
        if isinstance(statement, ast.For) or value is None:
            continue
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        for part in parts if not isinstance(statement, ast.Expr) else value.args[-1:]:
            text = ast.unparse(part)
            yield exchange(part, "a factor 2 too many", of, f"2 * ({text})")
            yield exchange(part, "a factor ½ too many", of, f"({text}) / 2")
            yield exchange(part, "nothing comes through", of, f"0 * ({text})")
            names = [one.id for one in ast.walk(part) if isinstance(one, ast.Name)]
            for name in dict.fromkeys(names):
                for axis in (0, 1) if name not in ("np", "self") else ():
                    yield exchange(part, f"divided by a length of `{name}`, as if it were a mean",
                                   of, f"({text}) / np.shape({name})[{axis}]")


def added(node: Any) -> ast.AST:
    return ast.AugAssign(node.target, ast.Add(), node.value)


# ---- cases and loops ----------------------------------------------------------------------------


def of_cases(function: ast.FunctionDef) -> Iterator[Change]:
    """What is asked in `if` and `while`: otherwise, always, never."""
    known = Known(function)
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.While)):
            for inside in ast.walk(node.test):
                if isinstance(inside, ast.expr):
                    for what, other in of_expression(inside, known):
                        yield Change(place_of(inside), what, "a condition",
                                     partial(instead, other))
            test = ast.unparse(node.test)
            yield exchange(node.test, "the opposite condition", "", f"not ({test})")
        if isinstance(node, ast.If):
            yield exchange(node.test, "a condition that is left out", "", "True")
            yield exchange(node.test, "a case that is left out", "", "False")
        if isinstance(node, (ast.Break, ast.Continue)):
            yield Change(place_of(node), f"{type(node).__name__.lower()} that is left out", "",
                         lambda _: None)


def of_loops(function: ast.FunctionDef) -> Iterator[Change]:
    """What a loop goes over: without its first or last, the other way round."""
    of = "what the loop goes over"
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            text = ast.unparse(node.iter)
            yield exchange(node.iter, "the first is left out", of, f"list({text})[1:]")
            yield exchange(node.iter, "the last is left out", of, f"list({text})[:-1]")
            yield exchange(node.iter, "the other way round", of, f"list({text})[::-1]")


# ---- order --------------------------------------------------------------------------------------


def of_order(function: ast.FunctionDef) -> Iterator[Change]:
    """Two statements in the other order; one before, behind or within a loop that is not there."""
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if not isinstance(node, ast.stmt) or not isinstance(block, list):
                continue
            for at, (one, other) in enumerate(zip(block, block[1:])):
                yield Change(place_of(node), "two steps in the other order", made_by(one),
                             partial(swapped, field, at))
                if isinstance(one, ast.For):
                    yield Change(place_of(node), "a step within the loop that belongs behind it",
                                 made_by(other), partial(into_loop, field, at))
            for at, one in enumerate(block):
                if isinstance(one, ast.For) and len(one.body) > 1:
                    yield Change(place_of(node), "a step behind the loop that belongs into it",
                                 made_by(one.body[-1]), partial(out_of_loop, field, at))


def swapped(field: str, at: int, node: Any) -> ast.AST:
    block = getattr(node, field)
    block[at:at + 2] = block[at:at + 2][::-1]
    return node


def into_loop(field: str, at: int, node: Any) -> ast.AST:
    block = getattr(node, field)
    block[at].body.append(block.pop(at + 1))
    return node


def out_of_loop(field: str, at: int, node: Any) -> ast.AST:
    block = getattr(node, field)
    block.insert(at + 1, block[at].body.pop())
    return node


# ---- numbers ------------------------------------------------------------------------------------


def of_numbers(function: ast.FunctionDef) -> Iterator[Change]:
    """Another number, and what is added within a root where it belongs behind it, or so."""
    for statement in statements(function):
        of = made_by(statement)
        whole = statement.iter if isinstance(statement, ast.For) else statement
        for node in ast.walk(whole):
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                number = ast.unparse(node)
                for text in (f"{number} + 1", f"{number} - 1", f"2 * {number}"):
                    yield exchange(node, "another number", of, text)
            yield from of_root(node, of)


def of_root(node: ast.AST, of: str) -> Iterator[Change]:
    """√x + ε for √(x + ε), and the other way round."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and is_root(node.left):
        inside = ast.unparse(node.left.args[0])     # type: ignore[attr-defined]
        yield exchange(node, "added within the root, not behind it", of,
                       f"np.sqrt({inside} + {ast.unparse(node.right)})")
    if is_root(node):
        inside = node.args[0]                       # type: ignore[attr-defined]
        if isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Add):
            yield exchange(node, "added behind the root, not within it", of,
                           f"(np.sqrt({ast.unparse(inside.left)}) + {ast.unparse(inside.right)})")


def is_root(node: ast.AST) -> bool:
    return (isinstance(node, ast.Call) and bool(node.args)
            and ast.unparse(node.func) in ("np.sqrt", "math.sqrt", "sqrt"))
