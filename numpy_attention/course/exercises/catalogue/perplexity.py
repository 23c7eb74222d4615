"""Exercise perplexity: how many words a model hesitates between."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead


def perplexity(losses, mask):
    """losses (T, B), −log p of each word; mask (T, B), False at padding → the perplexity."""
    return np.exp(losses[mask].sum() / mask.sum())


def cases(rng, its):
    for lengths in ([3, 5], [4, 2, 5]):
        mask = np.arange(5)[:, None] < np.array(lengths)
        yield Case(its.perplexity, (4 * rng.random(mask.shape), mask))


EXERCISE = Exercise(
    "perplexity", "how many words a model hesitates between", "02_recurrent_network", position=4,
    needs=("cross-entropy",), source=Source(__file__, ("perplexity",)), blanks=("perplexity",),
    cases=cases,
    text="""
    perplexity = exp(1/N Σ −log p)          over the N words of all sequences

losses (T, B) holds −log p (natural logarithms); mask (T, B) is False where a sequence has ended.
""",
    hints=(
        "A model that gives every one of V words the same probability has a perplexity of V, "
        "however long its texts are.",
        "It is a mean over words, not over sequences, and padding is not a word.",
        "exp(sum of the losses where the mask is True / number of words where it is True)"),
    why="It is the geometric mean of 1/p: a choice among that many equally likely words.",
    unseen=("Counting tokens that others leave out, such as the end of each sentence, changes the "
            "number, and then two perplexities cannot be compared."),
    mistakes=(
        *instead("losses[mask].sum() / mask.sum()", "losses[mask].sum() / mask.sum()",
                 ("(losses * mask).mean()", "you divided by the number of places; it should be the "
                  "number of words, because padding does not count"),
                 ("losses.mean()", "you ignored the mask; the mean should go over the words only, "
                  "because padding does not count"),
                 ("losses.sum() / mask.sum()", "you summed over padding too; the sum should go "
                  "over the words only, because padding has no loss"),
                 ("-losses[mask].sum() / mask.sum()", "you took exp of minus the mean; it should "
                  "be exp of the mean, because the losses are −log p already"),
                 ("losses[~mask].sum() / (~mask).sum()", "you read the mask the wrong way round; "
                  "the mean should go over the places where it is True, because those are the "
                  "words"),
                 ("-losses.mean()", "you ignored the mask and took exp of minus the mean; it "
                  "should be exp of the mean over the words, because the losses are −log p "
                  "already")),
        ("np.exp(losses[mask].sum() / mask.sum())",
         "np.exp((losses * mask).sum(0) / mask.sum(0)).mean()",
         "you averaged the perplexities of the sequences; it should be one mean over all "
         "words, because exp is taken once, at the end"),
        ("np.exp(losses[mask].sum() / mask.sum())",
         "np.exp(((losses * mask).sum(0) / mask.sum(0)).mean())",
         "you averaged the means of the sequences; it should be one mean over all words, "
         "because otherwise the words of short sequences count for more"),
        ("np.exp(losses[mask].sum() / mask.sum())", "np.exp(losses[mask]).mean()",
         "you took the mean of exp; it should be exp of the mean, because otherwise one very "
         "improbable word outweighs the rest"),
        ("np.exp(losses[mask].sum() / mask.sum())", "2 ** (losses[mask].sum() / mask.sum())",
         "you raised 2 to the mean loss; it should be e, because the losses are natural "
         "logarithms"),
        ("np.exp(losses[mask].sum() / mask.sum())", "losses[mask].sum() / mask.sum()",
         "you returned the mean loss; it should be its exp, because that is the perplexity"),
        *instead("losses[mask].sum() / mask.sum()", "losses[mask].sum() / mask.sum()",
                 ("losses[mask].sum() / len(losses)", "you divided by the number of steps; it "
                  "should be the number of words, mask.sum(), because the mean is over words"),
                 ("losses[mask].sum() / losses.shape[1]", "you divided by the number of sequences; "
                  "it should be the number of words, because the mean is over words"),
                 ("losses[mask].sum()", "you took exp of the sum; it should be exp of the mean, "
                  "because otherwise a longer text has a larger perplexity"),
                 ("((losses * mask).sum(1) / mask.sum(1)).mean()", "you averaged the means of the "
                  "steps; it should be one mean over all words, because later steps have fewer"),
                 ("-np.log(losses[mask]).mean()", "you took −log of the losses; it should be their "
                  "mean, because they are −log p already"),
                 ("np.log(losses[mask]).mean()", "you took the logarithm of the losses; it should "
                  "be their mean, because they are −log p already"),
                 ("np.median(losses[mask])", "you took the median; it should be the mean, because "
                  "perplexity is defined by it"),
                 ("losses[-1][mask[-1]].sum() / mask[-1].sum()", "you counted the last step alone; "
                  "the mean should go over all words")),
        *instead("np.exp(losses[mask].sum() / mask.sum())", "np.exp(losses[mask].sum() / "
        "mask.sum())",
                 ("1 / np.exp(-losses[mask]).mean()", "you averaged p; it should be the mean of "
                  "−log p, because perplexity is a geometric mean"),
                 ("np.exp(losses).sum() / mask.sum()", "you took exp before the mean, and of "
                  "padding too; it should be exp of the mean over the words"),
                 ("(np.exp(losses) * mask).mean()", "you took exp before the mean, and divided by "
                  "all places; it should be exp of the mean over the words"),
                 ("np.exp((losses * mask).sum(0)).mean()", "you took exp of each sequence's sum; "
                  "it should be exp of one mean over all words"),
                 ("10 ** (losses[mask].sum() / mask.sum())", "you raised 10 to the mean loss; it "
                  "should be e, because the losses are natural logarithms"),
                 ("np.log(losses[mask].sum() / mask.sum())", "you took the logarithm; it should be "
                  "exp, because the losses are logarithms already"))))
