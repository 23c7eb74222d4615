"""Exercise pointing: is the largest weight on the right word?"""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def pointing(weights, links):
    """Weights (T, S), links: the set of (s, t) that are sure → the share of links whose target word
    has its largest weight on their source word.
    """
    right = [int(weights[t].argmax()) == s for s, t in links]
    return sum(right) / len(links)


def cases(rng, its):
    links = {(1, 0), (1, 1), (3, 1), (0, 3), (2, 4)}
    for _ in range(2):
        yield Case(its.pointing, (rng.random((5, 6)), links))
    yield Case(its.pointing, (np.eye(6), {(0, 0), (2, 1), (3, 3), (1, 3)}))


EXERCISE = Exercise(
    "pointing", "is the largest weight on the right word?", "06_additive_attention",
    position=3, source=Source(__file__, ("pointing",)), blanks=("pointing",), cases=cases,
    text="""
    pointing = share of the sure links (s, t) for which argmax_s' α_ts' = s

weights (T, S): a row for each target word; links: a set of pairs (s, t), source position first, the
sure ones. It is what `metrics.pointing_accuracy` computes.
""",
    hints=(
        "A target word without a sure link does not count; one with two links can be right for one "
        "of them only.",
        "For each link: where is the largest weight of its target word?",
        "right / number of links, with right = number of (s, t) with weights[t].argmax() = s"),
    why="It measures what the heatmap shows: whether the brightest cell of a row is a gold cell.",
    unseen=("Weights shifted by one word point right at the wrong time: the score is then low and "
            "everything else is as it should be."),
    mistakes=(
        ("return sum(right) / len(links)", "return sum(right) / len(weights)",
         "you divided by the number of target words; it is a share of the links, because a word "
         "may have none or several"),
        ("return sum(right) / len(links)", "return sum(right) / len({t for _, t in links})",
         "you divided by the number of linked words; it is a share of the links, because a word "
         "with two links can be right for one of them only"),
        ("int(weights[t].argmax())", "int(weights[:, t].argmax())",
         "you took a column of the weights; a row is a target word"),
        ("int(weights[t].argmax()) == s", "int(weights[s].argmax()) == t",
         "you took the pairs as (target, source); they are (source, target)")))
