"""Mutations: copies of a function, each with one mistake that is common in derivations by hand.

    for mutation in mutations(text, "backward"): mutation.text, mutation.description
"""

import ast
from collections.abc import Iterator

from numpy_attention.course.exercises.mutations import local, structural
from numpy_attention.course.exercises.mutations.change import Mutation
from numpy_attention.gradcheck import children


def mutations(text: str, name: str) -> Iterator[Mutation]:
    """Yield every mutation of the function `name` in the code `text`, without duplicates."""
    tree = ast.parse(text)
    slots = {child: slot for node in ast.walk(tree) for slot, child in children(node)}
    function = next(node for node in slots
                    if isinstance(node, ast.FunctionDef) and node.name == name)
    seen = {ast.unparse(function)}
    for change in [*local.changes(function), *structural.changes(function)]:
        with slots[change.node].holding(change.other):
            changed = ast.unparse(change.other if change.node is function else function)
        if changed not in seen:
            seen.add(changed)
            yield Mutation(spliced(text, function, changed), change.what, change.where)


def spliced(text: str, function: ast.FunctionDef, changed: str) -> str:
    """Return the code `text` with the definition of `function` replaced by the code `changed`."""
    lines = text.splitlines()
    first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    indent = " " * function.col_offset
    body = [indent + line if line else line for line in changed.splitlines()]
    return "\n".join([*lines[:first - 1], *body, *lines[function.end_lineno:]]) + "\n"
