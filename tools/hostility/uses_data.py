"""Right calls of the data room, and of what kind each argument is."""

import datetime
import math

import numpy as np
from hostility.kinds import (Kind, file, flag, function, generator, made, number, one_of,
                             sentences, tokens, values, whole)

from numpy_attention.data import bible, corpora, dates, generators, held_out, own_text
from numpy_attention.data import grammar, pairs, reading, running_text, selection, splits
from numpy_attention.data.batching import (DocumentBatches, PairBatch, PairBatches, TextBatch,
                                           TextBatches, grouped, padded, pair_batch)
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.data.subwords import Subwords
from numpy_attention.data.text_form import TextForm, word_tokens
from numpy_attention.data.vocabulary import Vocabulary

WORDS = [["a", "b"], ["b", "c", "a"], ["a"]]
PAIRS = [Pair(("a", "b"), ("x",), {(0, 0)}), Pair(("b", "c", "a"), ("y", "x"), {(1, 0), (2, 1)}),
         Pair(("a",), ("x", "x"), {(0, 1)})]
IDS = [[4, 5], [6], [5, 4, 7]]
VOCABULARY = Vocabulary(["a", "b", "c"])
TARGETS = Vocabulary(["x", "y", "z"])
TEXT = Text([WORDS, [["c"]]], whole=True)
SPLITS = ("train", "valid", "test")


def is_ids(value, low=0, high=math.inf, least=1):
    """Whether a value is a list of ids."""
    if isinstance(value, range):
        value = list(value)
    if isinstance(value, np.ndarray) and (value.ndim != 1 or value.dtype.kind not in "iu"):
        return False
    if hasattr(value, "__next__"):              # a generator, used up: there are none
        return not least
    if not isinstance(value, (list, tuple, np.ndarray)) or len(value) < least:
        return False
    whole = (int, np.integer)
    return all(isinstance(id, whole) and low <= id <= high
               for id in value)


def ids(*right, high=math.inf, least=1):
    """A list of ids."""
    bad = [[*right, -1], [*right, 2.5], [*right, math.nan], [*right, "a"], [*right, None],
           [*right, 10**20], np.array([*right, 1.5])]
    if high < math.inf:
        bad.append([*right, high + 1])
    return Kind(lambda folder: list(right), lambda value: is_ids(value, 0, high, least),
                values(*bad), values(right, np.array(right), np.array(right, np.int32)))


def lists_of_ids(right=IDS, least=1):
    """A list of lists of ids."""
    def fits(value):
        return isinstance(value, (list, tuple)) and len(value) and all(
            is_ids(one, least=least) for one in value)

    bad = [[*right, 7], [*right, None], [*right, "ab"], [*right, [2.5] * 3], [*right, [-1] * 3],
           [*right, [10**20] * 3], [*right, [[4]]], right[0]]
    return Kind(lambda folder: [list(one) for one in right], fits, values(*bad),
                values(tuple(map(tuple, right)), [np.array(one) for one in right]))


def some_pairs(right=PAIRS, empty=False):
    bad = [right[0], [*right, None], [*right, ("a", "b")], ["ab"], [("a", "x")],
           [(["a"], ["x"])]]
    return Kind(lambda folder: list(right),
                lambda value: empty and isinstance(value, (list, tuple)) and not len(value),
                values(*bad), values(tuple(right)))


def vocabulary(right=VOCABULARY):
    return made(lambda: right, Vocabulary, ["a"], right.tokens)


def text():
    return made(lambda: TEXT, WORDS, Text, "a b")


def form():
    return made(lambda: TextForm("spaces"), TextForm, str.split, "words")


def cut():
    """A function that cuts a line into tokens."""
    return function(str.split, {
        "a cut into numbers": lambda folder: lambda line: [1, 2],
        "a cut into None": lambda folder: lambda line: None,
        "a cut into one string": lambda folder: lambda line: "a b"})


def keep():
    """None, or a function that takes or leaves a pair."""
    return function(None, {"a name": lambda folder: "keep"}, optional=True)


def links():
    def fits(value):
        if isinstance(value, np.ndarray) and not value.ndim:
            return False
        return hasattr(value, "__next__") or hasattr(value, "__len__") and not len(value)

    bad = [{(0, 5)}, {(-1, 0)}, [(0,)], [(0, 0, 0)], [0], [("a", "b")], [(0.5, 0)],
           [(math.nan, 0)], [None], [(None, 0)], "ab", [(10**20, 0)]]
    return Kind(lambda folder: {(0, 0)}, fits, values(*bad), values([(0, 0)], frozenset({(0, 0)})))


def lengths():
    return made(lambda: np.array([3, 1, 2, 5]), "abc", [1.5, "x"], np.array([math.nan, 1.0]),
                np.ones((2, 2), int), fits=lambda value: is_ids(value, least=0))


def raw(right="the cat's 3,000 hats", least=0):
    """A text as one string."""
    return Kind(lambda folder: right, lambda value: isinstance(value, str) and len(value) >= least,
                values(["a"], b"abc", 7), {})


def array_of_ids():
    bad = [np.array([[4.0]]), np.array([4]), [[4, 5]], np.array([["a"]]), np.array([[None]]),
           np.zeros((2, 3), np.int64), np.ones((3, 2), bool)]
    return made(lambda: np.array([[4, 5], [5, 2], [2, 0]]), *bad)


def names():
    return made(lambda: np.arange(2), [0, 1], np.arange(3), np.zeros(2), "ab")


def is_empty_dict(value):
    return isinstance(value, dict) and not value


def saved():
    bad = [{"name": "nope"}, {"name": 5}, {"name": ["copy"]}, {"source": 5, "target": 6},
           {"text": None}, {"source": "x"}, {"name": "bible-en", "shape": 3},
           {"name": "copy", "split": "x"}, {"text": "x", "shape": 3}, {5: 6, "name": "copy"}]
    return made(lambda: {"name": "copy", "count": 5}, *bad, fits=is_empty_dict)


def selection_of(saved, split):
    return selection.selected(saved).load(split)


def encode(words):
    return VOCABULARY.encode(words)


def decode(ids):
    return VOCABULARY.decode(ids)


def places(words):
    return VOCABULARY.places(words)


def unknown_share(sentences):
    return VOCABULARY.unknown_share(sentences)


def token(id):
    return VOCABULARY.token(id)


def text_batch_at(start):
    return TextBatches(range(4, 40), 3, 4).batch(start)


def pair_batches_at(indices):
    return PairBatches(IDS, IDS, 2).batch(indices)


def share(k, n):
    return pair_batch(IDS, IDS).share(k, n)


def order_of_pairs(rng):
    return PairBatches(IDS, IDS, 2).order(rng)


def order_of_documents(rng):
    return DocumentBatches([[2, 4, 5]] * 4, 2).order(rng)


def order_of_text(rng):
    return TextBatches(range(4, 40), 3, 4).order(rng)


def optional_generator():
    kind = generator()
    return kind._replace(fits=lambda value: value is None)


def tokens_of(text, cut, lowercase):
    return TextForm(cut, lowercase).tokens(text)


def text_of(tokens):
    return TextForm().text(tokens)


def without(kind, *names):
    """A kind without some of what is wrong."""
    return kind._replace(wrong={name: make for name, make in kind.wrong.items()
                                if name not in names})


def stream(vocabulary):
    return TEXT.stream(vocabulary)


def documents(vocabulary, state):
    return TEXT.documents(vocabulary, state)


def own_pairs(source, target, held_out_seed, max_length, count):
    own = own_text.OwnPairs(source, target, None, None, held_out_seed=held_out_seed,
                            max_length=max_length, count=count)
    return own.load("train", "valid")


def own_running_text(text, valid_text, characters):
    return own_text.OwnText(text, valid_text, characters).load("train", "valid")


def subwords(sentences, size):
    return Subwords.build(sentences, size)


def subwords_used(words):
    vocabulary = Subwords.build([["ab", "abc", "cab"]] * 9, 10)
    return vocabulary.encode(words), vocabulary.places(words)


def draw():
    """A function that draws a Pair."""
    def right(rng):
        return Pair((str(rng.integers(10**9)),), ("x",))

    return function(right, {"a draw of None": lambda folder: lambda rng: None,
                            "a draw of words": lambda folder: lambda rng: ("a", "b")})


LINES = "a b\nc d e\nf g\nh\n"
TABS = "a b\tx y\nc\tz\n"
CATALOGUE = {
    "Vocabulary": (Vocabulary, {"tokens": tokens("a", "b", "c")}),
    "Vocabulary.build": (Vocabulary.build, {
        "sentences": sentences(*WORDS, strings=True), "max_size": whole(6, 5, optional=True),
        "min_count": whole(1)}),
    "Vocabulary.encode": (encode, {"words": tokens("a", "q", least=0, strings=True)}),
    "Vocabulary.decode": (decode, {"ids": ids(4, 5, 6, high=6, least=0)}),
    "Vocabulary.token": (token, {"id": whole(5, 0, 6)}),
    "Vocabulary.places": (places, {"words": tokens("a", "b", least=0, strings=True)}),
    "Vocabulary.unknown_share": (unknown_share, {"sentences": sentences(*WORDS, strings=True)}),
    "Subwords.build": (subwords, {"sentences": sentences(["ab", "abc"], ["cab"]),
                                  "size": whole(9, 5)}),
    "Subwords.encode": (subwords_used, {"words": tokens("ab", "q", least=0)}),
    "Subwords": (Subwords, {"saved": made(
        lambda: Subwords.build([["ab", "abc"]], 9).saved(), "AAAA", "é", "x" * 1000)}),
    "padded": (padded, {"sentences": lists_of_ids(least=0),
                        "length": whole(5, 3, 10**6, optional=True)}),
    "grouped": (grouped, {"lengths": lengths(), "batch_size": whole(2), "block": whole(3),
                          "rng": optional_generator()}),
    "pair_batch": (pair_batch, {"sources": lists_of_ids(), "targets": lists_of_ids(),
                                "reverse_source": flag(True)}),
    "PairBatch": (PairBatch, {"source": array_of_ids(), "target_in": array_of_ids(),
                              "target_out": array_of_ids(), "rows": names()}),
    "PairBatch.share": (share, {"k": whole(1, 0, 1), "n": whole(2, 2)}),
    "PairBatches": (PairBatches, {"sources": lists_of_ids(), "targets": lists_of_ids(),
                                  "batch_size": whole(2), "block": whole(2)}),
    "PairBatches.encode": (PairBatches.encode, {
        "pairs": some_pairs(), "source_vocabulary": vocabulary(),
        "target_vocabulary": vocabulary(TARGETS)}),
    "PairBatches.batch": (pair_batches_at, {"indices": ids(0, 2, high=2)}),
    "PairBatches.order": (order_of_pairs, {"rng": optional_generator()}),
    "DocumentBatches.order": (order_of_documents, {"rng": optional_generator()}),
    "TextBatches.order": (order_of_text, {"rng": optional_generator()}),
    "TextBatch": (TextBatch, {"inputs": array_of_ids(), "targets": array_of_ids(),
                              "rows": names()}),
    "TextBatches": (TextBatches, {"ids": ids(*range(2, 40), least=4), "batch_size": whole(3, 1, 37),
                                  "steps": whole(4)}),
    "TextBatches.batch": (text_batch_at, {"start": whole(4, 0, 11)}),
    "DocumentBatches": (DocumentBatches, {
        "documents": lists_of_ids([[2, 4, 5], [2, 6]], 2), "batch_size": whole(2),
        "steps": whole(2, optional=True), "block": whole(2)}),
    "Pair": (Pair, {"source": tokens("a", "b"), "target": tokens("x"), "sure": links(),
                    "possible": links()}),
    "limited": (pairs.limited, {
        "pairs": some_pairs(), "name": raw("it"), "min_length": whole(1, optional=True),
        "max_length": whole(3, 2, optional=True), "count": whole(2, optional=True)}),
    "split_of": (splits.split_of, {"tokens": tokens("a", "b", least=0),
                                   "held_out": number(0.2, 0, 1)}),
    "check_split": (splits.check_split, {"split": one_of("train", *SPLITS)}),
    "read_lines": (reading.read_lines, {"path": without(file(LINES), "an empty file",
                                                        "blank lines")}),
    "read_text": (reading.read_text, {"path": file(LINES), "tokens": cut(),
                                      "blank_lines": flag(True)}),
    "read_pairs": (reading.read_pairs, {"source_path": file(LINES), "target_path": file(LINES),
                                        "tokens": cut()}),
    "read_tab_pairs": (reading.read_tab_pairs, {"path": file(TABS), "source_tokens": cut(),
                                                "target_tokens": cut()}),
    "word_tokens": (word_tokens, {"text": raw(), "elision": flag(True)}),
    "TextForm.tokens": (tokens_of, {"text": raw(), "cut": one_of("words", "spaces", "characters"),
                                    "lowercase": flag(True)}),
    "TextForm.text": (text_of, {"tokens": tokens("a", "b", least=0)}),
    "running_text.read": (running_text.read, {"path": file(LINES), "form": form()}),
    "running_text.load": (running_text.load, {
        "name": one_of("bible-en"), "split": one_of("valid", *SPLITS)}),
    "Text": (Text, {"articles": made(
        lambda: [WORDS], WORDS[0], [["a"]], "ab", [[["a", 7]]],
        fits=lambda value: np.size(value) == 0 and isinstance(value, (list, tuple))),
                    "unit": one_of("words", "characters"), "whole": flag(True)}),
    "Text.stream": (stream, {"vocabulary": vocabulary()}),
    "Text.documents": (documents, {"vocabulary": vocabulary(),
                                   "state": one_of("article", "sentence")}),
    "hold_out_pairs": (held_out.hold_out_pairs, {
        "pairs": some_pairs(), "rng": generator(), "share": number(0.3, 0, 1)}),
    "hold_out_end": (held_out.hold_out_end, {"text": text(), "share": number(0.3, 0, 1)}),
    "OwnPairs": (own_pairs, {
        "source": file(LINES), "target": file(LINES), "held_out_seed": whole(0, 0),
        "max_length": whole(5, 1, optional=True), "count": whole(2, optional=True)}),
    "OwnText": (own_running_text, {"text": file(LINES), "valid_text": file(LINES, True),
                                   "characters": flag(True)}),
    "selected": (selection_of, {"saved": saved(), "split": one_of("train", *SPLITS)}),
    "find_corpus": (corpora.find_corpus, {
        "name": one_of("copy", *corpora.CORPORA), "kind": one_of("parallel", optional=True)}),
    "describe": (corpora.describe, {"name": one_of("copy", *corpora.CORPORA)}),
    "fetch": (corpora.fetch, {"name": one_of("copy")}),
    "load_parallel": (corpora.load_parallel, {
        "name": one_of("copy"), "split": one_of("valid", *SPLITS), "rng": optional_generator(),
        "count": whole(5, 1, 10**4, optional=True), "min_length": whole(3, 1, 5, optional=True),
        "max_length": whole(6, 3, 1000, optional=True),
        "part": made(lambda: None, "x", "raw", optional=True)}),
    "load_parallel, shipped": (corpora.load_parallel, {
        "name": one_of("bible-en-es"), "split": one_of("valid", *SPLITS),
        "count": whole(5, optional=True), "min_length": whole(3, 1, 5, optional=True),
        "max_length": whole(6, 3, optional=True),
        "part": one_of("clauses", "verses", optional=True)}),
    "load_text": (corpora.load_text, {"name": one_of("bible-en"),
                                      "split": one_of("valid", *SPLITS)}),
    "load_bible_en_es": (bible.load_bible_en_es, {
        "part": one_of("clauses", "verses"), "split": one_of("valid", *SPLITS),
        "min_length": whole(3, 1, 5, optional=True), "max_length": whole(6, 3, optional=True)}),
    "copy": (generators.copy, {
        "rng": generator(), "count": whole(5, 1, 1000), "vocabulary_size": whole(9, 1, 10**6),
        "min_length": whole(2, 1, 5), "max_length": whole(5, 2, 1000), "keep": keep()}),
    "reverse": (generators.reverse, {
        "rng": generator(), "count": whole(5, 1, 1000), "vocabulary_size": whole(9, 1, 10**6),
        "min_length": whole(2, 1, 5), "max_length": whole(5, 2, 1000), "keep": keep()}),
    "dates": (dates.dates, {
        "rng": generator(), "count": whole(5, 1, 1000), "first_year": whole(1900, 1000, 2099),
        "last_year": whole(2099, 1900, 9999), "sure_months": flag(True), "keep": keep()}),
    "date_pair": (dates.date_pair, {
        "date": made(lambda: datetime.date(2020, 2, 3), "2020-02-03", datetime.date),
        "layout": one_of("{d} {Month} {yyyy}")}),
    "grammar_en_fr": (grammar.grammar_en_fr, {
        "rng": generator(), "count": whole(5, 1, 1000), "keep": keep()}),
    "phenomena": (grammar.phenomena, {"pair": made(lambda: PAIRS[0], PAIRS, ("a", "x"))}),
    "distinct": (generators.distinct, {
        "draw": draw(), "rng": generator(), "count": whole(3, 1, 1000), "keep": keep(),
        "max_misses": whole(20)}),
}
