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
         "you divided by all places; divide by the number of words, because padding is not a word"),
        ("losses[mask].sum() / mask.sum()", "losses.mean()",
         "you left out the mask; padding has a loss in the array, and is not a word"),
        ("losses[mask].sum() / mask.sum()", "-losses[mask].mean()",
         "you took exp(−mean); the losses are −log p already, so it is exp(mean)"),
        ("np.exp(losses[mask].sum() / mask.sum())",
         "np.exp((losses * mask).sum(0) / mask.sum(0)).mean()",
         "you averaged the perplexities of the sequences; it should be one mean over all words"),
        ("np.exp(losses[mask].sum() / mask.sum())",
         "np.exp(((losses * mask).sum(0) / mask.sum(0)).mean())",
         "you averaged the means of the sequences; it should be one mean over all words, because "
         "otherwise short sequences count for more"),
        ("np.exp(losses[mask].sum() / mask.sum())", "np.exp(losses[mask]).mean()",
         "you took the mean of exp; it should be exp of the mean, because one hopeless word would "
         "count for all"),
        ("np.exp(losses[mask].sum() / mask.sum())", "2 ** (losses[mask].sum() / mask.sum())",
         "you took a power of 2; it should be one of e, because the losses are natural "
         "logarithms")))
