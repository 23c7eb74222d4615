"""An exercise: what is asked, where it is cut from, and the cases that it is checked on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.course.exercises.source import Source, run

STAGES = ("runs", "returns", "shapes", "protocol", "values", "gradients", "laws")
SEEDS = (11, 12)


class Case(NamedTuple):
    """What is checked: as `gradcheck` takes it; without a backward the values alone.

    backward(doutput, …, cache, grads). causal: the axis of time in what reads its own past. differ:
    (found, right) → how an output differs, in words, where its numbers would say little.
    """

    forward: Callable
    inputs: Sequence[Any]
    backward: Callable | None = None
    target: Any = None
    causal: int | None = None
    differ: Callable[[Any, Any], str] | None = None


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    name: of its file; lesson: where it belongs; blanks: what is left to the reader, "softmax" or
    "PlainRNN.backward"; text: the task, with equations and shapes; needs: exercises that come
    before it; cases(rng, its): what `its` names, those of the reader's file or of the solution,
    are to be checked on; hints: law, line, derivative; why: what a solution is written so for;
    unseen: a mistake that no gradient check would see; planted: (right, wrong), in an exercise in
    which a mistake is to be found.
    """

    name: str
    title: str
    lesson: str
    source: Source
    blanks: tuple[str, ...]
    text: str
    cases: Callable[[np.random.Generator, Any], Iterator[Case]]
    hints: tuple[str, str, str]
    why: str
    unseen: str = ""
    needs: tuple[str, ...] = ()
    planted: tuple[str, str] | None = None

    @property
    def solution(self) -> str:
        """The file as it should be."""
        return self.head + self.source.text()

    @property
    def start(self) -> str:
        """The file as it is given."""
        if self.planted is None:
            return self.head + self.source.text(self.blanks)
        right, wrong = self.planted
        text = self.source.text()
        if text.count(right) != 1:
            raise LookupError(f"{self.name}: {right!r} stands {text.count(right)} times in it")
        return self.head + text.replace(right, wrong)

    @property
    def head(self) -> str:
        """The docstring of its file."""
        number = self.lesson.partition("_")[0]
        text = self.text.strip("\n")
        return (f'"""Exercise {self.name}: {self.title} (lesson {number}).\n\n'
                f'{text}\n\n    numpy-attention exercise check {self.name}\n"""\n\n')

    @cached_property
    def right(self) -> ModuleType:
        """The solution, run."""
        return run(self.solution, self.name)

    def pairs(self, its: Any, seed: int) -> Iterator[tuple[Case, Case]]:
        """Each case with the reader's functions, and the same with the solution's."""
        return zip(self.cases(np.random.default_rng(seed), its),
                   self.cases(np.random.default_rng(seed), self.right), strict=True)
