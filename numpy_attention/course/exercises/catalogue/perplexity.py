"""Exercise perplexity: how many words a model hesitates between."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def perplexity(losses, mask):
    """−log p of each word (T, B), mask (T, B): False where there is none → exp of the mean."""
    return np.exp(losses[mask].sum() / mask.sum())


def cases(rng, its):
    for lengths in ([3, 5], [2, 2, 4]):
        mask = np.arange(5)[:, None] < np.array(lengths)
        yield Case(its.perplexity, (4 * rng.random(mask.shape), mask))


EXERCISE = Exercise(
    "perplexity", "how many words a model hesitates between", "02_recurrent_network", position=6,
    needs=("cross-entropy",), source=Source(__file__, ("perplexity",)), blanks=("perplexity",),
    cases=cases,
    text="""
    perplexity = exp(1/N Σ −log p)          over the N words that are there

losses (T, B) holds −log p, natural logarithms; mask (T, B) is False where a sequence has ended.
""",
    hints=(
        "A model that gives every one of V words the same probability has a perplexity of V, "
        "however long its texts are.",
        "It is a mean over words, not over sequences, and not over the places of padding.",
        "exp(sum of the losses where the mask is / how many that are)"),
    why="It is the geometric mean of 1/p: that many equally likely words would be as hard.",
    unseen=("Counting a word that is never predicted, such as each sentence's end, makes it "
            "smaller and compares with nothing."),
    mistakes=(
        ("losses[mask].sum() / mask.sum()", "(losses * mask).mean()",
         "words that are not there do not count: the mean goes over what the mask has"),
        ("np.exp(losses[mask].sum() / mask.sum())",
         "np.exp((losses * mask).sum(0) / mask.sum(0)).mean()",
         "one mean over all words, not a perplexity of each sequence and the mean of these"),
        ("np.exp(losses[mask].sum() / mask.sum())",
         "np.exp(((losses * mask).sum(0) / mask.sum(0)).mean())",
         "one mean over all words: a mean of the sequences' means counts short ones for more"),
        ("np.exp(losses[mask].sum() / mask.sum())", "np.exp(losses[mask]).mean()",
         "exp of the mean, not the mean of exp: one hopeless word would count for all"),
        ("np.exp(losses[mask].sum() / mask.sum())", "2 ** (losses[mask].sum() / mask.sum())",
         "losses are natural logarithms here: e to their power, not 2")))
