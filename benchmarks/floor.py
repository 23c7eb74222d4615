"""The floor of versus_pytorch.py: the matrix products of a training step alone, in NumPy, on the same threads."""

import numpy as np
from sides import batch_of

GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def rnnsearch_products(size, threads):
    """(rows, inner, columns) of the products made once a step, of those made every time step, and of the weight
    gradients of the latter, made once; for the words that are no padding, the rows shared out among threads."""
    batch = batch_of(size, np.random.default_rng(0))
    H, E, A, L, V = (size[name] for name in ("hidden", "embedding", "alignment", "maxout", "vocabulary"))
    S, T, B = len(batch.source), len(batch.target_in), batch.size // threads
    read, written = int(batch.source_mask.sum()) // threads, batch.tokens // threads
    once = 2 * [(read, E, 3 * H)] + [(read, 2 * H, A), (written, E, 3 * H), (written, L, V)]
    once += [(written, rows, 2 * L) for rows in (H, E, 2 * H)]
    steps = S * 2 * [(B, H, 3 * H)] + T * [(B, H, 3 * H), (B, 2 * H, 3 * H), (B, H, A)]
    return once, steps, 2 * [(read, H, 3 * H)] + [(written, H, 3 * H), (written, 2 * H, 3 * H), (written, H, A)]


def luong_products(size, threads):
    batch = batch_of(size, np.random.default_rng(0))
    H, E, V = (size[name] for name in ("hidden", "embedding", "vocabulary"))
    S, T, B = len(batch.source), len(batch.target_in), batch.size // threads
    read, written = int(batch.source_mask.sum()) // threads, batch.tokens // threads
    steps = S * [(B, H, 4 * H)] + T * [(B, H, 4 * H), (B, H, 4 * H), (B, H, H), (B, H, H)]
    return ([(read, E, 4 * H), (written, E, 4 * H), (written, H, V)], steps,
            [(read, H, 4 * H)] + 2 * [(written, H, 4 * H), (written, H, H)])


def transformer_products(size, threads):
    """Its scores and sums are products of a sentence and head each: (B · heads, T, S, D / heads)."""
    batch = batch_of(size, np.random.default_rng(0))
    D, V, N, inner = (size[name] for name in ("hidden", "vocabulary", "layers", "inner"))
    S, T, B = len(batch.source), len(batch.target_in), batch.size // threads
    read, written, heads, d = S * B, T * B, B * size["heads"], D // size["heads"]
    forward = lambda rows: [(rows, D, inner), (rows, inner, D)]
    look = lambda asked, known, t, s: 2 * [(asked, D, D), (known, D, D)] + [(heads, t, d, s), (heads, t, s, d)]
    encoder = look(read, read, S, S) + forward(read)
    decoder = look(written, written, T, T) + look(written, read, T, S) + forward(written)
    return N * (encoder + decoder) + [(written, D, V)], [], []


def text_products(size, threads):
    """The same for a language model; (B, T, T, H) are B products, the weights of each row by its states."""
    T, B, H, V, layers = (size[name] for name in ("steps", "batch", "hidden", "vocabulary", "layers"))
    B, gates = B // threads, GATES[size["cell"]] * H
    once = layers * [(T * B, H, gates)] + [(T * B, H, V)]
    if size["attention"]:
        once += 4 * [(T * B, H, H)] + [(B, T, T, H)]                  # W_s, W_q, W_x, W_r
    return once, T * layers * [(B, H, gates)], layers * [(T * B, H, gates)]


PRODUCTS = {None: text_products, "rnnsearch": rnnsearch_products, "luong": luong_products,
            "transformer": transformer_products}


def floor(size, threads, built):
    from numpy_attention.training.threads import Threads
    once, steps, hoisted = PRODUCTS[size.get("model")](size, threads)

    def pair(*shapes):
        return tuple(np.ones(shape, np.float32) for shape in shapes)

    forward = {(*b, n, k, m): pair((*b, n, k), (*b, k, m)) for *b, n, k, m in once + steps}
    back = {(*b, n, k, m): pair((*b, n, m), (*b, m, k)) for *b, n, k, m in once + steps}
    weight = {(*b, n, k, m): pair((*b, k, n), (*b, n, m)) for *b, n, k, m in once + hoisted}
    built()

    def products(k):
        for pairs, shapes in ((forward, once + steps), (back, once + steps), (weight, once + hoisted)):
            for shape in shapes:
                np.matmul(*pairs[shape])

    pool = Threads(threads).__enter__()
    return lambda: pool.map(products) and 0.0
