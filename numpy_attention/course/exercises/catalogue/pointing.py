"""Exercise pointing: is the largest weight on the right word?"""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def pointing(weights, links):
    """Weights (T, S), links: the set of (t, s) that are sure → the share of linked target words
    whose largest weight is on one of their links.
    """
    linked = sorted({t for t, _ in links})
    right = [(t, int(weights[t].argmax())) in links for t in linked]
    return sum(right) / len(linked)


def cases(rng, its):
    links = {(0, 1), (1, 1), (1, 3), (3, 0), (4, 2)}
    for _ in range(2):
        yield Case(its.pointing, (rng.random((5, 6)), links))
    yield Case(its.pointing, (np.eye(6), {(0, 0), (1, 2), (3, 3), (3, 1)}))


EXERCISE = Exercise(
    "pointing", "is the largest weight on the right word?", "06_additive_attention",
    position=3, source=Source(__file__, ("pointing",)), blanks=("pointing",), cases=cases,
    text="""
    pointing = share of target words t with a sure link for which (t, argmax_s α_ts) is a sure link

weights (T, S): a row for each target word; links: a set of pairs (t, s), the sure ones.
""",
    hints=(
        "Target words without a sure link are not asked; those with two have two right answers.",
        "First which words are asked, then how many of them point right.",
        "right / asked, with asked = {t : (t, s) in links for some s}"),
    why="It measures what the heatmap shows: where the darkest cell of a row lies.",
    unseen=("Weights shifted by one word point right at the wrong time: the score is then low and "
            "everything else is as it should be."),
    mistakes=(
        ("return sum(right) / len(linked)", "return sum(right) / len(weights)",
         "words without a sure link are not asked"),
        ("return sum(right) / len(linked)", "return sum(right) / len(links)",
         "a word with two links is asked once"),
        ("int(weights[t].argmax())", "int(weights[:, t].argmax())",
         "a row of the weights is a target word; this is a column")))
