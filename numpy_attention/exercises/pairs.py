"""Two slips at once of which one goes through the other: what they give has to be tried.

`python tools/exercise_bank.py` runs the pairs of slips of every solution and writes pairs.npz: for
each whose effects do not just add up (those are found from the bank, `bank.two_at_once`) the two
slips and one number, made of all that it gives on the first seed. A reader's number is looked up
there; those pairs that have it are run anew, and are told where all outputs and gradients agree,
on both seeds.
"""

import ast
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.exercises.exercise import SEEDS, Exercise
from numpy_attention.exercises.mistakes import MISTAKES
from numpy_attention.exercises.operators import (
    Change, changes, instead, place_of, placed, statements, with_change)
from numpy_attention.exercises.signature import NEAR, Numbers, agree, signature
from numpy_attention.exercises.source import run
from numpy_attention.exercises.timing import SECONDS, at_most

FILE = Path(__file__).with_name("pairs.npz")
MOST_PAIRS = 3_000  # of an exercise: of more, the slips that come first in COMMON are paired
MOST_TRIED = 40     # pairs that are run anew in a check
CLOSE = 1e-5        # relative, of their numbers: more than rounding does to them
# what people do oftenest comes first; one array for another, of which there are most, last
COMMON = ("the opposite sign", "a factor that is left out", "a term that is left out",
          "assigned where it should be added", "a transpose that is left out",
          "a product the wrong way round", "x for 1 - x", "the derivative of", "another step",
          "a mask", "a division that is left out", "a mean for a sum", "a sum over another axis",
          "a step", "a part that is", "< for ≤", "")


class Paired(NamedTuple):
    """A slip that can be made beside another. blank: in which; statement: its number there;
    said: in words; curated: whether these are a sentence of its own.
    """

    blank: str
    statement: int
    change: Change
    said: str
    curated: bool = False


class Pair(NamedTuple):
    """Two slips that together give a reader's numbers."""

    one: Paired
    other: Paired


def slips_of(exercise: Exercise) -> list[Paired]:
    """The slips of an exercise that are tried in pairs, in an order that is always the same."""
    found = list(curated(exercise))
    for blank, function in functions_of(exercise).items():
        parts = {place_of(node): number for number, statement in enumerate(statements(function))
                 for node in ast.walk(statement)}
        for change in changes(function):
            said = f"{change.what}, in {change.of}" if change.of else change.what
            found.append(Paired(blank, parts[change.place], change, said))
    return found


def curated(exercise: Exercise) -> Iterator[Paired]:
    """The curated mistakes that stand in one statement."""
    text = exercise.source.text()
    for right, wrong, said in MISTAKES.get(exercise.name, ()):
        for blank, function in functions_of(exercise).items():
            other = placed(ast.parse(text.replace(right, wrong)), blank.rpartition(".")[2])
            here, there = list(statements(function)), list(statements(other))
            differ = [number for number, both in enumerate(zip(here, there))
                      if len({ast.dump(one) for one in both}) == 2]
            if len(here) == len(there) and len(differ) == 1 and not is_loop(here[differ[0]]):
                place = place_of(here[differ[0]])
                change = Change(place, said, "", partial(instead, there[differ[0]]))
                yield Paired(blank, differ[0], change, said, True)


def is_loop(node: ast.stmt) -> bool:
    return isinstance(node, ast.For)


def functions_of(exercise: Exercise) -> dict[str, ast.FunctionDef]:
    """{blank: its function in the solution}."""
    text = exercise.source.text()
    return {blank: placed(ast.parse(text), blank.rpartition(".")[2]) for blank in exercise.blanks}


# ---- to run a pair ------------------------------------------------------------------------------


class Trial:
    """The solution of an exercise, in which functions are exchanged."""

    def __init__(self, exercise: Exercise):
        self.exercise = exercise
        self.functions = functions_of(exercise)
        self.module = run(exercise.source.text(), exercise.name)

    def numbers(self, *slips: Paired, seeds: tuple[int, ...] = SEEDS) -> Numbers | None:
        """What the solution gives with these slips in it; None: it stops, or is not finite."""
        functions = dict(self.functions)
        try:
            for slip in slips:
                functions[slip.blank] = with_change(functions[slip.blank], slip.change)
            with at_most(SECONDS):
                for blank, function in functions.items():
                    put(self.module, blank, function)
                numbers = signature(self.exercise, self.module, seeds)
        except Exception:                           # whatever mistakes may come to
            return None
        return numbers if np.isfinite(list(numbers.values())).all() else None


def put(module: ModuleType, blank: str, function: ast.FunctionDef) -> None:
    """Define a function of a module, or of a class in it, anew."""
    owner: Any = module
    for name in blank.split(".")[:-1]:
        owner = getattr(owner, name)
    made: dict[str, Any] = {}
    code = compile(ast.Module([function], []), f"<{blank}>", "exec")
    exec(code, module.__dict__, made)
    setattr(owner, function.name, made[function.name])


# ---- how they are made --------------------------------------------------------------------------


def made(exercise: Exercise) -> np.ndarray:
    """The pairs that have to be kept: (first, second, number), by their numbers."""
    trial = Trial(exercise)
    right = trial.numbers(seeds=SEEDS[:1])
    assert right is not None
    solved = vector(right)
    found: list[tuple[int, int, float]] = []
    slips = slips_of(exercise)
    singles: list[tuple[int, np.ndarray]] = []
    seen = set()
    for number in in_order(slips):
        numbers = trial.numbers(slips[number], seeds=SEEDS[:1])
        if numbers is None or numbers.keys() != right.keys() or agree(numbers, right):
            continue
        same = (slips[number].blank, slips[number].statement,
                tuple(float(f"{one:.6g}") for one in numbers.values()))
        if same not in seen:
            seen.add(same)
            singles.append((number, vector(numbers)))
        if len(singles) * (len(singles) - 1) >= 2 * MOST_PAIRS:
            break
    alone = np.array([solved, *(its for _, its in singles)])
    for number, (first, one) in enumerate(singles):
        for second, other in singles[number + 1:]:
            pair = inner_first(slips, first, second)
            numbers = trial.numbers(*(slips[each] for each in pair), seeds=SEEDS[:1])
            if numbers is None or numbers.keys() != right.keys():
                continue
            both = vector(numbers)
            near = NEAR * (np.abs(both) + np.abs(both).max())
            if (np.abs(alone - both) <= near).all(1).any():
                continue                            # one undoes the other, or hides it
            if slips[first].statement == slips[second].statement or (
                    np.abs(one + other - solved - both) > near).any():
                found.append((pair[0], pair[1], number_of(both)))
    found.sort(key=lambda each: each[2])
    return np.array(found, [("first", "u2"), ("second", "u2"), ("number", "f4")])


def in_order(slips: list[Paired]) -> list[int]:
    """The numbers of the slips: curated ones, then those that people make oftenest."""
    def rank(number: int) -> tuple[bool, bool, int]:
        said = slips[number].said
        return (not slips[number].curated, "in the place of another" in said,
                next(at for at, what in enumerate(COMMON) if said.startswith(what)))
    return sorted(range(len(slips)), key=rank)


def inner_first(slips: list[Paired], *pair: int) -> list[int]:
    """Two slips, so that what writes a whole statement, or more of it, comes last."""
    return sorted(pair, key=lambda number: -slips[number].change.place)


def vector(numbers: Numbers) -> np.ndarray:
    return np.array(list(numbers.values()))


def number_of(numbers: np.ndarray) -> float:
    """One number of several, that has of each a part: their logarithms, weighted."""
    weights = np.random.default_rng(len(numbers)).uniform(0.5, 1.5, len(numbers))
    return float(weights @ (np.sign(numbers) * np.log1p(np.abs(numbers))))


# ---- how they are found -------------------------------------------------------------------------


@cache
def kept() -> dict[str, np.ndarray]:
    """The pairs as they ship; {} where they do not."""
    if not FILE.exists():
        return {}
    with np.load(FILE) as file:
        return {name: file[name] for name in file}


def found(exercise: Exercise, numbers: Numbers) -> list[Pair]:
    """The pairs that give these numbers."""
    table = kept().get(exercise.name)
    if table is None or not np.isfinite(list(numbers.values())).all():
        return []
    label = f"{SEEDS[0]} "
    first = np.array([one for name, one in numbers.items() if name.startswith(label)])
    if not first.size:
        return []
    wanted = number_of(first)
    near = np.abs(table["number"] - wanted) <= CLOSE * (1 + abs(wanted))
    at = np.flatnonzero(near)
    at = at[np.argsort(np.abs(table["number"][at] - wanted), kind="stable")][:MOST_TRIED]
    if not at.size:
        return []
    slips = slips_of(exercise)
    trial = Trial(exercise)
    pairs = []
    for row in table[at]:
        if max(row["first"], row["second"]) >= len(slips):
            continue
        pair = Pair(slips[row["first"]], slips[row["second"]])
        given = trial.numbers(*pair)
        if given is not None and agree(numbers, given):
            pairs.append(pair)
    return pairs
