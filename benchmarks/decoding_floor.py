"""The floor of decoding.py: a search's matrix products alone, in NumPy, on the same threads.

The model is watched while it translates once: which batches it begins, and how many rows each word
is asked for, for sentences that have ended leave the batch. A product is (rows, inner, columns).
"""

from collections import defaultdict

import numpy as np

from numpy_attention.training.threads import Threads


class Watched:
    """A model that remembers its calls.

    begun: a pair for every batch, its source's mask (S, B) and the rows of each call of `next`.
    """

    def __init__(self, model):
        self.model = model
        self.begun = []

    def __getattr__(self, name):
        return getattr(self.model, name)

    def start(self, source, mask):
        self.begun.append((mask, []))
        return self.model.start(source, mask)

    def next(self, tokens, state):
        self.begun[-1][1].append(len(tokens))
        return self.model.next(tokens, state)


def rnnsearch_start(size, mask):
    E, H, A = size["embedding"], size["hidden"], size["alignment"]
    S, B = mask.shape
    read = int(mask.sum())
    inputs = 2 * [(read, E, 3 * H)]                     # the encoder's, both ways
    return inputs + 2 * S * [(B, H, 3 * H)] + [(B, H, H), (read, 2 * H, A)]


def rnnsearch_word(size, rows, words):
    E, H, A, maxout = (size[name] for name in ("embedding", "hidden", "alignment", "maxout"))
    cell = [(rows, E, 3 * H), (rows, H, A), (rows, 2 * H, 3 * H), (rows, H, 3 * H)]
    deep_output = [(rows, inner, 2 * maxout) for inner in (H, E, 2 * H)]
    return cell + deep_output + [(rows, maxout, words)]


def luong_start(size, mask):
    E, H = size["embedding"], size["hidden"]
    S, B = mask.shape
    return [(int(mask.sum()), E, 4 * H)] + S * [(B, H, 4 * H)]


def luong_word(size, rows, words):
    E, H = size["embedding"], size["hidden"]
    cell = [(rows, E, 4 * H), (rows, H, 4 * H), (rows, H, 4 * H)]       # h and input feeding
    return cell + 2 * [(rows, H, H)] + [(rows, H, words)]               # C and W


PRODUCTS = {
    "rnnsearch": (rnnsearch_start, rnnsearch_word),
    "luong": (luong_start, luong_word),
}


def products_of(name, size, begun, words):
    """All products of a watched search, a list for each batch.   words: of the vocabulary."""
    start, word = PRODUCTS[name]
    return [start(size, mask) + [shape for rows in asked for shape in word(size, rows, words)]
            for mask, asked in begun]


def multiplier(batches):
    """A function that makes the products of one batch, by its number; weights are shared."""
    weights = {}
    most = defaultdict(int)
    for rows, inner, columns in (shape for batch in batches for shape in batch):
        weights[inner, columns] = np.ones((inner, columns), np.float32)
        most[inner] = max(most[inner], rows)
    inputs = {inner: np.ones((rows, inner), np.float32) for inner, rows in most.items()}

    def multiply(number):
        for rows, inner, columns in batches[number]:
            np.matmul(inputs[inner][:rows], weights[inner, columns])
    return multiply


def floor(translator, sentences, beam, threads):
    """A step that makes the products of translating these sentences → 0."""
    watched = translator.model = Watched(translator.model)
    translator.translate(sentences, beam)
    batches = products_of(translator.name, translator.settings, watched.begun,
                          len(translator.target_vocabulary))
    multiply = multiplier(batches)
    pool = Threads(threads).__enter__()

    def share(k):
        for number in range(k, len(batches), threads):
            multiply(number)

    def step():
        pool.map(share)
        return 0.0
    return step
