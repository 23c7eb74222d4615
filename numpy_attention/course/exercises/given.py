"""Find the functions of a user's file that the exercise provided, and which of them changed."""

import ast
import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.gradcheck.report.report import INPUTS_ARE_RIGHT

GIVEN = "  this line was given and is correct: the values that your code passes to it are wrong"
FIRST_WRONG = "first wrong: "
FIRST_SEEN = "first seen to be wrong in "
CHANGED = " changed; is that intended?"


class Given:
    """The functions of a user's file that the exercise provided.

    now: {name: node} of all functions in the file. names: the names of the provided functions.
    changed: the names of the provided functions that the user edited.
    """

    def __init__(self, exercise: Exercise, tree: ast.Module):
        before = functions_of(ast.parse(exercise.start))
        self.now = functions_of(tree)
        self.names = before.keys() - set(exercise.blanks)
        self.changed = [name for name in before if name in self.names & self.now.keys()
                        and dumped(before[name]) != dumped(self.now[name])]

    def function_at(self, line: int) -> str:
        """Return the name of the provided function that contains a line, or "" if there is none."""
        return next((name for name, node in self.now.items()
                     if name in self.names and node.lineno <= line <= (node.end_lineno or 0)), "")


def dumped(function: ast.FunctionDef) -> str:
    """Return a function's syntax tree as text, without its docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return "\n".join(map(ast.dump, [function.args, *function.decorator_list, *body]))


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the functions and methods of a file: {"softmax": node, "PlainRNN.forward": node, …}.

    If two functions have the same name, the last is returned.
    """
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}": one for one in node.body
                      if isinstance(one, ast.FunctionDef)}
    return found


def with_given(message: str, its: Given) -> str:
    """Return a check's message, with notes on the functions that the exercise provided (`its`).

    A line that was provided, or that may be correct, is not called wrong. A provided line gets a
    note. The last note lists the provided functions that the user changed.
    """
    lines: list[str] = []
    before = message.splitlines()
    for number, line in enumerate(before):
        place = re.match(rf"{FIRST_WRONG}line (\d+) of ", line)
        name = its.function_at(int(place[1])) if place else ""
        is_given = bool(name) and name not in its.changed
        if place and (is_given or is_doubted("".join(before[number + 2:number + 3]))):
            line = line.replace(FIRST_WRONG, FIRST_SEEN)
        lines.append(line)
        if is_given:
            before[number + 1] += f"\n{GIVEN}"
    if its.changed:
        verb = "was given and has" if len(its.changed) == 1 else "were given and have"
        lines.append(f"{' and '.join(its.changed)} {verb}{CHANGED}")
    return "\n".join(lines)


def guesses(exercise: Exercise, text: str) -> Iterator[str]:
    """Yield a sentence for each block of lines that the user changed: whether it was correct."""
    before, after = exercise.start.splitlines(), text.splitlines()
    right = set(exercise.solution.splitlines())
    for edit, first, last, line, _ in SequenceMatcher(None, before, after, False).get_opcodes():
        if edit != "equal":
            was = "it was correct" if right.issuperset(before[first:last]) else (
                "it was the wrong one, and is still incorrect")
            yield f"you changed line {line + 1}: {was}"


def is_doubted(note: str) -> bool:
    """Return whether a line may be correct, judging by `note`, the line of text below it.

    A line may be correct if no change of the line fixed the gradient. The line may also be correct
    if the note says which gradient the line should compute, but not that its operands are right.
    """
    return note.startswith("  no small change") or (
        " should be ∂L/∂" in note and INPUTS_ARE_RIGHT not in note)
