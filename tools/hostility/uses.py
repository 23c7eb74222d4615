"""Hostile calls of the upper rooms: data, models, decoding, training, runs, metrics, pictures.

A right call out of the catalogues with one argument replaced, now and then two: by rubbish, by what
is wrong for an argument of its kind, or by the same value in another form.

    a wrong value                refused: one clear line of the project's own; nothing written
    the same in another form     refused so, or what the right call gives
    nothing replaced             right
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hostility import uses_cloze, uses_data, uses_models, uses_pictures, uses_training
from hostility.judge import alike, judged
from hostility.kinds import RUBBISH, Kind
from hostility.outcome import REFUSED, RIGHT, Attempt, Outcome

CATALOGUE: dict[str, tuple[Callable, dict[str, Kind]]] = (
    uses_data.CATALOGUE | uses_models.CATALOGUE | uses_training.CATALOGUE
    | uses_pictures.CATALOGUE | uses_cloze.CATALOGUE)


def attempt(rng: np.random.Generator, folder: Path) -> Attempt:
    """A call drawn by this generator."""
    names = list(CATALOGUE)
    name = names[int(rng.integers(len(names)))]
    call, kinds = CATALOGUE[name]
    drawn = rng.random()
    if drawn < 0.02:
        return Attempt(f"{name}()", lambda: _right(call, kinds, folder))
    arguments = list(kinds)
    argument = arguments[int(rng.integers(len(arguments)))]
    same = kinds[argument].same
    if same and drawn < 0.1:
        words = list(same)[int(rng.integers(len(same)))]
        return Attempt(f"{name}({argument}={words}), the same in another form",
                       lambda: _same(call, kinds, folder, argument, words))
    hostile = {argument: _drawn(rng, kinds[argument])}
    if len(arguments) > 1 and drawn > 0.85:
        other = arguments[int(rng.integers(len(arguments)))]
        hostile.setdefault(other, _drawn(rng, kinds[other]))
    what = ", ".join(f"{argument}={words}" for argument, (words, _) in hostile.items())
    makers = {argument: make for argument, (_, make) in hostile.items()}
    return Attempt(f"{name}({what})", lambda: _wrong(call, kinds, folder, makers))


def _drawn(rng: np.random.Generator, kind: Kind) -> tuple[str, Callable[[Path], Any]]:
    """In words, and the maker, of a value that is wrong for this kind; its own as often as not."""
    own = kind.wrong
    rubbish = {words: make for words, make in RUBBISH.items() if words not in kind.avoid}
    table = own if own and rng.random() < 0.5 else rubbish
    words = list(table)[int(rng.integers(len(table)))]
    return words, table[words]


def _arguments(kinds: dict[str, Kind], folder: Path,
               others: dict[str, Callable[[Path], Any]]) -> dict[str, Any]:
    os.chdir(folder)            # whatever a name without a folder stands for is written here
    return {name: others.get(name, kind.right)(folder) for name, kind in kinds.items()}


def _right(call: Callable, kinds: dict[str, Kind], folder: Path) -> Outcome:
    outcome, _ = judged(lambda: call(**_arguments(kinds, folder, {})))
    if outcome.verdict == REFUSED:
        return Outcome("silence", f"the right call is refused: {outcome.text}")
    return outcome


def _same(call: Callable, kinds: dict[str, Kind], folder: Path, argument: str,
          words: str) -> Outcome:
    plain, right = judged(lambda: call(**_arguments(kinds, folder, {})))
    if plain.verdict != RIGHT:
        return Outcome("silence", f"the right call is refused: {plain.text}")
    for path in folder.iterdir():
        _removed(path)
    others = {argument: kinds[argument].same[words]}
    outcome, result = judged(lambda: call(**_arguments(kinds, folder, others)))
    if outcome.verdict == RIGHT and not alike(result, right):
        return Outcome("silence", f"gives {result!r:.100}, not {right!r:.100}")
    return outcome


def _removed(path: Path) -> None:
    if path.is_dir():
        for inside in path.iterdir():
            _removed(inside)
        path.rmdir()
    else:
        path.unlink()


def _wrong(call: Callable, kinds: dict[str, Kind], folder: Path,
           makers: dict[str, Callable[[Path], Any]]) -> Outcome:
    arguments = _arguments(kinds, folder, makers)
    fits = all(kinds[name].fits(arguments[name]) for name in makers)
    before = _files(folder)
    outcome, result = judged(lambda: call(**arguments))
    if outcome.verdict == RIGHT and not fits:
        return Outcome("silence", f"accepted: gives {result!r:.100}")
    if outcome.verdict == REFUSED and _files(folder) != before:
        return Outcome("silence", f"refused, but wrote {sorted(_files(folder) - before)}")
    return outcome


def _files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if path.is_file()}
