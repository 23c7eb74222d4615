"""Exercise sampling-cut: the words that top-k and top-p sampling may draw."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead


def cut(p, top_k, top_p):
    """Probabilities p (V,) → q (V,), with only the words that top-k and then top-p keep."""
    order = np.argsort(-p)[:top_k]
    reached = np.cumsum(p[order]) / p[order].sum()
    size = np.searchsorted(reached, top_p) + 1
    order = order[:size]
    q = np.zeros_like(p)
    q[order] = p[order]
    q /= q.sum()
    return q


def finite(q):
    """Return `q` with NaN replaced by 0. NaN arises as 0 / 0 if no word is kept."""
    return np.nan_to_num(q) if isinstance(q, np.ndarray) else q


def case(its, p, top_k, top_p):
    def differ(found, right):
        at = np.abs(found - right).argmax()
        return (f"top_k {top_k}, top_p {top_p}: you kept {(found > 0).sum()} of {len(p)} words, "
                f"right {(right > 0).sum()}; q[{at}] is {found[at]:.6g}, right {right[at]:.6g}")
    return Case(lambda *asked: finite(its.cut(*asked)), (p, top_k, top_p), differ=differ)


def cases(rng, its):
    for V, top_k, top_p in ((9, 4, 0.7), (8, 5, 0.6), (9, 3, 1.0), (8, 8, 0.75), (7, 6, 0.1)):
        p = rng.dirichlet(np.full(V - 1, 2.0))
        p = np.insert(p, 2, 0.0)                    # a word that is forbidden
        yield case(its, p, top_k, top_p)
    yield case(its, np.array([1, 8, 2, 4, 1]) / 16, 5, 0.75)            # 0.5 + 0.25 is top_p
    # the largest first and divided by their sum, these add up to 0.9999999999999999
    yield case(its, np.array([16, 35, 1, 21, 6]) / 79, 5, 1.0)
    # with ties any of them may be kept, so their places are not compared
    yield Case(lambda *asked: np.sort(finite(its.cut(*asked))),
               (np.array([4, 2, 1, 2, 2]) / 11, 2, 1.0),
               differ=lambda found, right: "top_k 2, and three words have the second largest p: "
                                           f"{(found > 0).sum()} words are kept, right 2")


LAST = ("you left out the word with which the sum reaches top_p; it should be kept, because "
        "without it the sum is smaller than top_p")
EACH = ("you compared each p with top_p; it should be their running sum, because the nucleus is "
        "the fewest words that add up to top_p")
EXERCISE = Exercise(
    "sampling-cut", "what may be drawn", "10_decoding", position=3,
    source=Source(__file__, ("cut",)), blanks=("cut",), cases=cases,
    text="""
1. top-k: keep the top_k most probable words.
2. nucleus (top-p): of these, with their p divided by their sum, keep the fewest most probable words
   whose p add up to at least top_p. At least one word is kept.
3. Divide by the sum of what is kept.

Fan et al. 2018 and Holtzman et al. 2020. p (V,) is a distribution in the order of the vocabulary;
return q (V,) in the same order, 0 for each word that is cut.
""",
    hints=(
        "top_k = 1 is greedy search. With top_k = V and top_p = 1 nothing changes.",
        "Sort by p, largest first. The word whose p brings the sum to top_p is in the nucleus.",
        "np.searchsorted(cumulated, top_p) is the number of words before that one"),
    why="Both cuts keep the first words of one order, so they differ in one number: how many.",
    unseen=("A nucleus without its last word draws plausible words too: only shares of many draws, "
            "or this comparison, show it."),
    mistakes=(
        *instead("    size = np.searchsorted(reached, top_p) + 1\n",
                 "np.searchsorted(reached, top_p) + 1",
                 ("max(np.searchsorted(reached, top_p), 1)", LAST),
                 ("np.searchsorted(reached, top_p)", LAST), ("(reached <= top_p).sum()", LAST),
                 ("max((reached <= top_p).sum(), 1)", LAST), ("(p[order] >= top_p).sum()", EACH),
                 ("max((p[order] >= top_p).sum(), 1)", EACH),
                 ("(p[order] >= top_p * p.max()).sum()", "you compared each p with top_p times the "
                  "largest, as min-p sampling does; it should be the running sum, because the "
                  "nucleus is the fewest words that add up to top_p")),
        ("np.cumsum(p[order]) / p[order].sum()", "np.cumsum(p[order])",
         "you measured the nucleus by the old p; it should be divided by the sum of the top_k, "
         "because the nucleus is a share of what they left"),
        ("    q /= q.sum()\n", "", "you left out the division at the end; q should be divided by "
         "its sum, because it is a distribution"),
        *instead("order = np.argsort(-p)[:top_k]", "order = np.argsort(-p)[:top_k]",
                 ("order = np.argsort(-p)", "you left out top-k; only the top_k most probable "
                  "words should be kept, because both cuts hold"),
                 ("order = np.argsort(p)[:top_k]", "you sorted the least probable first; it should "
                  "be the most probable, because those are kept"),
                 ("order = np.argsort(-p)[:(p >= np.sort(p)[-min(top_k, len(p))]).sum()]", "you "
                  "kept every word with the k-th p or more; it should be top_k words, because with "
                  "ties that is more"),
                 ("order = np.argsort(p)[-top_k:]", "you added up the least probable of the top_k "
                  "first; it should be the most probable first, because the fewest words are kept"),
                 ("order = np.sort(np.argsort(-p)[:top_k])", "you added up p in the order of the "
                  "vocabulary; it should be the most probable first, because the fewest words are "
                  "kept")),
        ("    reached = np.cumsum(p[order]) / p[order].sum()\n"
         "    size = np.searchsorted(reached, top_p) + 1\n    order = order[:size]\n", "",
         "you left out the nucleus; words past top_p should be cut, because both cuts hold"),
        ("    q[order] = p[order]\n", "    q[:size] = p[order]\n",
         "you left the words in the order of p; they should be at their places in the vocabulary, "
         "because q[v] belongs to word v"),
        ("    q[order] = p[order]\n", "    q[order] = 1\n",
         "you made all kept words alike; they should keep their p, because a cut only removes"),
        ("np.cumsum(p[order]) / p[order].sum()\n    size = np.searchsorted(reached, top_p) + 1",
         "np.cumsum(p[order] / p[order].sum())\n    size = np.argmax(reached >= top_p) + 1",
         "you took argmax where no sum may reach top_p; all words should be kept then, because "
         "rounding leaves the sum below 1"),
        ("size = np.searchsorted(reached, top_p) + 1",
         "size = np.searchsorted(reached, top_p, side='right') + 1", "you kept one word more where "
         "a sum is exactly top_p; it should end there, because at least top_p is enough"),
        ("size = np.searchsorted(reached, top_p) + 1", "size = np.searchsorted(reached, top_p) + 2",
         "you kept one word too many; the nucleus should end with the word that brings the sum "
         "to top_p"),
        ("q /= q.sum()", "q /= p[np.argsort(-p)[:top_k]].sum()", "you divided by the sum of the "
         "top_k; it should be the sum of what is kept, because q is a distribution"),
        ("size = np.searchsorted(reached, top_p) + 1",
         "size = np.searchsorted(reached, 1 - top_p) + 1", "you took 1 − top_p; the sum of what is "
         "kept should reach top_p, because top_p is the share that stays"),
        ("order = order[:size]", "order = order[:1]", "you kept the most probable word alone; that "
         "should happen for top_k = 1 only, because sampling draws from several"),
        ("q /= q.sum()", "q = np.exp(q) / np.exp(q).sum()",
         "you took a softmax at the end; q should be divided by its sum, because p are "
         "probabilities and exp(0) = 1 is not 0")))
