"""Cloze questions: how gaps and candidates are chosen, their invariants, and the file format."""

import gzip
from collections import Counter

import numpy as np
import pytest

from numpy_attention.data.cloze import (
    GAP,
    Question,
    make_questions,
    question_at,
    read_questions,
    write_questions,
)
from numpy_attention.data.running_text import Text
from numpy_attention.data.vocabulary import Vocabulary

WORDS = [a + b for b in "iaueo" for a in "bcdfghjklm"]
QUESTION = Question((("a", "boat", "."), ("the", "river")), ("he", "saw"), (".",),
                    ("river", "boat", "sea"), 1)


def some_text(rng, articles=(40, 25)):
    words = [*WORDS, *map(str.title, WORDS[20:]), "N", "<unk>", "it's", "12"]
    return Text([[list(rng.choice(words, size=rng.integers(6, 14))) for _ in range(length)]
                 for length in articles])


VOCABULARY = Vocabulary([*WORDS, "N", "it's", "12", *map(str.title, WORDS[20:])])


# ---- a question ---------------------------------------------------------------------------------


def test_question():
    assert QUESTION.word == "boat"
    assert QUESTION.filled("sea") == ["he", "saw", "sea", "."]
    lists = Question([["a", "boat", "."], ["the", "river"]], ["he", "saw"], ["."],
                     np.array(["river", "boat", "sea"]), 1)
    assert lists == QUESTION and hash(lists) == hash(QUESTION)


@pytest.mark.parametrize("change, error, message", [
    ({"context": (("a",), ())}, ValueError, r"context\[1\] is empty; expected at"),
    ({"context": (["a"], "ab")}, TypeError, r"^context\[1\] is the string 'ab'"),
    ({"after": [1]}, TypeError, "^`after` contains 1"),
    ({"candidates": ["a", "b", "a"]}, ValueError, r"\('a', 'b', 'a'\); .* all different"),
    ({"answer": 3}, ValueError, "answer = 3; expected an integer from 0 to 2"),
])
def test_invalid_questions(change, error, message):
    with pytest.raises(error, match=message):
        Question(**(vars(QUESTION) | change))


# ---- one gap ------------------------------------------------------------------------------------


ORDER = "ga ba ha da fa ca be".split()


def at(gap, query="so Xa ba ca", context="da ba ga", more="fa ca ha be", seed=0, count=3, **ranks):
    ranks = ranks or {word: rank for rank, word in enumerate(ORDER + ["so"])}
    return question_at([context.split(), more.split()], query.split(), gap, ranks, count,
                       np.random.default_rng(seed))


def test_candidates_are_neighbours_in_rank_and_the_answer_is_at_any_position():
    """Every word of ORDER is in the context, and none in the rest of the query."""
    places, numbers = Counter(), Counter()
    for seed in range(300):
        found = at(2, query="so xa da .", seed=seed)
        assert found.context == (("da", "ba", "ga"), ("fa", "ca", "ha", "be"))
        assert found.before == ("so", "xa") and found.after == (".",) and found.word == "da"
        assert found.filled(found.word) == "so xa da .".split()
        order = sorted(found.candidates, key=ORDER.index)
        assert order in (["ba", "ha", "da"], ["ha", "da", "fa"], ["da", "fa", "ca"])
        places[order.index("da")] += 1
        numbers[found.answer] += 1
    assert set(places) == set(numbers) == {0, 1, 2}
    assert min(*places.values(), *numbers.values()) > 75


def test_other_query_words_are_not_candidates():
    assert at(1, query="zu da da") is None and at(1, query="da da zu") is None
    for query in ("zu da fa", "fa da zu"):
        seen = {word for seed in range(40) for word in at(1, query=query, seed=seed).candidates}
        assert seen == {"ba", "ha", "da", "ca", "be"}


def test_candidates_match_the_case_of_the_answer():
    ranks = {word: rank for rank, word in enumerate("Ba be Ca da Fa ga Ha ja".split())}
    context = "Ba be Ca da Fa ga Ha ja"
    for seed in range(20):
        assert set(at(0, "Ca .", context, seed=seed, count=2, **ranks).candidates) <= {
            "Ba", "Ca", "Fa"}
        assert set(at(0, "da .", context, seed=seed, count=2, **ranks).candidates) <= {
            "be", "da", "ga"}


# ---- questions from a text ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def made():
    text = some_text(np.random.default_rng(4))
    return text, make_questions(text, VOCABULARY, 60, np.random.default_rng(5), 20, 4, 6)


def test_questions_satisfy_the_rules(made):
    text, questions = made
    assert len(questions) == 60
    assert len({(one.context, one.before, one.after) for one in questions}) == 60
    ranks = {word: rank for rank, word in enumerate(VOCABULARY.tokens)}
    for one in questions:
        passage = [*map(list, one.context), one.filled(one.word)]
        assert len(passage) == 21
        assert any(article[k:k + 21] == passage
                   for article in text.articles for k in range(len(article)))
        assert len(one.candidates) == 4
        held = {word for sentence in one.context for word in sentence}
        fitting = [word for word in VOCABULARY.tokens[6:]
                   if word in held - {*one.before, *one.after} and word.isalpha() and word != "N"
                   and word[0].isupper() == one.word[0].isupper()]
        first = min(map(fitting.index, one.candidates))
        assert sorted(one.candidates) == sorted(fitting[first:first + 4])
        for word in one.candidates:
            assert word in held and word not in one.before + one.after
            assert word.isalpha() and word != "N" and ranks[word] >= 6
            assert word[0].isupper() == one.word[0].isupper()


def test_questions_stay_within_an_article_and_skip_blank_sentences():
    a, b = "a b c".split(), ["b"]
    words = Vocabulary("a b c".split())

    def count(*articles, **more):
        settings = {"sentences": 2, "candidates": 2, "frequent": 0} | more
        with pytest.raises(ValueError) as error:
            make_questions(Text([*articles]), words, 99, np.random.default_rng(0), **settings)
        assert f" with {settings['sentences']} context sentence" in str(error.value)
        assert "number = 99, but this text has only " in str(error.value)
        return int(str(error.value).split("only ")[1].split(" ")[0])

    assert count([a, a, b]) == 1
    assert count([a, a], [b]) == 0 and count([a], [a, b]) == 0
    assert count([a, a, b], [a, a, b]) == 2
    assert count([a, [], a, [], b]) == 1
    assert count([a, a, b, b, b]) == 2              # the context of the last lacks a and c
    assert count([a, a, b], sentences=1) == 1 and count([a, a, b], sentences=3) == 0
    assert count([a, a, b], frequent=1) == 0        # b, the most frequent word, is excluded
    assert len(make_questions(Text([[a, a, b]]), words, 1, np.random.default_rng(0), 2, 2, 0)) == 1


def test_words_with_other_characters_are_not_candidates():
    for strange in ("N", "it's", "b2"):
        words = ["aa", strange, "cc"]
        with pytest.raises(ValueError, match="this text has only 0 questions"):
            make_questions(Text([[words, [strange]]]), Vocabulary(words), 1,
                           np.random.default_rng(0), 1, 2, 0)


@pytest.mark.parametrize("change, error, message", [
    ({"text": Text([[list("ab\n")]], "characters")}, ValueError,
     "this text is split into characters, but cloze questions need words"),
    ({"vocabulary": WORDS}, TypeError, "vocabulary is .*; expected a Vocabulary"),
    ({"candidates": 1}, ValueError, "candidates = 1; expected an integer of at least 2"),
    ({"frequent": -1}, ValueError, "frequent = -1; expected an integer of at least 0"),
])
def test_invalid_arguments_of_make_questions(change, error, message):
    right = {"text": some_text(np.random.default_rng(0)), "vocabulary": Vocabulary(WORDS),
             "number": 1, "rng": np.random.default_rng(0)}
    with pytest.raises(error, match=message):
        make_questions(**(right | change))


# ---- files --------------------------------------------------------------------------------------

FILE = """1 The boat lay  there .
2 it was May .
3 may I , said he , take the XXXXX ?\tboat\t\tboat|May|May||may|river

1 so it was .
2 XXXXX was .\tit\t\tso|it
"""


def written(folder, text):
    path = folder / "questions.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_file_by_hand(tmp_path):
    first, second = read_questions(written(tmp_path, FILE))
    assert first == Question(
        (("The", "boat", "lay", "there", "."), ("it", "was", "May", ".")),
        tuple("may I , said he , take the".split()), ("?",), ("boat", "May", "may", "river"), 0)
    assert second == Question((("so", "it", "was", "."),), (), ("was", "."), ("so", "it"), 1)


def test_lowercase_file(tmp_path):
    first, _ = read_questions(written(tmp_path, FILE.replace("\tboat\t", "\tMay\t")), True)
    assert first.context[0][0] == "the" and first.before[1] == "i"
    assert first.candidates == ("boat", "may", "river") and first.word == "may"
    upper = written(tmp_path, "1 A\n2 XXXXX OH\tB\t\tB|C\n")
    assert read_questions(upper, True)[0].after == ("oh",)


def test_compressed_file_and_file_without_blank_lines(tmp_path):
    path = tmp_path / "questions.txt.gz"
    path.write_bytes(gzip.compress(FILE.replace("\n\n", "\n").encode()))
    assert read_questions(path) == read_questions(written(tmp_path, FILE))
    spaced = written(tmp_path, "\n\n" + FILE.replace("\n\n", "\n \n\n") + "\n\n")
    assert read_questions(spaced) == read_questions(path)


GOOD = "1 a b\n2 c XXXXX\tb\t\ta|b\n\n"


@pytest.mark.parametrize("text, message", [
    ("", "contains no questions; expected numbered sentences"),
    (GOOD + "2 a\n", "line 4 begins with '2'; expected the number 1. The sentences"),
    ("\tb\t\ta|b\n", "line 1 begins with '\\t'; expected the number 1"),
    ("1\n", "line 1 has only a number; expected a sentence after it"),
    (GOOD + "1 a\n\n", "line 5: the question ends after 1 sentence and has no query; "
     "expected a sentence numbered 2 that contains XXXXX"),
    ("1 a\n2 c XXXXX\tb\ta|b\n", "line 2 has 3 tab-separated columns; expected 4: query, ans"),
    ("1 c XXXXX\tb\t\ta|b\n", "line 1: the query has no context"),
    ("1 a\n2 c\tb\t\ta|b\n", "line 2: the query does not contain the word XXXXX; expected it"),
    ("1 a\n2 cXXXXX\tb\t\ta|b\n", "line 2: the query does not contain the word XXXXX"),
    ("1 a\n2 c XXXXX\tb\t\ta|b c\n", "line 2: the candidate 'b c' has several words"),
    ("1 a\n2 c XXXXX\td\t\ta|b\n", "line 2: the answer 'd' is not among the candidates"),
    ("1 a\n2 c XXXXX\t\t\ta||b\n", "line 2: the answer '' is not among the candidates"),
    ("1 a\n2 c XXXXX\ta\t\ta||a\n", "line 2 has only one candidate; expected at least two"),
])
def test_malformed_files(text, message, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(ValueError) as error:
        read_questions(path)
    assert str(error.value).startswith(str(path)) and message in str(error.value)
    assert "\n" not in str(error.value)


def test_file_round_trip(made, tmp_path):
    _, questions = made
    path = tmp_path / "made.txt"
    path.write_text("another")
    write_questions(questions, path)
    assert read_questions(path) == questions
    assert [one.name for one in tmp_path.iterdir()] == ["made.txt"]
    lines = path.read_text().split("\n")
    assert lines[0].startswith("1 ") and lines[20].startswith("21 ") and lines[21] == ""
    assert lines[20].endswith(f"\t{questions[0].word}\t\t{'|'.join(questions[0].candidates)}")
    assert GAP in lines[20].split()


@pytest.mark.parametrize("change, message", [
    ({"context": (("a",), ("b", "a\tc"))}, r"the token 'a\\tc' .* text without white"),
    ({"context": (("a\0c",),)}, r"the token 'a\\x00c' .* or NUL characters"),
    ({"candidates": ("\ud800", "boat")}, r"a token is '\\ud800', which contains a lone"),
    ({"candidates": ("a|b", "boat")}, r"the candidate 'a\|b' contains \|"),
    ({"before": (GAP,)}, "the query contains the token XXXXX"),
])
def test_questions_that_a_file_cannot_hold(change, message, tmp_path):
    path = written(tmp_path, "before")
    with pytest.raises(ValueError, match=message):
        write_questions([QUESTION, Question(**(vars(QUESTION) | change))], path)
    for wrong, message in (([], "there are no questions; expected"), (3, "questions is 3"),
                           ([QUESTION, 3], r"questions\[1\] is 3")):
        with pytest.raises((ValueError, TypeError), match=f"^{message}"):
            write_questions(wrong, path)
    assert path.read_text() == "before" and len(list(tmp_path.iterdir())) == 1
