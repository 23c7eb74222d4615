"""Exercises: a task, its reference implementation, test cases, and common mistakes.

A curated mistake is a tuple (right, wrong, sentence). `right` is a part of the solution's code,
`wrong` replaces `right`, and the sentence, written by hand, describes the mistake to the user.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.course.exercises.source import Source, run

STAGES = ("runs", "returns", "shapes", "protocol", "values", "gradients", "laws")
SEEDS = (11, 12)
APART = " … "       # separates the changes of a curated mistake with several changes
# the text of an exercise in which the user has to find a planted mistake
FIND_THE_LINE = """
All of it is written, and one line is wrong. The check reports what is right and what is wrong, but
not the line: find it by thinking of what the wrong gradients have in common and the right ones do
not. Change only that line.
"""
# common mistakes in the backward pass of a softmax, for every exercise that contains one
ONE_TERM = ("you took α dα, only the first term of the Jacobian diag(α) − α αᵀ; first subtract the "
            "mean Σ α dα from dα, because every weight depends on every score")
DIAGONAL = ("you took the Jacobian's diagonal α (1 − α) alone; it should be α (dα − Σ α dα), "
            "because every weight depends on every score: they add up to 1")
UNWEIGHTED = ("you subtracted the plain mean of dα; it should be Σ α dα, because words are "
              "attended to by α and not all alike")
UNSUMMED = ("you subtracted the plain sum of dα; it should be Σ α dα, because each dα counts by "
            "the weight of its word")
SECOND = ("you left α out of the second term; it should be α (dα − Σ α dα), because both terms of "
          "the Jacobian have it")

Mistakes = tuple[tuple[str, str, str], ...]


def instead(line: str, right: str, *changes: tuple[str, str]) -> Mistakes:
    """Return curated mistakes in one line of a solution, as tuples (line, wrong line, sentence).

    changes: pairs (code that replaces `right` in the line, sentence about the mistake).
    """
    return tuple((line, line.replace(right, wrong), sentence) for wrong, sentence in changes)


def softmax_mistakes(line: str, alpha: str, dalpha: str) -> Mistakes:
    """Return curated mistakes for a line with alpha * (dalpha - (alpha * dalpha).sum(…))."""
    start = line[:line.index(f"{alpha} * (")]
    return ((line, f"{start}{alpha} * {dalpha}", ONE_TERM),
            (line, f"{start}{alpha} * (1 - {alpha}) * {dalpha}", DIAGONAL),
            *instead(line, f"({alpha} * {dalpha}).sum(", (f"{dalpha}.mean(", UNWEIGHTED),
                     (f"{dalpha}.sum(", UNSUMMED)),
            *instead(line, f"{alpha} * ({dalpha} -", (f"1 * ({alpha} * {dalpha} -", SECOND)))


def tanh_mistakes(line: str, x: str, name: str = "") -> Mistakes:
    """Return curated mistakes for a line with (1 - x**2). name: the name of x in messages."""
    name = name or x
    should = f"it should be 1 − {name}², because"
    return (*instead(
        line, f"(1 - {x}**2)",
        (f"(1 - {x})", f"you forgot the square; {should} that is the derivative of the tanh"),
        (f"(1 - {x})**2", f"you squared the difference; {should} that is the derivative of the "
         "tanh"),
        (f"{x} * (1 - {x})", f"you used σ's derivative; {should} {name} is a tanh"),
        (f"(1 - np.tanh({x})**2)", f"you took the tanh of {name}; {should} {name} is a tanh "
         "already")),
        *instead(line, f" * (1 - {x}**2)", ("", "you left out the derivative of the tanh; it "
                                            f"should be a factor 1 − {name}²")))


def sigmoid_mistakes(line: str, s: str) -> Mistakes:
    """Return curated mistakes for a line with the factor s * (1 - s), where s is a sigmoid."""
    again = f"(1 / (1 + np.exp(-{s})))"
    should = f"it should be {s} (1 − {s}), because"
    return instead(
        line, f"{s} * (1 - {s})",
        (s, f"you left out 1 − {s}; {should} {s} is a σ"),
        (f"(1 - {s})", f"you left out one factor {s}; {should} {s} is a σ"),
        (f"(1 - {s}**2)", f"you used tanh's derivative; {should} {s} is a σ"),
        (f"{again} * (1 - {again})", f"you took σ of {s}; {should} {s} is a σ already"))


def batch_mistakes(line: str, array: str, name: str) -> Mistakes:
    """Return curated mistakes for a line with array.sum(0), the gradient of the bias `name`."""
    total = line[line.index(f"{array}.sum("):]
    total = total[:total.index("0)") + 2]
    should = "it should be the sum over the batch, because every row used it"
    return instead(
        line, total,
        (f"{array}.mean(0)", f"you averaged the gradient of {name}; {should}"),
        (f"{array}[0]", f"you took the gradient of {name} from the first row alone; {should}"),
        (f"{array}[-1]", f"you took the gradient of {name} from the last row alone; {should}"))


def set_mistakes(because: str, *lines: str) -> Mistakes:
    """Return curated mistakes for lines `grads.X += …`: an assignment, or a missing gradient.

    because: the reason for adding the gradient, as the end of a sentence.
    """
    found: list[tuple[str, str, str]] = []
    for line in lines:
        name = line[:line.index(" +=")].replace("grads.", "")
        found += instead(
            line, line[line.index(" +="):],
            (line[line.index(" +="):].replace(" +=", "[...] =", 1), f"you set the gradient of "
             f"{name}; it should be added with +=, because {because}"),
            (" += 0", f"you left out the gradient of {name}; it should be added, because the "
             f"forward pass reads {name}"))
    return tuple(found)


class Case(NamedTuple):
    """A test case of an exercise: the passes to check and their inputs, as for `gradcheck`.

    forward: the function of the forward pass
    inputs: the arguments of `forward`
    backward: called as backward(doutput, …, cache, grads). If it is None, `forward` returns no
        cache, and only the outputs are checked.
    target: the Module with the parameters, or None
    causal: the time axis if the mechanism must not read the future, otherwise None
    differ: a function differ(found, right) that describes the error in the output `found`, or None
    """

    forward: Callable
    inputs: Sequence[Any]
    backward: Callable | None = None
    target: Any = None
    causal: int | None = None
    differ: Callable[[Any, Any], str] | None = None


@dataclass(frozen=True, eq=False)
class Exercise:
    """A task with its reference implementation, test cases, hints and common mistakes.

    name: the name of the exercise, such as "causal-mask". The user's file is then causal_mask.py.
    title: the subject in a few words
    lesson: the file name of the lesson, without extension
    position: the position among the exercises of the lesson, from 1
    source: the reference implementation
    text: the task, with equations and shapes
    cases: a function cases(rng, its) that yields test cases of the functions in the module `its`
    hints: three hints, each closer to the solution: a law, the line to write, the derivative
    why: why the solution is written as it is
    blanks: the functions that the user writes, such as "softmax" or "PlainRNN.backward"
    unseen: a mistake that no gradient check would see
    needs: the names of the exercises to solve before this exercise
    mistakes: the curated mistakes (right, wrong, sentence); `right` occurs once in the solution
    planted: (correct code, wrong code) of a mistake to find in the initial file, or None
    """

    name: str
    title: str
    lesson: str
    position: int
    source: Source
    text: str
    cases: Callable[[np.random.Generator, Any], Iterator[Case]]
    hints: tuple[str, str, str]
    why: str
    blanks: tuple[str, ...] = ()
    unseen: str = ""
    needs: tuple[str, ...] = ()
    mistakes: tuple[tuple[str, str, str], ...] = ()
    planted: tuple[str, str] | None = None

    @property
    def solution(self) -> str:
        """The text of the solved file."""
        return self.head + self.source.text()

    @property
    def start(self) -> str:
        """The initial text of the user's file."""
        if self.planted is None:
            return self.head + self.source.text(self.blanks)
        return self.head + self.changed(*self.planted)

    def changed(self, right: str, wrong: str) -> str:
        """Return the code of the reference implementation with `wrong` instead of `right`.

        Both may have parts, separated by " … ". Raises LookupError unless each part of `right`
        occurs once in the code.
        """
        text = self.source.text()
        for before, after in zip(right.split(APART), wrong.split(APART), strict=True):
            if text.count(before) != 1:
                raise LookupError(f"{self.name}: {before!r} occurs {text.count(before)} times in "
                                  "the reference implementation; expected once")
            text = text.replace(before, after)
        return text

    def has_curated(self, description: str) -> bool:
        """Return whether a curated mistake has this description."""
        return any(one == description for _, _, one in self.mistakes)

    @property
    def head(self) -> str:
        """The docstring at the beginning of the exercise's file."""
        number = self.lesson.partition("_")[0]
        text = self.text.strip("\n")
        return (f'"""Exercise {self.name}: {self.title} (lesson {number}).\n\n'
                f'{text}\n\n    numpy-attention exercise check {self.name}\n"""\n\n')

    @cached_property
    def right(self) -> ModuleType:
        """The solution as a module."""
        return run(self.solution, self.name)

    def pairs(self, its: Any, seed: int) -> Iterator[tuple[Case, Case]]:
        """Yield test cases in pairs: with functions of the module `its`, and of the solution."""
        return zip(self.cases(np.random.default_rng(seed), its),
                   self.cases(np.random.default_rng(seed), self.right), strict=True)
