"""Recognize known mistakes by their signatures: one mistake, or two whose effects add up.

Code with the signature of a known mistake (see `signatures`) computes the same wrong values.
"""

import ast
import re
from collections.abc import Set

import numpy as np

from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.course.exercises.mutations.change import COMPUTATION
from numpy_attention.course.exercises.signatures import (
    NEAR,
    Mistake,
    Numbers,
    agree,
    known_mistakes,
    signature,
)

MOST = 3            # mistakes that are reported
VAGUE = "another number"    # such as that of an axis
ELSEWHERE = re.compile(r", in the computation of `([\w.]+)`$")
INSTEAD = re.compile(r"^`([\w.]+)` instead of `([\w.]+)`")
TWO, AND = "two mistakes: ", "; and "
# the description of a mutation, as a sentence
SENTENCES = (
    (r"(an? |)missing (.*)", r"you left out \1\2"), (r"(the .*) missing", r"you left out \1"),
    (r"(assigned|added .*)", r"you \1"),
    (r"(a \w+) (used|added) twice", r"you \2 \1 twice"), (r"(two .*) swapped", r"you swapped \1"),
    (r"(.*) cut off", r"you cut off \1"), (r"(.*)", r"you used \1"))


def recognized(exercise: Exercise, numbers: Numbers, names: Set[str]) -> list[str]:
    """Describe at most three known mistakes, or pairs of mistakes, with the signature `numbers`.

    names: the names in the user's code. Descriptions of mutations contain no other names.
    """
    mistakes = known_mistakes(exercise)
    found = [one for one in mistakes if agree(numbers, one.numbers)]
    words = [one.description for one in found if one.curated]
    words = words or [without_others(one.description, names) for one in found]
    words = words or two_at_once(exercise, mistakes, numbers, names)
    words = [one for one in words if not one.startswith(VAGUE)] or words
    return list(dict.fromkeys(filter(None, words)))[:MOST]


def two_at_once(exercise: Exercise, mistakes: list[Mistake], numbers: Numbers,
                names: Set[str]) -> list[str]:
    """Describe each pair of mistakes that, made together in the solution, gives these `numbers`."""
    right = signature(exercise, exercise.right)
    mistakes = [one for one in mistakes if one.numbers.keys() == right.keys()]
    finite = np.isfinite(list(numbers.values())).all()
    if not mistakes or numbers.keys() != right.keys() or not finite:
        return []
    wanted, solved = (np.array([one[name] for name in right]) for one in (numbers, right))
    changes = np.array([[one.numbers[name] for name in right] for one in mistakes]) - solved
    near = NEAR * (np.abs(wanted) + np.abs(wanted).max())
    differs = np.abs(wanted - solved) > near
    found = []
    for number, change in enumerate(changes):
        others = np.abs(wanted - solved - change - changes[number + 1:]) <= near
        for other in np.flatnonzero(others.all(1)) + number + 1:
            both = (np.abs(change) > near) & (np.abs(changes[other]) > near)    # may interact
            pair = (mistakes[number], mistakes[other])
            if not both.any() or (in_two_places(*pair) and differs[both].all()):
                one, two = sorted((as_curated(one, mistakes) for one in pair), key=mistakes.index)
                found.append((one, two))
    curated = [sum(one.curated for one in pair) for pair in found]
    return [both for pair, number in zip(found, curated) if number == max(curated)
            if (both := both_described(pair, names))]


def in_two_places(*pair: Mistake) -> bool:
    """Return whether two mistakes are mutations of different statements."""
    places = [one.description.rpartition(", in ")[2] for one in pair if ", in " in one.description]
    return not any(one.curated for one in pair) and len(set(places)) == 2


def as_curated(mistake: Mistake, mistakes: list[Mistake]) -> Mistake:
    """Return a curated mistake with the signature of `mistake`, or else `mistake` itself."""
    return next((one for one in mistakes if one.curated and agree(one.numbers, mistake.numbers)),
                mistake)


def both_described(pair: tuple[Mistake, Mistake], names: Set[str]) -> str:
    """Describe two mistakes. Return "" if the descriptions are equal, or if one is empty."""
    one, other = (each.description if each.curated else without_others(each.description, names)
                  for each in pair)
    return f"{TWO}{one}{AND}{other}" if one and other and one != other else ""


def sentence(exercise: Exercise, description: str) -> str:
    """Return a description as a sentence: "a missing factor" becomes "you left out a factor"."""
    if exercise.has_curated(description):
        return description
    if description.startswith(TWO):
        parts = description.removeprefix(TWO).split(AND)
        return TWO + AND.join(sentence(exercise, one) for one in parts)
    what, _, where = description.partition(", in ")
    what, _, right = what.partition(" instead of ")
    did = next(found.expand(words) for pattern, words in SENTENCES
               if (found := re.fullmatch(pattern, what)))
    at = f" in {where.removeprefix(COMPUTATION).strip()}" if where else ""
    return f"{did}{at}" + (f"; it should be {right}" if right else "")


def without_others(description: str, names: Set[str]) -> str:
    """Remove all names except `names` from a description. Return "" if nothing is left."""
    place = ELSEWHERE.search(description)
    if place and place[1] not in names:
        description = description[:place.start()]
    other = INSTEAD.match(description)
    if other and other[1] not in names:
        place = ELSEWHERE.search(description)
        return f"the wrong array{place[0]}" if place else ""
    if other and other[2] not in names:
        return description.replace(f"of `{other[2]}`", "of another array", 1)
    return description


def names_in(exercise: Exercise, tree: ast.Module) -> set[str]:
    """Return names and attributes in the functions that the user writes: {"dh", "grads.W", …}."""
    wanted = {blank.rpartition(".")[2] for blank in exercise.blanks}
    return {ast.unparse(node) for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef) and function.name in wanted
            for node in ast.walk(function) if isinstance(node, (ast.Name, ast.Attribute, ast.arg))}
