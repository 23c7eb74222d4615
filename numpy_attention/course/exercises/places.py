"""Find the line of a user's file that contains a known mistake.

The place of a mistake is a line number, or the name of a function from which a line is missing.
"""

import ast
import re
from collections import Counter
from collections.abc import Sequence

from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.course.exercises.given import statements, text_of
from numpy_attention.course.exercises.mutations.change import COMPUTATION, place_of

EMPTY = re.compile(r"= \(?(\[\]$|np\.(zeros|empty))")     # not yet a computation
UNPACKED = re.compile(EMPTY.pattern + r"|= (cache$|[\w.]+\.shape|len\()")
LEFT_OUT = re.compile("you left out|you forgot|(an? |the .*|)missing")


def placed(exercise: Exercise, mistakes: list[str], tree: ast.Module,
           first_wrong: int | None = None) -> tuple[list[str], int | str | None, bool]:
    """Find known mistakes in a user's file; return (mistakes, place, is_certain).

    The place is a line number, the name of a function that lacks a line, or None. If it is certain,
    only the mistake at this place is returned. mistakes: descriptions from `recognized`. tree: the
    parsed file. first_wrong: the line that is proven to be wrong, or None.
    """
    mine = list(statements(tree, exercise.blanks))
    solved = list(statements(ast.parse(exercise.solution), exercise.blanks))
    correct = set(map(text_of, solved))
    curated = {mistake: of_curated(exercise, mistake) for mistake in mistakes}
    for mistake, changed in curated.items():
        for node in mine:
            if text_of(node) in set(map(text_of, changed)) - correct:
                return [mistake], node.lineno, True
    differ = [node for node in mine if text_of(node) not in correct]
    others = [node for node in differ if not UNPACKED.search(text_of(node))] or differ
    lacking = len(correct - set(map(text_of, mine)))
    if lacking > len(others):           # a line is missing: do not blame one that exists
        values = {value_of(node) for node in solved}
        differ = [node for node in differ if value_of(node) not in values]
    found: set[int | str | None] = set()
    for mistake, changed in curated.items():
        places = {place_of(node) for node in changed} or {mistake.rpartition(", in ")[2]}
        lines = [node for node in differ
                 if place_of(node) in places and place_of(node).startswith(COMPUTATION)
                 and not EMPTY.search(text_of(node))]
        missing = not changed and [blank for blank in exercise.blanks
                                   if lacks(exercise, mistake, blank)]
        is_one = len(lines) == 1 and not names(lines[0]) & own_parts(solved, others, lines[0])
        found.add(lines[0].lineno if is_one else missing[0] if missing else None)
    place = found.pop() if len(found) == 1 else None
    if place is None and mistakes and len(others) == 1 and (
            lacking == 1 or not any(map(LEFT_OUT.match, mistakes))):
        place = others[0].lineno
    is_other = isinstance(place, int) and first_wrong not in (None, place)
    return mistakes, None if is_other else place, False


def own_parts(solved: list[ast.stmt], others: list[ast.stmt], line: ast.stmt) -> set[str]:
    """Return the variables that `others`, except `line`, assign and that `solved` does not use."""
    # such a variable may hold a part of what one line of the solution computes
    stored = [names(target) for node in others if node is not line
              for target in getattr(node, "targets", ())]
    return set().union(*stored).difference(*map(names, solved))


def names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def value_of(node: ast.stmt) -> str:
    """Return the code of the assigned or returned value, or else of the whole statement."""
    return ast.unparse(getattr(node, "value", None) or node)


def of_curated(exercise: Exercise, mistake: str) -> list[ast.stmt]:
    """Return the wrong statements of the curated mistakes with the description `mistake`."""
    return [node for changed in changed_texts(exercise, mistake)
            for node in added(exercise.solution, changed, exercise.blanks)]


def lacks(exercise: Exercise, mistake: str, blank: str) -> bool:
    """Return whether a curated mistake drops or changes a statement of the function `blank`."""
    return any(added(changed, exercise.solution, [blank])
               for changed in changed_texts(exercise, mistake))


def changed_texts(exercise: Exercise, mistake: str) -> list[str]:
    """Return the solution's code with each curated mistake that has the description `mistake`."""
    return [exercise.changed(right, wrong) for right, wrong, description in exercise.mistakes
            if description == mistake]


def added(before: str, after: str, blanks: Sequence[str]) -> list[ast.stmt]:
    """Return the statements in the functions `blanks` that occur in `after` but not in `before`."""
    old = Counter(map(text_of, statements(ast.parse(before), blanks)))
    new = list(statements(ast.parse(after), blanks))
    more = Counter(map(text_of, new)) - old
    return [node for node in new if text_of(node) in more]
