"""Right calls of the cloze test, its questions and their files, and of what kind arguments are."""

import functools

import numpy as np
from hostility.kinds import file, flag, generator, made, one_of, tokens, whole
from hostility.uses_data import text, vocabulary

from numpy_attention import analysis
from numpy_attention.data import cloze
from numpy_attention.data.cloze import Question
from numpy_attention.data.running_text import Text
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models.language_model import LanguageModel

LETTERS = "a b c".split()
ASKED = Text([[LETTERS, LETTERS, ["b"]]])
QUESTION = Question((("a", "b"), ("c",)), ("a",), (), ("b", "c"), 0)
FILE = "1 a b\n2 a XXXXX\tb\t\tb|c\n"


@functools.cache
def model():
    return LanguageModel.create(np.random.default_rng(0), 7, hidden=4, layers=1)


def questions():
    return made(lambda: [QUESTION], QUESTION, [QUESTION, None], [("a", "b")])


def file_to_write():
    """The name of a file to write."""
    return made(lambda: "made.txt", "", fits=lambda value: (
        isinstance(value, str) and value == "x"))


def asked(model, vocabulary, questions, rng, state, steps):
    found = analysis.cloze_test(model, vocabulary, questions, rng, state, steps)
    return found.log_p, found.accuracy


CATALOGUE = {
    "Question": (Question, {
        "context": made(lambda: [LETTERS], LETTERS, ["ab"], [LETTERS, []], [[1]]),
        "before": tokens("a", "b", least=0), "after": tokens("a", least=0),
        "candidates": tokens("b", "c", least=2),
        "answer": whole(1, 0, 1)}),
    "make_questions": (cloze.make_questions, {
        "text": made(lambda: ASKED, LETTERS, text),
        "vocabulary": made(lambda: Vocabulary(LETTERS), LETTERS, vocabulary),
        "number": whole(1, 1, 1), "rng": generator(), "sentences": whole(2, 1, 2),
        "candidates": whole(2, 2, 2), "frequent": whole(0, 0, 0)}),
    "read_questions": (cloze.read_questions, {"path": file(FILE), "lowercase": flag(True)}),
    "write_questions": (cloze.write_questions, {
        "questions": questions(), "path": file_to_write()}),
    "cloze_test": (asked, {
        "model": made(model, LanguageModel), "vocabulary": made(
            lambda: Vocabulary(LETTERS), LETTERS), "questions": questions(), "rng": generator(),
        "state": one_of("carried", "article", "sentence"), "steps": whole(2, optional=True)}),
}
