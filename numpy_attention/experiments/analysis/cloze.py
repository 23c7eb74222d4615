"""Test whether a language model uses its context: the Children's Book Test (Hill et al. 2016).

A question has a context of twenty sentences and a query, which is the next sentence with a gap.
The model reads the context. Each candidate word fills the gap, and the candidate whose query is
most probable is the model's answer, as in Daniluk et al. 2017:

    choice = argmax_c  log p(query with c | context)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.bootstrap import Interval, mean_interval
from numpy_attention.data.batching import TextBatch, padded
from numpy_attention.data.cloze import Question, check_questions
from numpy_attention.data.running_text import Text
from numpy_attention.data.vocabulary import PAD, SPECIAL_TOKENS, Vocabulary
from numpy_attention.module import Array
from numpy_attention.registry import STATES
from numpy_attention.trees import tree_map
from numpy_attention.validation.arguments import (
    check_generator,
    check_kind,
    check_methods,
    check_name,
)
from numpy_attention.validation.arrays import LARGEST, at_least

TOGETHER = 20       # largest number of questions in a batch


@dataclass
class Cloze:
    """The answers of a model to cloze questions, and its accuracy.

    log_p: for each question, an array with log p of the query for each candidate in the gap
    right: for each question, 1 if the model's answer is correct and 0 if not, or 1 / k if the
        correct word is one of k candidates that share the best score, such as unknown words
    accuracy: the mean of `right`
    others: {baseline: interval of its accuracy}; the baselines are the model without the context,
        the candidate most frequent in the context, and the candidate most frequent overall
    gain: the mean, over questions, of how much the context increases `right`
    chance: the accuracy of guessing
    unknown: the fraction of correct words that are not in the vocabulary
    """

    log_p: list[Array]
    right: Array
    accuracy: Interval
    others: dict[str, Interval]
    gain: Interval
    chance: float
    unknown: float

    @property
    def choices(self) -> list[int]:
        """For each question, the index of the best candidate (the first, if several are equal)."""
        return [int(one.argmax()) for one in self.log_p]


def cloze_test(model: Any, vocabulary: Vocabulary, questions: Sequence[Question],
               rng: np.random.Generator, state: str = "carried",
               steps: int | None = 20) -> Cloze:
    """Evaluate a language model, or an ensemble, on cloze questions.

    vocabulary: the model's vocabulary, whose tokens must be ordered by frequency. rng: the random
    generator for the 95 % intervals. state, steps: the settings of the model's training.

    A candidate's score is log p of the whole query, including its </s>. With state "carried" or
    "article", the context and the query are one stream that begins with </s> and has </s> after
    every sentence. The stream is read `steps` tokens at a time (None: all at once). Cells carry
    their state through the stream. Attention sees the current `steps` tokens and the states that
    the model carries, so earlier context reaches the query only through the cells. With state
    "sentence" the query starts from an empty state, and the context cannot help.

    Raises TypeError for arguments of the wrong type, ValueError if there are no questions, and
    ArithmeticError for a log p that is not finite.
    """
    check_methods("model", model, "a language model", "losses")
    check_kind("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
    check_questions(questions)
    check_generator(rng)
    check_name("state", state, STATES)
    at_least(1, steps=steps)
    window = LARGEST if steps is None or state == "sentence" else steps

    def scores_from(state: str) -> list[Array]:
        asked = [readings(vocabulary, question, state) for question in questions]
        return scores(model, asked, window)
    log_p = scores_from(state)
    alone = log_p if state == "sentence" else scores_from("sentence")
    right = shares_right(log_p, questions)
    others = {
        "without the context": shares_right(alone, questions),
        "most often in the context": shares_right(list(map(counts, questions)), questions),
        "most frequent": shares_right([-ranks(vocabulary, one) for one in questions], questions),
    }

    def interval(shares: Array) -> Interval:
        return mean_interval(shares, np.ones(len(shares)), rng)
    return Cloze(
        log_p, right, interval(right),
        others={name: interval(shares) for name, shares in others.items()},
        gain=interval(right - others["without the context"]),
        chance=float(np.mean([1 / len(one.candidates) for one in questions])),
        unknown=float(np.mean([one.word not in vocabulary for one in questions])))


def shares_right(values: Sequence[Array], questions: Sequence[Question]) -> Array:
    """Return an array with 1 for each question whose correct word has the largest value, else 0.

    A correct word that is one of k candidates with the largest value counts as 1 / k.
    """
    found = []
    for one, question in zip(values, questions):
        best = one == one.max()
        found.append(best[question.answer] / best.sum())
    return np.array(found)


def counts(question: Question) -> Array:
    """Count how often each candidate of a question occurs in the context."""
    held = [token for sentence in question.context for token in sentence]
    return np.array([held.count(word) for word in question.candidates])


def ranks(vocabulary: Vocabulary, question: Question) -> Array:
    """Return the rank of each candidate by frequency; unknown candidates share the last rank."""
    ids = np.array(vocabulary.encode(question.candidates))
    return np.where(ids < len(SPECIAL_TOKENS), len(vocabulary), ids)


# ---- log p of the queries ------------------------------------------------------------------------


class Readings(NamedTuple):
    """The ids that a model reads for a question.

    past: the ids before the query, starting with </s>. queries: the ids of each different query,
    with </s> at the end; candidates that are unknown to the model give the same query. which: for
    each candidate, the index of its query in `queries`.
    """

    past: list[int]
    queries: list[list[int]]
    which: list[int]


def readings(vocabulary: Vocabulary, question: Question, state: str) -> Readings:
    """Encode the queries of a question and, unless `state` is "sentence", its context."""
    context = [] if state == "sentence" else list(map(list, question.context))
    past = Text([context]).stream(vocabulary)
    filled = [Text([[question.filled(word)]]).stream(vocabulary)[1:]
              for word in question.candidates]
    distinct = sorted(set(map(tuple, filled)))
    return Readings(past, [list(ids) for ids in distinct],
                    [distinct.index(tuple(ids)) for ids in filled])


def scores(model: Any, questions: Sequence[Readings], steps: int) -> list[Array]:
    """For each question, return a float64 array with log p of the query for each candidate.

    steps: the length of the windows in which the model reads the text.
    """
    # windows before the query are read once for all candidates
    windows = [(len(one.past) - 1) // steps for one in questions]
    found: list[Array] = [np.empty(0)] * len(questions)
    for count in sorted(set(windows)):
        alike = [n for n, own in enumerate(windows) if own == count]
        for start in range(0, len(alike), TOGETHER):
            group = alike[start:start + TOGETHER]
            asked = [questions[n] for n in group]
            for n, log_p in zip(group, scores_of_group(model, asked, count * steps, steps)):
                found[n] = log_p
    return found


def scores_of_group(model: Any, group: Sequence[Readings], read: int,
                    steps: int) -> list[Array]:
    """Return the result of `scores` for questions whose queries begin in the same window.

    read: the number of ids before this window. steps: the length of a window.
    """
    inputs = np.array([one.past[:read] for one in group], np.int64).T
    _, state = losses_in_windows(model, inputs, np.full_like(inputs, PAD), None, steps)
    rows = [(k, query) for k, one in enumerate(group) for query in one.queries]
    state = rows_taken(state, [k for k, _ in rows])
    rests = [group[k].past[read:] for k, _ in rows]
    inputs = padded([rest + query[:-1] for rest, (_, query) in zip(rests, rows)])
    # targets that are PAD are not predicted
    targets = padded([[PAD] * (len(rest) - 1) + query for rest, (_, query) in zip(rests, rows)])
    losses, _ = losses_in_windows(model, inputs, targets, state, steps)
    if not np.isfinite(losses).all():
        raise ArithmeticError(f"log p of a query is {-losses[~np.isfinite(losses)][0]}; did "
                              "training diverge?")
    ends = np.cumsum([len(one.queries) for one in group])
    return [-part[one.which] for one, part in zip(group, np.split(losses, ends[:-1]))]


def losses_in_windows(model: Any, inputs: Array, targets: Array, state: Any,
                      steps: int) -> tuple[Array, Any]:
    """Return the sum (B,) of −log p(target) over all targets of a row, and the last state.

    inputs, targets (T, B) are read in windows of `steps` tokens, beginning with `state`.
    """
    T, B = inputs.shape
    total = np.zeros(B)
    for start in range(0, T, steps):
        window = slice(start, start + steps)
        batch = TextBatch(np.ascontiguousarray(inputs[window]),
                          np.ascontiguousarray(targets[window]), np.arange(B))
        losses, state = model.losses(batch, state)
        total += losses.sum(0)
    return total, state


def rows_taken(state: Any, rows: Sequence[int]) -> Any:
    """Select rows of a state. The state of an ensemble is a list with one state for each model."""
    if isinstance(state, list):
        return [rows_taken(one, rows) for one in state]
    return tree_map(lambda array: array[rows], state)
