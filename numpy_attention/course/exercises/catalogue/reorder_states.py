"""Exercise reorder-states: the state that each new hypothesis of beam search continues from."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def select(log_p, totals, ids, states):
    """One step of beam search for a batch → the new totals, ids and states.

    Each of the B sentences has k hypotheses. totals (B, k): their log p. ids (B, k, t): their
    words. states (B, k, H): their decoder states. log_p (B, k, V): log p of each next word.
    """
    B, k, V = log_p.shape
    sums = (totals[:, :, None] + log_p).reshape(B, k * V)
    best = np.argsort(-sums, 1)[:, :k]                          # (B, k)
    parents = best // V                                         # (B, k)
    words = best % V
    before = np.take_along_axis(ids, parents[:, :, None], 1)
    states = np.take_along_axis(states, parents[:, :, None], 1)
    ids = np.concatenate([before, words[:, :, None]], 2)
    totals = np.take_along_axis(sums, best, 1)
    return totals, ids, states


def cases(rng, its):
    for B, k, V, t, H in ((3, 4, 6, 2, 5), (2, 3, 5, 4, 2)):
        log_p = np.log(rng.dirichlet([0.5] * V, size=(B, k)) + 1e-3)
        yield Case(its.select, (log_p, np.log(rng.dirichlet([2] * k, size=B)),
                                rng.integers(V, size=(B, k, t)), rng.standard_normal((B, k, H))))


EXERCISE = Exercise(
    "reorder-states", "whose state goes on", "10_decoding", position=1,
    source=Source(__file__, ("select",)), blanks=("select",), cases=cases,
    text="""
    sums_bjv = totals_bj + log_p_bjv
    of each sentence b the k largest sums are kept, the largest first
    the parent of a kept one is its j, its new word is its v

One step of beam search for B sentences, each with k hypotheses (the lesson's `width`).
log_p (B, k, V) is that of each next word, totals (B, k) the log p of each hypothesis, ids (B, k, t)
its words, and states (B, k, H) the decoder's state that the next step reads. Return the new totals
(B, k), ids (B, k, t + 1) and states (B, k, H). None has ended.
""",
    hints=(
        "The best hypothesis may be the child of the second one, and then its state must be, too.",
        "Flattened to k · V numbers, place n belongs to hypothesis n // V and word n % V.",
        "np.take_along_axis(states, parents[:, :, None], 1), and the same for ids"),
    why=("A hypothesis is its words, its total and its state. All three have the same parent, so "
         "one index moves all three."),
    unseen=("With states in the wrong rows a model still translates, only a little worse: compare "
            "the log p of what it wrote with the model's own."),
    mistakes=(
        ("    states = np.take_along_axis(states, parents[:, :, None], 1)\n", "",
         "you left the states where they were; they should be taken by parent, because hypotheses "
         "cross"),
        ("    before = np.take_along_axis(ids, parents[:, :, None], 1)\n", "    before = ids\n",
         "you left the words where they were; they should be taken by parent, because hypotheses "
         "cross"),
        ("states = np.take_along_axis(states, parents[:, :, None], 1)",
         "states = np.take_along_axis(states, np.sort(parents, 1)[:, :, None], 1)",
         "you put the parents in order for the states; they should stay in the order of the kept "
         "ones, because row j of the states belongs to hypothesis j"),
        ("states = np.take_along_axis(states, parents[:, :, None], 1)",
         "states = states[:, parents[0]]",
         "you took the first sentence's parents for all; each sentence should have its own, "
         "because its hypotheses cross in another way"),
        ("totals[:, :, None] + log_p", "0 * totals[:, :, None] + log_p",
         "you left out the words before; a sum should include the total, because the log p of a "
         "sentence is a sum over its words"),
        ("np.argsort(-sums, 1)[:, :k]", "np.argsort(sums, 1)[:, :k]",
         "you kept the smallest sums; it should be the largest, because they are the most "
         "probable"),
        ("np.argsort(-sums, 1)[:, :k]", "np.argsort(sums, 1)[:, -k:]",
         "you kept them with the largest last; it should come first, because row 0 is the best "
         "hypothesis"),
        ("    best = np.argsort(-sums, 1)[:, :k]                          # (B, k)\n",
         "    best = log_p.argmax(2) + V * np.arange(k)\n",
         "you kept the best word of each hypothesis; it should be the k largest of all sums, "
         "because one hypothesis may have two good continuations"),
        ("    best = np.argsort(-sums, 1)[:, :k]                          # (B, k)\n",
         "    each = log_p.argmax(2) + V * np.arange(k)\n"
         "    order = np.argsort(-np.take_along_axis(sums, each, 1), 1)\n"
         "    best = np.take_along_axis(each, order, 1)\n",
         "you kept the best word of each hypothesis; it should be the k largest of all sums, "
         "because one hypothesis may have two good continuations"),
        ("    best = np.argsort(-sums, 1)[:, :k]                          # (B, k)\n",
         "    best = np.argsort(-sums[:, :V], 1)[:, :k]\n",
         "you continued the first hypothesis alone; all k should be continued, because a second "
         "one may become the best"),
        ("states = np.take_along_axis(states, parents[:, :, None], 1)",
         "states = states.reshape(B * k, -1)[parents]",
         "you took all states from the first sentence; each sentence should keep its own, "
         "because parents count within a sentence"),
        ("before = np.take_along_axis(ids, parents[:, :, None], 1)",
         "before = ids.reshape(B * k, -1)[parents]",
         "you took all words from the first sentence; each sentence should keep its own, because "
         "parents count within a sentence"),
        ("before = np.take_along_axis(ids, parents[:, :, None], 1)", "before = ids[:, parents[0]]",
         "you took the first sentence's parents for all words; each sentence should have its "
         "own, because its hypotheses cross in another way"),
        ("parents = best // V", "parents = best % k",
         "you took best % k for the parent; it should be best // V, because each hypothesis has "
         "V sums in a row"),
        ("words = best % V", "words = best",
         "you took the place among all k V sums for the word; it should be best % V, because "
         "each hypothesis has V sums in a row"),
        ("np.concatenate([before, words[:, :, None]], 2)",
         "np.concatenate([words[:, :, None], before], 2)",
         "you put the new word in front; it should come last, because the words are in their "
         "order"),
        ("totals = np.take_along_axis(sums, best, 1)",
         "totals = np.take_along_axis(log_p.reshape(B, k * V), best, 1)",
         "you returned the log p of the new words alone; it should be the sums, because the log "
         "p of a hypothesis is that of all its words"),
        ("totals = np.take_along_axis(sums, best, 1)",
         "totals = totals + np.take_along_axis(log_p.reshape(B, k * V), best, 1)",
         "you added the totals in their old order; each should be its parent's, because "
         "hypotheses cross"),
        ("totals[:, :, None] + log_p", "totals[:, :, None] * log_p",
         "you multiplied two log p; they should be added, because the product of probabilities "
         "is a sum of logs"),
        ("totals[:, :, None] + log_p", "np.exp(totals[:, :, None] + log_p)",
         "you returned probabilities; the totals should stay log p, because the next step adds "
         "to them")))
