"""Exercise beam: beam search, which extends several hypotheses at once."""

import itertools

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source
from numpy_attention.custom.code import place_in_code
from numpy_attention.validation.messages import typed_repr

MOST = 12           # hypotheses that are compared


def beam(next_log_p, end, width, longest):
    """Return at most `width` finished hypotheses [(words, log p)], the most probable first.

    next_log_p(words) returns log p (V,) of each possible next word after the tuple `words`. A
    hypothesis is finished if its last word is `end`, or if it has `longest` words.
    """
    running = [((), 0.0)]
    ended = []
    while running:
        found = []
        for words, total in running:
            log_p = next_log_p(words)
            for word in range(len(log_p)):
                found.append(((*words, word), total + log_p[word]))
        found.sort(key=lambda one: -one[1])
        kept = found[:width - len(ended)]           # what has ended holds its place
        ended += [one for one in kept if one[0][-1] == end or len(one[0]) == longest]
        running = [one for one in kept if one[0][-1] != end and len(one[0]) < longest]
    ended.sort(key=lambda one: -one[1])
    return ended


def cases(rng, its):
    sizes = (1, 4), (2, 5), (3, 4), (8, 3), (4, 5), (5, 6)
    for evenness, (width, longest) in itertools.product((0.5, 2), sizes):   # of the words' shares
        table = rng.dirichlet([evenness] * 4, size=(longest, 4))

        def next_log_p(words, table=table):
            if len(words) >= len(table):
                raise PastLongest(f"next_log_p was called with {len(words)} words, but `longest` = "
                                  f"{len(table)}: a hypothesis of this length has ended")
            return np.log(table[len(words), words[-1] if words else 0])
        stops = []                                  # the message of the last exception

        def rows(*asked, stops=stops):
            try:
                return numbered(its.beam(*asked))
            except PastLongest as error:
                stops[:] = [f"{place_in_code(error)} raises ValueError: {error}"]
                return np.full((MOST, 2), -1.0)
        case = f"width {width}, longest {longest}, end 3"
        yield Case(rows, (next_log_p, 3, width, longest),
                   differ=lambda found, right, case=case, stops=stops: (
                       f"{case}: {stops[0] if (found < 0).all() else first_other(found, right)}"))


class PastLongest(ValueError):
    """Raised if next_log_p is called for a hypothesis that already has `longest` words."""


def numbered(found):
    """Return an array (12, 2). Its first rows are (code, log p) of the hypotheses, the others 0.

    The code is a 1 followed by the words: 135 for the words (3, 5). Raises TypeError if `found` is
    not a list of hypotheses.
    """
    try:
        rows = [(float(int("1" + "".join(map(str, words)))), float(total))
                for words, total in found]
        if not all(isinstance(words, tuple) for words, _ in found):
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(f"beam returns {typed_repr(found)}; expected a list of (words, log p), "
                        "where words is a tuple of numbers") from None
    return np.array((rows + [(0.0, 0.0)] * MOST)[:MOST])


def first_other(found, right):
    """Describe the first hypothesis that differs. found, right: two arrays from `numbered`."""
    at = int(np.argmin(np.isclose(found, right).all(1)))
    return (f"hypothesis [{at}] is {format_hypothesis(*found[at])}, "
            f"right {format_hypothesis(*right[at])}")


def format_hypothesis(words, log_p):
    """Format a row of `numbered`. words: the code of the words, or 0 if there is no hypothesis."""
    if not words:
        return "none"
    return f"({', '.join(f'{int(words)}'[1:])}), log p {log_p:.4g}"


EXERCISE = Exercise(
    "beam", "more than one way to go on", "10_decoding", position=2,
    source=Source(__file__, ("beam",)), blanks=("beam",), cases=cases,
    text="""
At every step, each running hypothesis is continued by every word. Of all these continuations the
most probable ones are kept: `width` minus the number of hypotheses that have already ended. The
log p of a hypothesis is the sum of those of its words. It has ended, and runs no more, when its
last word is `end`, or when it has `longest` words. When none is running, return all that ended, as
(words, log p), the most probable first.
""",
    hints=(
        "A beam of width 1 is greedy search. A beam as wide as there are sentences finds the best "
        "one.",
        "The total of a continuation is that of its hypothesis plus the log p of its word.",
        "kept = the first width − len(ended) of all continuations, sorted by their totals"),
    why="What has ended holds its place: otherwise `width` more would go on behind it.",
    unseen=("A beam that loses its best hypothesis now and then still translates well: only a law, "
            "such as that a width of 1 is greedy search, shows it."),
    mistakes=(
        ("kept = found[:width - len(ended)]", "kept = found[:width]",
         "you freed the place of an ended hypothesis; it should keep its place in the beam"),
        ("        kept = found[:width - len(ended)]           # what has ended holds its place\n"
         "        ended += [one for one in kept if one[0][-1] == end or len(one[0]) == longest]\n"
         "        running = [one for one in kept if one[0][-1] != end and len(one[0]) < "
         "longest]\n    ended.sort(key=lambda one: -one[1])\n    return ended",
         "        kept = found[:width]\n"
         "        ended += [one for one in kept if one[0][-1] == end or len(one[0]) == longest]\n"
         "        running = [one for one in kept if one[0][-1] != end and len(one[0]) < "
         "longest]\n    ended.sort(key=lambda one: -one[1])\n    return ended[:width]",
         "you cut to the beam's width at the end only; an ended hypothesis should keep its place "
         "at every step"),
        ("total + log_p[word]", "log_p[word]",
         "you left out the words before; a continuation's total should include them"),
        ("    ended.sort(key=lambda one: -one[1])\n", "",
         "you returned what ended first; it should be the most probable"),
        ("            log_p = next_log_p(words)\n",
         "            log_p = next_log_p(running[0][0])\n", "you continued each hypothesis with "
         "what follows the best one; each should be continued by its own probabilities"),
        ("        kept = found[:width - len(ended)]           # what has ended holds its place\n"
         "        ended += [",
         "        kept = sorted(found + ended, key=lambda one: -one[1])[:width]\n"
         "        ended = [", "you let ended hypotheses compete with running ones; they should "
                              "keep their places, and the rest go to what runs"),
        ("        kept = found[:width - len(ended)]           # what has ended holds its place\n"
         "        ended += [one for one in kept if one[0][-1] == end or len(one[0]) == longest]\n",
         "        ended += [one for one in found if one[0][-1] == end]\n"
         "        kept = [one for one in found if one[0][-1] != end][:max(0, width - "
         "len(ended))]\n        ended += [one for one in kept if len(one[0]) == longest]\n",
         "you let every continuation with end count as ended; it should also be among the best "
         "width − len(ended) of its step"),
        ("kept = found[:width - len(ended)]", "kept = found[:1]", "you kept the most probable "
         "continuation alone (greedy search); it should be as many as the beam has places"),
        ("            for word in range(len(log_p)):\n",
         "            for word in [int(np.argmax(log_p))] if words else range(len(log_p)):\n",
         "you continued each hypothesis by its best word alone; it should be by every word, "
         "because two of the best may have one parent"),
        ("found.sort(key=lambda one: -one[1])", "found.sort(key=lambda one: one[1])",
         "you kept the least probable continuations; it should be the most probable, whose log p "
         "is the largest"),
        ("ended.sort(key=lambda one: -one[1])", "ended.sort(key=lambda one: one[1])",
         "you returned the least probable first; it should be the most probable, whose log p is "
         "the largest"),
        ("ended.sort(key=lambda one: -one[1])", "ended.sort(key=lambda one: -one[1] / len(one[0]))",
         "you sorted by the log p per word; it should be the log p of the whole hypothesis, "
         "because the task has no length penalty"),
        (" == end or len(one[0]) == longest]", " == end]", "you lost the hypotheses of longest "
         "words; they should be returned, because they have ended, too"),
        ("one[0][-1] != end and len(one[0]) < longest", "len(one[0]) < longest",
         "you continued hypotheses that have ended; they should run no more, because nothing "
         "follows the word end"),
        (" and len(one[0]) < longest]", "]", "you continued a hypothesis of `longest` words; it "
                                            "should run no more, because it is complete"),
        ("    while running:", "    while running and not ended:",
         "you stopped at the first that ended; the search should go on while any is running, "
         "because a longer one may be more probable"),
        ("    return ended", "    return ended[:1]",
         "you returned the best one alone; it should be all that ended"),
        ("    return ended",
         "    return [(words[:-1] if words[-1] == end else words, total) for words, total in "
         "ended]", "you cut off the word end; it should stay, because it is one of the words"),
        ("    return ended", "    return [(words, np.exp(total)) for words, total in ended]",
         "you returned p; it should be log p, the sum over the words"),
        ("    return ended", "    return [(words, total / len(words)) for words, total in ended]",
         "you divided log p by the number of words; it should be the sum, because the task has "
         "no length penalty")))
