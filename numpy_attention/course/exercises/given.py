"""Reword the messages of a check, so that no message accuses a correct line of the user's file.

An exercise provides some functions of the file, which are correct. The user writes the rest.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.gradcheck.report.report import INPUTS_ARE_RIGHT

GIVEN = "  this line was given and is correct: its inputs are wrong, or its result is misused"
FIRST_WRONG = "first wrong: "
FIRST_SEEN = "first seen to be wrong in "
OR_BEFORE = ", or before it"
AT_GIVEN = "wrong values appear at "
CHANGED = " changed; is that intended?"
# notes that prove a line wrong: a change of the line makes the gradients correct (but a term that
# is missing in a call may be missing before), or it computes a wrong value from correct ones
PROOF = re.compile(rf".*{INPUTS_ARE_RIGHT}|  (?!a term that is missing: `[\w.]+\()[a-zA-Z ,.=]+: "
                   "(`|of )|.* is changed in place after |.* is not what the forward has ")
BLOCK = re.compile("\n(?!  )")       # between a line and the next that is not indented
DIRECT = re.compile(r"  [\w.]+ should be ∂L/∂")      # the value of the line itself was compared


class Given:
    """The functions of a user's file that the exercise provided.

    now: a dict from the name of each function in the file to its syntax tree
    names: the names of the functions that the exercise provided
    changed: the names of the provided functions that the user has edited
    solved: the line numbers of the user's statements that the solution contains too
    """

    def __init__(self, exercise: Exercise, tree: ast.Module):
        before = functions_of(ast.parse(exercise.start))
        self.now = functions_of(tree)
        self.names = before.keys() - set(exercise.blanks)
        self.changed = [name for name in before if name in self.names & self.now.keys()
                        and dumped(before[name]) != dumped(self.now[name])]
        correct = set(map(text_of, statements(ast.parse(exercise.solution), exercise.blanks)))
        self.solved = {node.lineno for node in statements(tree, exercise.blanks)
                       if text_of(node) in correct}

    def function_at(self, line: int) -> str:
        """Return the name of the provided function that contains a line, or "" if there is none."""
        return next((name for name, node in self.now.items()
                     if name in self.names and node.lineno <= line <= (node.end_lineno or 0)), "")


def dumped(function: ast.FunctionDef) -> str:
    """Return the syntax tree of a function as text, without the docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return "\n".join(map(ast.dump, [function.args, *function.decorator_list, *body]))


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the functions and methods of a file: {"softmax": node, "PlainRNN.forward": node}."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}": one for one in node.body
                      if isinstance(one, ast.FunctionDef)}
    return found


def statements(tree: ast.Module, blanks: Sequence[str]) -> Iterator[ast.stmt]:
    """Yield the statements of `blanks`, the functions that the user writes, in line order."""
    functions = functions_of(tree)
    nodes = [node for blank in blanks if blank in functions
             for node in ast.walk(functions[blank])
             if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef)]
    yield from sorted(nodes, key=lambda node: node.lineno)


def text_of(statement: ast.stmt) -> str:
    """Return a statement's code without comments. For a loop or an if, return the first line."""
    return ast.unparse(statement).splitlines()[0]


def with_given(message: str, its: Given) -> str:
    """Reword a check's message so that a line that may be correct is not called wrong."""
    lines: list[str] = []
    for head, *notes in map(str.splitlines, BLOCK.split(message)):
        place = re.match(rf"{FIRST_WRONG}line (\d+) of ", head)
        name = its.function_at(int(place[1])) if place else ""
        if place and name and name not in its.changed:
            head = head.replace(FIRST_WRONG, AT_GIVEN)
            notes.insert(1, GIVEN)
        elif place and (int(place[1]) in its.solved or is_doubted(notes)):
            head = head.replace(FIRST_WRONG, FIRST_SEEN) + OR_BEFORE
        lines += [] if head.startswith("then wrong: ") else [head, *notes]
    if its.changed:
        verb = "was given and has" if len(its.changed) == 1 else "were given and have"
        lines.append(f"{' and '.join(its.changed)} {verb}{CHANGED}")
    return "\n".join(lines)


def without_doubted(message: str, place: int | str | None, its: Given) -> str:
    """Remove notes on lines that may be correct from a message about a known mistake.

    place: the line or the function that contains the mistake, or None if unknown.
    """
    lines, is_first = list[str](), True
    for head, *notes in map(str.splitlines, BLOCK.split(message)):
        line = re.match(rf"({FIRST_WRONG}|{FIRST_SEEN})line (\d+) of ", head)
        known = place is None and is_first and (
            not is_doubted(notes) or any(map(DIRECT.match, notes)))
        if not line or place == int(line[2]) or known and int(line[2]) not in its.solved:
            lines += [head, *notes]
        else:
            lines += [note for note in notes if " elements are wrong; " in note]
        is_first = is_first and not line
    return "\n".join(lines)


def guesses(exercise: Exercise, text: str) -> Iterator[str]:
    """Yield sentences on the lines that the user changed: "you changed line 9: it was correct"."""
    before, after = exercise.start.splitlines(), text.splitlines()
    right = set(exercise.solution.splitlines())
    for edit, first, last, line, _ in SequenceMatcher(None, before, after, False).get_opcodes():
        if edit != "equal":
            was = "it was correct" if right.issuperset(before[first:last]) else (
                "it was the wrong one, and is still incorrect")
            yield f"you changed line {line + 1}: {was}"


def is_doubted(notes: Sequence[str]) -> bool:
    """Return whether none of the notes on a line proves that the line is wrong."""
    return not any(map(PROOF.match, notes))
