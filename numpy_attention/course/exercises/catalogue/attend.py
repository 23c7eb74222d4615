"""Exercise attend: the whole forward pass of attention."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead


def attend(q, X, mask):
    """One query (D,), words (S, D), mask (S,) → the context (D,) and the weights (S,)."""
    scores = np.where(mask, X @ q, -np.inf)
    powers = np.exp(scores - scores.max())
    weights = powers / powers.sum()
    return weights @ X, weights


def cases(rng, its):
    for S, D, hidden in ((6, 3, (2,)), (4, 5, (0, 3)), (5, 2, (4,))):
        mask = ~np.isin(np.arange(S), hidden)
        yield Case(its.attend, (rng.standard_normal(D), rng.standard_normal((S, D)), mask))


EXERCISE = Exercise(
    "attend", "all of attention, forward", "00_attention_on_paper", position=1,
    source=Source(__file__, ("attend",)), blanks=("attend",), cases=cases,
    text="""
    e_j = q · x_j          the score of word j, −∞ if it must not be seen
    α_j = exp(e_j) / Σ_k exp(e_k)
    c   = Σ_j α_j x_j

Given a query q (D,), words X (S, D), one per row, and a mask (S,) that is False for words that must
not be seen, return the context c (D,) and the weights α (S,). NumPy needs three or four lines.
""",
    hints=(
        "The weights are positive and add up to 1; a hidden word has weight 0.",
        "All scores are one product, X @ q. np.where(mask, …, -np.inf) hides a word, and "
        "np.exp(-np.inf) is 0.",
        "weights = powers / powers.sum(), and the context is weights @ X"),
    why=("Subtracting the largest score changes no weight, and keeps exp from overflowing. The "
         "word is hidden before the softmax, so the others share what it had."),
    unseen="Without the largest score subtracted all is right, until a score is above 709.",
    mistakes=(
        ("scores = np.where(mask, X @ q, -np.inf)", "scores = X @ q",
         "you ignored the mask; the score of a hidden word should be −∞, because exp(−∞) is 0"),
        ("scores = np.where(mask, X @ q, -np.inf)", "scores = np.where(mask, X @ q, 0)",
         "you gave hidden words the score 0; it should be −∞, because exp(0) is 1"),
        ("weights = powers / powers.sum()", "weights = powers",
         "you left out the sum; each power should be divided by the sum of all, because the "
         "weights are shares"),
        ("return weights @ X, weights", "return weights @ X / mask.sum(), weights",
         "you divided the context by the number of words; it should be the weighted sum alone, "
         "because the weights add up to 1 already"),
        ("scores = np.where(mask, X @ q, -np.inf)",
         "scores = np.where(mask, X @ q / np.sqrt(len(q)), -np.inf)",
         "you divided the scores by √D; here they are plain dot products, and the division comes "
         "with lesson 08, because it changes how sharp the weights are"),
        ("return weights @ X, weights", "return X[weights.argmax()], weights",
         "you read the best word alone; the context should be the average of all words by their "
         "weights, because attention prefers and does not choose"),
        ("    weights = powers / powers.sum()",
         "    weights = np.exp(X @ q) / np.exp(X @ q).sum() * mask",
         "you hid the word after the softmax; it should be hidden before, because otherwise the "
         "weights do not add up to 1"),
        ("return weights @ X, weights", "return powers @ X, weights",
         "you averaged with the powers; the context should use the weights α, because these add up "
         "to 1"),
        ("return weights @ X, weights", "return X[mask].mean(0), weights",
         "you took the plain mean of the words; the context should be Σ α x, because words count "
         "by their weights"),
        ("return weights @ X, weights", "return (weights[:, None] * X).mean(0), weights",
         "you took the mean of α x; it should be the sum, because the weights add up to 1 already"),
        ("return weights @ X, weights", "return weights, weights @ X",
         "you returned the weights first; the context should come first, because the task says so"),
        *instead("    scores = np.where(mask, X @ q, -np.inf)\n", "mask, X @ q, -np.inf",
                 ("mask, -np.inf, X @ q", "you read the mask the wrong way round; −∞ belongs "
                  "where it is False, because those words must not be seen"),
                 ("mask, X @ q, -1", "you gave hidden words the score −1; it should be −∞, because "
                  "exp(−1) is not 0"),
                 ("mask, -(X @ q), -np.inf", "you took −q · x; it should be q · x, because a word "
                  "like the query gets the larger weight"),
                 ("mask, X @ q / np.linalg.norm(X, axis=1) / np.linalg.norm(q), -np.inf",
                  "you took the cosine; it should be the plain dot product, because the task does "
                  "not divide by the lengths"),
                 ("mask, -((X - q)**2).sum(1), -np.inf", "you took the distance from the query; it "
                  "should be the dot product q · x, because that is the score here")),
        *instead("    weights = powers / powers.sum()\n", "powers / powers.sum()",
                 ("powers / powers.mean()", "you divided by the mean power; it should be the sum, "
                  "because the weights add up to 1"),
                 ("powers / len(X)", "you divided by the number of words; it should be the sum of "
                  "the powers, because the weights add up to 1"),
                 ("1 / (1 + np.exp(-scores))", "you took σ of each score; it should be a softmax, "
                  "because the weights of all words add up to 1"),
                 ("(X @ q) * mask / ((X @ q) * mask).sum()", "you left out exp; it should be "
                  "exp(e) / Σ exp(e), because weights are positive"),
                 ("np.exp(powers / powers.sum()) / np.exp(powers / powers.sum()).sum()",
                  "you took the softmax twice; once is enough, because its output is the "
                  "weights"))))
