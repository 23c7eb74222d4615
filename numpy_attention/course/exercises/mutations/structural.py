"""Structural mutations: changes of factors, conditions, loops, numbers or statement order."""

import ast
from collections.abc import Iterator

from numpy_attention.course.exercises.mutations.change import (
    Change,
    place_of,
    replaced,
    statements,
)
from numpy_attention.course.exercises.mutations.local import Known, of_expression
from numpy_attention.gradcheck import changed, exchanged, opposite_sign


def changes(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield every structural Change of a function."""
    yield from of_scale(function)
    yield from of_conditions(function)
    yield from of_order(function)
    yield from of_loops(function)
    yield from of_numbers(function)


def of_scale(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield Changes that scale a value by 2, ½, 0 or 1/(length of an axis), or turn -= into +=."""
    for statement in statements(function):
        where = place_of(statement)
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Sub):
            yield Change(statement, "a plus instead of a minus", where, opposite_sign(statement))
        if isinstance(statement, ast.For) or value is None:
            continue
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        for part in parts if not isinstance(statement, ast.Expr) else value.args[-1:]:
            text = ast.unparse(part)
            yield replaced(part, "an extra factor 2", where, f"2 * ({text})")
            yield replaced(part, "an extra factor ½", where, f"({text}) / 2")
            yield replaced(part, "an extra factor 0", where, f"0 * ({text})")
            names = [one.id for one in ast.walk(part) if isinstance(one, ast.Name)]
            for name in dict.fromkeys(names):
                for axis in (0, 1) if name not in ("np", "self") else ():
                    yield replaced(part, f"an extra division by a length of `{name}`, as in a mean",
                                   where, f"({text}) / np.shape({name})[{axis}]")


def of_conditions(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield Changes that alter an `if` or `while` condition, or drop a `break` or `continue`."""
    known = Known(function)
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.While)):
            for inside in ast.walk(node.test):
                if isinstance(inside, ast.expr):
                    for what, other in of_expression(inside, known):
                        yield Change(inside, what, "a condition", other)
            negated = f"not ({ast.unparse(node.test)})"
            yield replaced(node.test, "the opposite condition", "", negated)
        if isinstance(node, ast.If):
            yield replaced(node.test, "a missing condition", "", "True")
            yield replaced(node.test, "a missing case", "", "False")
        if isinstance(node, (ast.Break, ast.Continue)):
            yield Change(node, f"missing {type(node).__name__.lower()}", "", ast.Pass())


def of_loops(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield Changes that drop the first or last iteration of a loop, or reverse the loop."""
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            where, text = place_of(node), ast.unparse(node.iter)
            yield replaced(node.iter, "the first step missing", where, f"list({text})[1:]")
            yield replaced(node.iter, "the last step missing", where, f"list({text})[:-1]")
            yield replaced(node.iter, "the reversed order", where, f"list({text})[::-1]")


def of_order(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield Changes that swap two statements, or that move a statement into or out of a loop."""
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if not isinstance(node, ast.stmt) or not isinstance(block, list):
                continue
            for at, (one, other) in enumerate(zip(block, block[1:])):
                steps = exchanged(block, at, at + 1)
                yield Change(node, "two steps swapped", place_of(one),
                             changed(node, **{field: steps}))
                if isinstance(one, ast.For):
                    loop = changed(one, body=[*one.body, other])
                    steps = [*block[:at], loop, *block[at + 2:]]
                    yield Change(node, "a step inside the loop that belongs after it",
                                 place_of(other), changed(node, **{field: steps}))
            for at, one in enumerate(block):
                if isinstance(one, ast.For) and len(one.body) > 1:
                    loop = changed(one, body=one.body[:-1])
                    steps = [*block[:at], loop, one.body[-1], *block[at + 1:]]
                    yield Change(node, "a step after the loop that belongs inside it",
                                 place_of(one.body[-1]), changed(node, **{field: steps}))


def of_numbers(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield Changes that alter a number, or that move a term into or out of a square root."""
    for statement in statements(function):
        where = place_of(statement)
        whole = statement.iter if isinstance(statement, ast.For) else statement
        for node in ast.walk(whole):
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                number = ast.unparse(node)
                for text in (f"{number} + 1", f"{number} - 1", f"2 * {number}"):
                    yield replaced(node, "another number", where, text)
            yield from of_root(node, where)


def of_root(node: ast.AST, where: str) -> Iterator[Change]:
    """Yield the Change of a node √x + ε to √(x + ε), or of a node √(x + ε) to √x + ε."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and is_root(node.left):
        inside = ast.unparse(node.left.args[0])     # type: ignore[attr-defined]
        yield replaced(node, "added under the root instead of after it", where,
                       f"np.sqrt({inside} + {ast.unparse(node.right)})")
    if is_root(node):
        inside = node.args[0]                       # type: ignore[attr-defined]
        if isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Add):
            yield replaced(node, "added after the root instead of under it", where,
                           f"(np.sqrt({ast.unparse(inside.left)}) + {ast.unparse(inside.right)})")


def is_root(node: ast.AST) -> bool:
    return (isinstance(node, ast.Call) and bool(node.args)
            and ast.unparse(node.func) in ("np.sqrt", "math.sqrt", "sqrt"))
