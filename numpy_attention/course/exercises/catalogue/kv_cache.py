"""Exercise kv-cache: one row of keys and values for each new word."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead


def softmax(e):
    A = np.exp(e - e.max(-1, keepdims=True))
    return A / A.sum(-1, keepdims=True)


def step(x, keys, values, W_q, W_k, W_v):
    """Newest word x (B, D), kept keys (B, t, d), values (B, t, v) → output (B, v), keys, values."""
    q = x @ W_q                                                 # (B, d)
    k = x @ W_k                                                 # (B, d)
    v = x @ W_v                                                 # (B, v)
    keys = np.concatenate([keys, k[:, None]], 1)                # (B, t + 1, d)
    values = np.concatenate([values, v[:, None]], 1)            # (B, t + 1, v)
    e = (keys @ q[:, :, None])[:, :, 0] / np.sqrt(q.shape[1])   # (B, t + 1)
    A = softmax(e)
    return (A[:, None] @ values)[:, 0], keys, values


def cases(rng, its):
    B, D, d, v = 2, 5, 3, 4
    weights = [rng.standard_normal((D, size)) for size in (d, d, v)]
    for t in (6, 1):
        kept = rng.standard_normal((B, t, d)), rng.standard_normal((B, t, v))
        yield Case(its.step, (rng.standard_normal((B, D)), *kept, *weights))


EXERCISE = Exercise(
    "kv-cache", "one row for each new word", "09_transformer", position=3,
    needs=("causal-mask",), source=Source(__file__, ("softmax", "step")), blanks=("step",),
    cases=cases,
    text="""
    q = x W_q        k = x W_k        v = x W_v
    keys = [kept keys; k]      values = [kept values; v]
    output = Σ_s softmax(q · keys / √d)_s values_s

Causal self-attention word by word. x (B, D) is the newest word of each of B sentences; the keys
(B, t, d) and values (B, t, v) of the t words before are kept. Return the output (B, v), and the
keys (B, t + 1, d) and values (B, t + 1, v) to keep for the next word. No argument is changed.
""",
    hints=(
        "Word by word must give what causal attention gives for all words at once.",
        "A word attends to itself, too: first keep its key and value, then attend.",
        "e = keys · q / √d (B, t + 1), A = softmax(e), output = A values"),
    why=("Under the causal mask nothing of an earlier word depends on later ones, so its key and "
         "value may be kept. A query is needed once, and is not kept."),
    unseen=("Keys and values in another order give the same output: attention alone does not know "
            "the order of what it reads."),
    mistakes=(
        ("e = (keys @ q[:, :, None])[:, :, 0] / np.sqrt(q.shape[1])",
         "e = (keys @ q[:, :, None])[:, :, 0]", "you left out √d; the scores should be divided by "
         "it, because this is scaled dot-product attention"),
        *instead("np.sqrt(q.shape[1])", "np.sqrt(q.shape[1])",
                 ("np.sqrt(keys.shape[1])", "you divided by the root of the number of words; it "
                  "should be √d, because d is the size of a key"),
                 ("np.sqrt(x.shape[1])", "you divided by the root of the size of x; it should be "
                  "√d, because d is the size of a key"),
                 ("np.sqrt(values.shape[2])", "you divided by the root of the size of a value; it "
                  "should be √d, because d is the size of a key")),
        ("k = x @ W_k", "k = x @ W_q",
         "you kept the query as a key; it should be x W_k, because later words attend to keys"),
        ("[keys, k[:, None]]", "[k[:, None], keys]", "you put the new key in front; it should come "
         "last, because row s of keys and of values is word s"),
        ("    A = softmax(e)\n    return (A[:, None] @ values)[:, 0], keys, values",
         "    A = softmax(e[:, 1:])\n    return (A[:, None] @ values[:, 1:])[:, 0], keys, values",
         "you left out the oldest word; it should be attended to, because a word sees all before "
         "it"),
        ("    A = softmax(e)\n    return (A[:, None] @ values)[:, 0], keys, values",
         "    A = softmax(e[:, :-1])\n    return (A[:, None] @ values[:, :-1])[:, 0], keys, values",
         "you left out the new word itself; it should be attended to, because the mask is s ≤ t"),
        ("A = softmax(e)", "A = softmax(e.T).T", "you took the softmax over the sentences; it "
         "should be over the words, because the weights of one query add up to 1"),
        ("/ np.sqrt(q.shape[1])", "/ q.shape[1]",
         "you divided by d; it should be √d, because this is scaled dot-product attention"),
        ("q = x @ W_q", "q = x @ W_k",
         "you made the query with W_k; it should be x W_q, because W_k makes the keys"),
        ("(A[:, None] @ values)[:, 0]", "(A[:, None, :-1] @ values[:, :-1])[:, 0]",
         "you left the new word's value out of the output; it should be kept first, because the "
         "word attends to itself"),
        ("[values, v[:, None]]", "[v[:, None], values]", "you put the new value in front; it "
         "should come last, because row s of keys and of values is word s"),
        ("[keys, k[:, None]] … [values, v[:, None]]", "[k[:, None], keys] … [v[:, None], values]",
         "you put key and value in front; they should come last, because row s of keys and of "
         "values is word s"),
        ("keys @ q[:, :, None])", "keys[::-1] @ q[:, :, None])", "you gave each query another "
         "sentence's keys; it should be its own, because sentences are independent"),
        ("A = softmax(e)", "A = e",
         "you left out the softmax; the scores should become weights that add up to 1"),
        ("return (A[:, None] @ values)[:, 0], keys, values",
         "return (A[:, None] @ values)[:, 0], keys[:, :-1], values[:, :-1]", "you returned the old "
         "keys and values; they should have the new word's rows, because later words attend to it"),
        ("return (A[:, None] @ values)[:, 0], keys, values",
         "return (A[:, None] @ values)[:, 0], keys[:, 1:], values[:, 1:]",
         "you dropped the oldest word; t + 1 rows should be kept, because every later word "
         "attends to it")))
