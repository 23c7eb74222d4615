"""Exercise pointing: is the largest weight on the right word?"""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead


def pointing(weights, links):
    """Return the fraction of links (s, t) for which target word t attends most to source word s.

    weights (T, S). links: the set of sure links (s, t).
    """
    right = [int(weights[t].argmax()) == s for s, t in links]
    return sum(right) / len(links)


def cases(rng, its):
    links = {(1, 0), (1, 1), (3, 1), (0, 3), (2, 4), (5, 5), (4, 5), (5, 6), (6, 2), (0, 0), (3, 7)}
    for _ in range(6):
        weights = rng.random((8, 9))
        for s, t in links:
            weights[t, s] += 0.6 * rng.random()
        yield Case(its.pointing, (weights / weights.sum(1, keepdims=True), links))
    yield Case(its.pointing, (np.eye(6), {(0, 0), (2, 1), (3, 3), (1, 3)}))


EXERCISE = Exercise(
    "pointing", "is the largest weight on the right word?", "06_additive_attention",
    position=3, source=Source(__file__, ("pointing",)), blanks=("pointing",), cases=cases,
    text="""
    pointing = share of the sure links (s, t) for which argmax_s' α_ts' = s

weights (T, S): a row for each target word. links: the sure links, a set of pairs (s, t), with the
source position first and both counted from 0. It is what `metrics.pointing_accuracy` computes.
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
         "you took the pairs as (target, source); they are (source, target)"),
        *instead("int(weights[t].argmax()) == s", "int(weights[t].argmax()) == s",
                 ("int(weights[:, s].argmax()) == t", "you took the target word with the largest "
                  "weight on s; it should be the argmax of row t, because a row is a target word"),
                 ("weights[t].argmax() == t", "you compared with t; it should be s, because the "
                  "argmax of a row is a source position"),
                 ("weights[t - 1].argmax() == s", "you took the row of the word before; it should "
                  "be weights[t], the row of the link's target word"),
                 ("weights[t].argmax() + 1 == s", "you counted source positions from 1; they count "
                  "from 0, as argmax does"),
                 ("weights[t].argmin() == s", "you took the smallest weight; it should be the "
                  "largest, because that is where the model points"),
                 ("weights[t, s]", "you averaged the weights on the links; it should be the share "
                  "of links with the largest weight, because a link is hit or missed"),
                 ("weights[t, s] > 0.5", "you counted weights above 1/2; it should be the largest "
                  "of the row, because no weight need be above 1/2"),
                 ("weights[t, s] > weights[t].mean()", "you counted weights above the mean; it "
                  "should be the largest of the row, because a model points at one word"),
                 ("s in weights[t].argsort()[-2:]", "you counted the two largest weights; it "
                  "should be the largest alone, because a model points at one word"),
                 ("abs(weights[t].argmax() - s) <= 1", "you counted neighbours too; it should be "
                  "exactly s, because a link is one pair")),
        *instead("return sum(right) / len(links)", "sum(right) / len(links)",
                 ("sum(right)", "you returned the number of hits; it should be divided by the "
                  "number of links, because it is a share"),
                 ("1 - sum(right) / len(links)", "you returned the share of misses; it should be "
                  "that of hits"),
                 ("sum(right) / weights.size", "you divided by all cells; it is a share of the "
                  "links, because only these are judged"),
                 ("sum(right) / weights.shape[1]", "you divided by the number of source words; it "
                  "is a share of the links, because a word may have none or several"),
                 ("sum(right) / len({s for s, _ in links})", "you divided by the number of linked "
                  "source words; it is a share of the links, because a word may have several"))))
