"""Find the line of a user's file that contains a known mistake."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.course.exercises.given import functions_of
from numpy_attention.course.exercises.mutations.change import COMPUTATION, place_of

EMPTY = re.compile(r"= (\[\]$|np\.(zeros|empty))")     # not yet a computation


def placed(exercise: Exercise, mistakes: list[str], tree: ast.Module,
           first_wrong: int | None = None) -> tuple[list[str], int | str | None, bool]:
    """Find known mistakes in a user's file; return (mistakes, place, whether the place is certain).

    mistakes: descriptions of known mistakes that have the same signature as the user's code. tree:
    the user's file. first_wrong: the line that computes the first wrong gradient, or None.

    The place is a line number, or the name of a function from which a line is missing. If the file
    contains the wrong line of a curated mistake, only this mistake is returned. Its line is the
    place, which is certain. Otherwise all mistakes are returned, and the place is only probable. It
    is then the only line that computes the variable of the mistaken line, or the only line that
    differs from the solution. The place is None if it is unknown. It is also None if first_wrong is
    another line that differs from the solution.
    """
    mine = list(statements(tree, exercise.blanks))
    correct = set(map(text_of, statements(ast.parse(exercise.solution), exercise.blanks)))
    curated = {mistake: of_curated(exercise, mistake) for mistake in mistakes}
    for mistake, changed in curated.items():
        for node in mine:
            if text_of(node) in set(map(text_of, changed)) - correct:
                return [mistake], node.lineno, True
    found: set[int | str | None] = set()
    for mistake, changed in curated.items():
        places = {place_of(node) for node in changed} or {mistake.rpartition(", in ")[2]}
        lines = [node.lineno for node in mine
                 if place_of(node) in places and place_of(node).startswith(COMPUTATION)
                 and text_of(node) not in correct and not EMPTY.search(text_of(node))]
        missing = not changed and [blank for blank in exercise.blanks
                                   if lacks(exercise, mistake, blank)]
        found.add(lines[0] if len(lines) == 1 else missing[0] if missing else None)
    place = found.pop() if len(found) == 1 else None
    others = [node.lineno for node in mine if text_of(node) not in correct]
    if place is None and mistakes and len(others) == 1 == len(correct - set(map(text_of, mine))):
        place = others[0]
    doubted = {node.lineno for node in mine if text_of(node) in correct} | {None, place}
    is_other = isinstance(place, int) and first_wrong not in doubted
    return mistakes, None if is_other else place, False


def of_curated(exercise: Exercise, mistake: str) -> list[ast.stmt]:
    """Return the wrong statements of a curated mistake, which the solution does not contain.

    mistake: its description. Return [] if no curated mistake has this description.
    """
    return [node for changed in changed_texts(exercise, mistake)
            for node in added(exercise.solution, changed, exercise.blanks)]


def lacks(exercise: Exercise, mistake: str, blank: str) -> bool:
    """Return whether a curated mistake drops or changes a statement of the function `blank`."""
    return any(added(changed, exercise.solution, [blank])
               for changed in changed_texts(exercise, mistake))


def changed_texts(exercise: Exercise, mistake: str) -> list[str]:
    """Return a list with the code of the solution after a curated mistake was put into it.

    mistake: the description of the mistake. The list is empty if the mistake is not curated.
    """
    return [exercise.changed(right, wrong) for right, wrong, description in exercise.mistakes
            if description == mistake]


def added(before: str, after: str, blanks: Sequence[str]) -> list[ast.stmt]:
    """Return the statements of the functions `blanks` that only the code `after` contains."""
    old = Counter(map(text_of, statements(ast.parse(before), blanks)))
    new = list(statements(ast.parse(after), blanks))
    more = Counter(map(text_of, new)) - old
    return [node for node in new if text_of(node) in more]


def statements(tree: ast.Module, blanks: Sequence[str]) -> Iterator[ast.stmt]:
    """Yield the statements of the functions that the user writes (`blanks`), in line order."""
    functions = functions_of(tree)
    nodes = [node for blank in blanks if blank in functions
             for node in ast.walk(functions[blank])
             if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef)]
    yield from sorted(nodes, key=lambda node: node.lineno)


def text_of(statement: ast.stmt) -> str:
    """Return a statement's first line as `ast` prints it: without comments, on one line."""
    return ast.unparse(statement).splitlines()[0]
