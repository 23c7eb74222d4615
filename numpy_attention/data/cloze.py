"""Cloze questions in the form of the Children's Book Test: a gap, and ten words that may fill it.

F. Hill, A. Bordes, S. Chopra and J. Weston, "The Goldilocks Principle: Reading Children's Books
with Explicit Memory Representations", ICLR 2016. A file of this test contains such questions, with
a blank line after each:

    1 the river was high in the spring .
    …
    20 the boat lay on the bank .
    21 he pushed the XXXXX into the water .<tab>boat<tab><tab>bank|boat|river|…
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from numpy_attention.data.reading import read_lines
from numpy_attention.data.running_text import Sentence, Text, as_text
from numpy_attention.data.text_form import is_word
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.validation.arguments import (
    check_all,
    check_flags,
    check_generator,
    check_kind,
    check_list,
    check_text,
    check_tokens,
)
from numpy_attention.validation.arrays import check_sizes, check_whole
from numpy_attention.validation.messages import plural, short_repr
from numpy_attention.validation.paths import atomic_write, short_path

Tokens = tuple[str, ...]

GAP = "XXXXX"
NUMERAL = "N"       # replaces every number in the Penn Treebank


@dataclass(frozen=True)
class Question:
    """A cloze question: a context, a query (a sentence with a gap), and candidates for the gap.

    context: sentences, which are tuples of tokens
    before, after: the tokens of the query before and after the gap
    candidates: at least two different words
    answer: the index of the correct candidate

    Lists are converted to tuples. Raises TypeError for anything other than tokens, and ValueError
    for an empty context or sentence, for fewer than two candidates, for a repeated candidate, or if
    answer is not an index of candidates.
    """

    context: tuple[Tokens, ...]
    before: Tokens
    after: Tokens
    candidates: Tokens
    answer: int

    def __post_init__(self) -> None:
        check_list("context", self.context, "sentences, which are lists of tokens")
        for n, sentence in enumerate(self.context):
            check_tokens(f"context[{n}]", sentence)
            if not len(sentence):
                raise ValueError(f"context[{n}] is empty; expected at least one token")
        object.__setattr__(self, "context", tuple(map(tuple, self.context)))
        if not len(self.context):
            raise ValueError("context is empty; expected at least one sentence")
        for name in ("before", "after", "candidates"):
            check_tokens(f"`{name}`", getattr(self, name))
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not len(set(self.candidates)) == len(self.candidates) >= 2:
            raise ValueError(f"candidates are {short_repr(self.candidates)}; expected at least two "
                             "words, all different")
        check_whole("answer", self.answer, 0, len(self.candidates) - 1)

    @property
    def word(self) -> str:
        """The word that was left out."""
        return self.candidates[self.answer]

    def filled(self, word: str) -> list[str]:
        """Return the query with a word in its gap, as a list of tokens."""
        return [*self.before, word, *self.after]


# ---- questions from a text -----------------------------------------------------------------------


def make_questions(text: Text, vocabulary: Vocabulary, number: int, rng: np.random.Generator,
                   sentences: int = 20, candidates: int = 10, frequent: int = 100
                   ) -> list[Question]:
    """Draw `number` different questions from a text of words.

    The context of a question is `sentences` consecutive sentences of an article, not counting blank
    ones. The query is the next sentence. The word left out consists of letters, is in the
    vocabulary, and is neither the numeral `N` nor among the `frequent` most frequent words, which
    would test grammar. The vocabulary must be sorted by frequency, as by `Vocabulary.build`.

    The candidates are words of the same kind that occur in the context, but not in the rest of the
    query. Either all candidates begin with a capital or none does. The candidates are similar in
    frequency, and the answer is equally likely to have any frequency rank among them.

    Raises ValueError for a text of characters, sizes out of range, or a text with fewer than
    `number` questions.
    """
    text = as_text(text)
    check_kind("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
    check_generator(rng)
    check_sizes(number=number, sentences=sentences)
    check_sizes(2, candidates=candidates)
    check_sizes(0, frequent=frequent)
    if text.unit != "words":
        raise ValueError(f"this text is split into {text.unit}, but cloze questions need words")
    ranks = {word: rank for rank, word in enumerate(vocabulary.tokens)
             if rank >= frequent and is_word(word) and word != NUMERAL}
    articles = [[sentence for sentence in article if len(sentence)] for article in text.articles]
    places = [(article, query, gap)
              for article in articles
              for query in range(sentences, len(article))
              for gap, word in enumerate(article[query]) if word in ranks]
    questions: list[Question] = []
    for k in rng.permutation(len(places)):
        article, query, gap = places[k]
        context = article[query - sentences:query]
        question = question_at(context, article[query], gap, ranks, candidates, rng)
        if question is not None:
            questions.append(question)
        if len(questions) == number:
            return questions
    raise ValueError(f"number = {number}, but this text has only "
                     f"{plural(len(questions), 'question')} with "
                     f"{plural(sentences, 'context sentence')} and {candidates} candidates; use "
                     f"more text{', or ask for fewer questions' if questions else ''}")


def question_at(context: Sequence[Sentence], query: Sentence, gap: int, ranks: Mapping[str, int],
                candidates: int, rng: np.random.Generator) -> Question | None:
    """Return a Question about the word query[gap], or None if the word or context is unsuitable.

    ranks: {word that may be left out: its frequency rank}.
    """
    word = query[gap]
    before, after = tuple(query[:gap]), tuple(query[gap + 1:])
    known = ranks.keys() & set(chain.from_iterable(context)).difference(before + after)
    if word not in known:
        return None
    alike = [one for one in known if one[0].isupper() == word[0].isupper()]
    fitting = sorted(alike, key=ranks.__getitem__)
    place = fitting.index(word)
    # enough neighbours on both sides, so that all positions of the answer are equally likely
    if not candidates - 1 <= place <= len(fitting) - candidates:
        return None
    first = place - int(rng.integers(candidates))
    neighbours = fitting[first:first + candidates]
    words = tuple(neighbours[k] for k in rng.permutation(candidates))
    return Question(tuple(map(tuple, context)), before, after, words, words.index(word))


# ---- files ---------------------------------------------------------------------------------------


def read_questions(path: str | Path, lowercase: bool = False) -> list[Question]:
    """Read a file in the format of the Children's Book Test; return a list of its Questions.

    A question may have any number of sentences. A repeated candidate counts once, and empty
    candidates are ignored. Raises the errors of `read_lines`, and ValueError for a malformed file.
    """
    check_flags(lowercase=lowercase)
    questions = []
    context: list[Tokens] = []
    for number, line in enumerate([*read_lines(path), ""], 1):
        where = f"{short_path(path)}, line {number}"
        sentence, *columns = line.split("\t")
        place, *words = sentence.split() or ["\t"]
        expected = len(context) + 1
        if not line.strip():
            if context:
                raise ValueError(f"{where}: the question ends after "
                                 f"{plural(len(context), 'sentence')} and has no query; expected a "
                                 f"sentence numbered {expected} that contains {GAP}")
        elif place != str(expected):
            raise ValueError(f"{where} begins with {short_repr(place)}; expected the number "
                             f"{expected}. The sentences of each question are numbered from 1")
        elif columns:
            questions.append(_question(where, context, words, columns, lowercase))
            context = []
        elif words:
            context.append(_in_case(words, lowercase))
        else:
            raise ValueError(f"{where} has only a number; expected a sentence after it")
    if not questions:
        raise ValueError(f"{short_path(path)} contains no questions; expected numbered "
                         f"sentences, with {GAP} in the last one of each question")
    return questions


def _question(where: str, context: list[Tokens], query: Sequence[str], columns: Sequence[str],
              lowercase: bool) -> Question:
    """Build a Question from its context and its last line in a file.

    query: the tokens of the line's first column. columns: the other columns. where: file and line.
    """
    if len(columns) != 3:
        raise ValueError(f"{where} has {len(columns) + 1} tab-separated columns; expected 4: "
                         "query, answer, an empty column, candidates")
    if not context:
        raise ValueError(f"{where}: the query has no context; expected sentences before it")
    if query.count(GAP) != 1:
        found = "repeats" if GAP in query else "does not contain"
        raise ValueError(f"{where}: the query {found} the word {GAP}; expected it exactly once")
    fields = [field.split() for field in columns[2].split("|")]
    longest = max(fields, key=len)
    if len(longest) > 1:
        raise ValueError(f"{where}: the candidate {short_repr(' '.join(longest))} has several "
                         "words; separate candidates with |")
    words = tuple(dict.fromkeys(_in_case([field[0] for field in fields if field], lowercase)))
    answer, = _in_case([columns[0].strip()], lowercase)
    if answer not in words:
        raise ValueError(f"{where}: the answer {short_repr(answer)} is not among the candidates; "
                         "correct the answer or the candidates")
    if len(words) < 2:
        raise ValueError(f"{where} has only one candidate; expected at least two")
    gap = query.index(GAP)
    return Question(tuple(context), _in_case(query[:gap], lowercase),
                    _in_case(query[gap + 1:], lowercase), words, words.index(answer))


def _in_case(words: Sequence[str], lowercase: bool) -> Tokens:
    return tuple(word.lower() for word in words) if lowercase else tuple(words)


def write_questions(questions: Sequence[Question], path: str | Path) -> None:
    """Write questions to a file that `read_questions` can read. An existing file is replaced.

    Raises ValueError if there are no questions or if the format cannot represent one of the tokens,
    and OSError if the file cannot be written.
    """
    check_questions(questions)
    text = "".join(map(_lines_of, questions))
    with atomic_write(path) as file:
        file.write(text.encode())


def check_questions(questions: Sequence[Question]) -> None:
    """Raise TypeError unless `questions` is a list of Questions, and ValueError if it is empty."""
    check_list("questions", questions, "Questions")
    check_all("questions", questions, Question, "a Question")
    if not len(questions):
        raise ValueError("there are no questions; expected at least one")


def _lines_of(question: Question) -> str:
    """Return a question as the text of its lines in a file, with a blank line at the end."""
    query = question.filled(GAP)
    for token in [*query, *question.candidates, *chain.from_iterable(question.context)]:
        check_text("a token", token)
        if token.split() != [token] or "\0" in token:
            raise ValueError(f"the token {short_repr(token)} cannot be written to a file of "
                             "questions; expected text without white space or NUL characters")
    if query.count(GAP) > 1:
        raise ValueError(f"the query contains the token {GAP}, which marks the gap in the file; "
                         "replace this token")
    for word in question.candidates:
        if "|" in word:
            raise ValueError(f"the candidate {short_repr(word)} contains |, which separates "
                             "candidates in the file; remove or replace it")
    numbered = [f"{n} {' '.join(words)}" for n, words in enumerate([*question.context, query], 1)]
    return "\n".join(numbered) + f"\t{question.word}\t\t{'|'.join(question.candidates)}\n\n"
