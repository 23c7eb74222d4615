"""The bank of mistakes: what each of them gives, so that a reader's numbers name the mistake.

`python tools/exercise_bank.py` makes bank.json: for every exercise the signatures of its curated
mistakes (`mistakes`) and of all slips in one place of its solution (`operators`). Those that give
what the solution gives, or that stop, are none. Of two at once, whose effects add up, nothing is
kept: they are found from those of one.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.course.exercises import operators, wider
from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.course.exercises.mistakes import MISTAKES
from numpy_attention.course.exercises.operators import slips
from numpy_attention.course.exercises.signature import NEAR, Numbers, agree, signature
from numpy_attention.course.exercises.source import run
from numpy_attention.course.exercises.timing import SECONDS, at_most

FILE = Path(__file__).with_name("bank.json")
DIGITS = 8
MOST = 3            # mistakes that are told
ELSEWHERE = re.compile(r", in what makes `([\w.]+)`$")
INSTEAD = re.compile(r"^`(\w+)` in the place of another array")


class Known(NamedTuple):
    """A mistake, in words, and its numbers; curated: with a sentence of its own."""

    said: str
    numbers: Numbers
    curated: bool = False


def told(exercise: Exercise, numbers: Numbers, names: Set[str]) -> list[str]:
    """The mistakes that give these numbers, in words, curated ones alone where there are any; []
    where none does. names: of the reader's code, in which a slip is told.
    """
    found = [one for one in kept().get(exercise.name, ()) if agree(numbers, one.numbers)]
    words = [one.said for one in found if one.curated]
    words = words or [in_their_words(one.said, names) for one in found]
    words = words or two_at_once(exercise, numbers, names)
    return list(dict.fromkeys(filter(None, words)))[:MOST]


def two_at_once(exercise: Exercise, numbers: Numbers, names: Set[str]) -> list[str]:
    """Pairs of mistakes that give these numbers together, in words: n = r + (n₁ - r) + (n₂ - r),
    where r are the solution's. So it is where neither goes through the other. What two slips in
    one place, or two that undo each other, would give is no pair.
    """
    right = signature(exercise, exercise.right)
    mistakes = [one for one in kept().get(exercise.name, ()) if one.numbers.keys() == right.keys()]
    if numbers.keys() != right.keys() or not np.isfinite(list(numbers.values())).all():
        return []
    wanted, solved = (np.array([one[name] for name in right]) for one in (numbers, right))
    changes = np.array([[one.numbers[name] for name in right] for one in mistakes]) - solved
    near = NEAR * (np.abs(wanted) + np.abs(wanted).max())
    differs = np.abs(wanted - solved) > near
    found = []
    for number, change in enumerate(changes):
        others = np.abs(wanted - solved - change - changes[number + 1:]) <= near
        for other in np.flatnonzero(others.all(1)) + number + 1:
            both = (np.abs(change) > near) & (np.abs(changes[other]) > near)
            pair = (mistakes[number], mistakes[other])
            if not both.any() or (in_two_places(*pair) and differs[both].all()):
                found.append(pair)
    curated = [sum(one.curated for one in pair) for pair in found]
    return [both for pair, number in zip(found, curated) if number == max(curated)
            if (both := both_in_words(pair, names))]


def in_two_places(*pair: Known) -> bool:
    """Whether two slips are known to stand in two places of the solution."""
    places = [one.said.rpartition(", in ")[2] for one in pair if ", in " in one.said]
    return not any(one.curated for one in pair) and len(set(places)) == 2


def both_in_words(pair: tuple[Known, Known], names: Set[str]) -> str:
    """What is said of two mistakes at once; "": they cannot be told apart, or one not told."""
    one, other = (each.said if each.curated else in_their_words(each.said, names) for each in pair)
    return f"two slips: {one}; and {other}" if one and other and one != other else ""


def in_their_words(said: str, names: Set[str]) -> str:
    """What is said of a slip of the solution, without the names that the reader's code lacks; "":
    nothing is left.
    """
    place = ELSEWHERE.search(said)
    if place and place[1] not in names:
        said = said[:place.start()]
    other = INSTEAD.match(said)
    if other and other[1] not in names:
        place = ELSEWHERE.search(said)
        return f"one array in the place of another{place[0]}" if place else ""
    return said


def names_in(exercise: Exercise, tree: ast.Module) -> set[str]:
    """The names and attributes in what the reader wrote: {"dh", "grads.W", …}."""
    wanted = {blank.rpartition(".")[2] for blank in exercise.blanks}
    return {ast.unparse(node) for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef) and function.name in wanted
            for node in ast.walk(function) if isinstance(node, (ast.Name, ast.Attribute, ast.arg))}


@cache
def kept() -> dict[str, list[Known]]:
    """The bank as it ships."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: [Known(said, dict(zip(bank["names"], values)), curated)
                   for said, curated, values in bank["mistakes"]]
            for name, bank in found.items()}


# ---- how it is made -----------------------------------------------------------------------------


def mistaken(exercise: Exercise) -> Iterator[tuple[str, bool, str]]:
    """(words, whether it is curated, text) of every mistake that an exercise may have."""
    solution = exercise.source.text()
    for right, wrong, said in MISTAKES.get(exercise.name, ()):
        if solution.count(right) != 1:
            raise LookupError(f"{exercise.name}: {right!r} stands {solution.count(right)} times "
                              "in the solution")
        yield said, True, solution.replace(right, wrong)
    for blank in exercise.blanks:
        name = blank.rpartition(".")[2]
        for slip in (*slips(solution, name), *wider.wider(solution, name)):
            yield slip.said, False, slip.text


def made(exercise: Exercise) -> list[Known]:
    """The mistakes of an exercise whose numbers differ from the solution's, each set once."""
    right = signature(exercise, exercise.right)
    found: list[Known] = []
    for said, curated, text in mistaken(exercise):
        numbers = numbers_of(exercise, text)
        if numbers is None or numbers.keys() != right.keys() or agree(numbers, right):
            if curated:
                raise ValueError(f"{exercise.name}: {said!r} changes nothing, or stops")
            continue
        if not any(one.said == said and agree(numbers, one.numbers) for one in found):
            found.append(Known(said, numbers, curated))
    return found


def numbers_of(exercise: Exercise, text: str) -> Numbers | None:
    """The signature of a text; None: it stops, or gives what is not finite."""
    try:
        with at_most(SECONDS):
            numbers = signature(exercise, run(text, exercise.name))
    except Exception:                               # whatever a mistake may come to
        return None
    return numbers if np.isfinite(list(numbers.values())).all() else None


def digest(exercise: Exercise) -> str:
    """Of all that its part of the bank is made of, but of the cases: solution, mistakes, and how
    slips are made.
    """
    found = hashlib.sha256(exercise.source.text().encode())
    found.update(repr((exercise.blanks, MISTAKES.get(exercise.name))).encode())
    for module in (operators, wider):
        found.update(Path(str(module.__file__)).read_bytes())
    return found.hexdigest()[:16]


def is_as_made(exercise: Exercise) -> bool:
    """Whether the bank that ships was made of what is there: by its digest, and by the numbers of
    the solution, which tell the cases. No mistake is run.
    """
    found = json.loads(FILE.read_text(encoding="utf-8")).get(exercise.name, {})
    right = dict(zip(found.get("names", ()), found.get("right", ())))
    return (found.get("digest") == digest(exercise)
            and agree(signature(exercise, exercise.right), right))


def part_of(exercise: Exercise, mistakes: list[Known]) -> dict[str, Any]:
    """What bank.json has of an exercise."""
    right = signature(exercise, exercise.right)
    return {"digest": digest(exercise), "names": list(right), "right": rounded(right),
            "mistakes": [[one.said, one.curated, rounded(one.numbers)] for one in mistakes]}


def rounded(numbers: Numbers) -> list[float]:
    return [float(f"{one:.{DIGITS}g}") for one in numbers.values()]


def as_text(found: dict[str, dict[str, Any]]) -> str:
    """bank.json, a mistake a line."""
    rows = (f"{json.dumps(name)}: " + json.dumps(one | {"mistakes": ()}).removesuffix(
        ', "mistakes": []}')
            + ', "mistakes": [\n' + ",\n".join(json.dumps(each, ensure_ascii=False)
                                               for each in one["mistakes"]) + "\n]}"
            for name, one in found.items())
    return "{" + ",\n".join(rows) + "}\n"
