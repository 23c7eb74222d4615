"""The floor of a training step or a search: its matrix products alone, in NumPy.

A product is (rows, inner, columns), or (count, rows, inner, columns). Padding needs no products.
"""

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from sides import batch_of, is_text

LOOP = 20       # products in a loop over time, enough to use panels
GATES = {"rnn": 1, "gru": 3, "lstm": 4}


class Widths(NamedTuple):
    """(inner, columns) of a model's products.

    read, written: products over all words of the source, and of the target
    encoder, decoder: products over the rows of the batch, at every time step
    """

    read: list
    encoder: list
    written: list
    decoder: list


def rnnsearch(size, words):
    E, H, A, maxout = (size[name] for name in ("embedding", "hidden", "alignment", "maxout"))
    deep_output = [(inner, 2 * maxout) for inner in (H, E, 2 * H)]
    return Widths(
        read=[(E, 3 * H), (E, 3 * H), (2 * H, A)],                      # both directions, keys
        encoder=[(H, 3 * H), (H, 3 * H)],
        written=[(E, 3 * H), *deep_output, (maxout, words)],
        decoder=[(H, 3 * H), (2 * H, 3 * H), (H, A)])


def luong(size, words):
    E, H = size["embedding"], size["hidden"]
    return Widths(
        read=[(E, 4 * H)],
        encoder=[(H, 4 * H)],
        written=[(E, 4 * H), (H, words)],
        decoder=2 * [(H, 4 * H)] + 2 * [(H, H)])                # h and input feeding; C and W


def language_model(size, words):
    H = size["hidden"]
    cells = size["layers"] * [(H, GATES[size["cell"]] * H)]
    attention = 4 * [(H, H)] if size["attention"] else []       # W_s, W_q, W_x, W_r
    return Widths([], [], [*cells, (H, words), *attention], cells)


WIDTHS = {None: language_model, "rnnsearch": rnnsearch, "luong": luong}


def of_rows(rows, widths):
    return [(rows, *width) for width in widths]


# ---- a training step -----------------------------------------------------------------------------


def transformer_products(size, batch, rows):
    """Return the products of a Transformer. Attention has products per sentence and head."""
    S, T = len(batch.source), len(batch.target_in)
    D = size["hidden"]
    heads = rows * size["heads"]
    d = D // size["heads"]

    def feed_forward(words):
        return [(words, D, size["inner"]), (words, size["inner"], D)]

    def attend(queries, keys):
        projections = 2 * [(rows * queries, D, D)] + 2 * [(rows * keys, D, D)]
        return projections + [(heads, queries, d, keys), (heads, queries, keys, d)]

    encoder = attend(S, S) + feed_forward(rows * S)
    decoder = attend(T, T) + attend(T, S) + feed_forward(rows * T)
    return size["layers"] * (encoder + decoder) + [(rows * T, D, size["vocabulary"])]


def products_of(size, threads):
    """Return the products of a thread's forward pass, and those of its weight gradients.

    The weights of a time step have one product for all steps. The products for the gradients of
    inputs have the sizes of those of the forward pass.
    """
    batch = batch_of(size, np.random.default_rng(0))
    rows = size["batch"] // threads
    if size.get("model") == "transformer":
        products = transformer_products(size, batch, rows)
        return products, products
    widths = WIDTHS[size.get("model")](size, size["vocabulary"])
    S, T, read = size.get("steps", 0), size.get("steps"), 0
    if not is_text(size):
        S, T = len(batch.source), len(batch.target_in)
        read = int(batch.source_mask.sum()) // threads
    written = batch.tokens // threads
    once = of_rows(read, widths.read) + of_rows(written, widths.written)
    if size.get("attention"):
        once.append((rows, T, T, size["hidden"]))               # the weights times the states
    steps = S * of_rows(rows, widths.encoder) + T * of_rows(rows, widths.decoder)
    hoisted = of_rows(read, widths.encoder) + of_rows(written, widths.decoder)
    return once + steps, once + hoisted


def floor(size, threads, built):
    """A side of versus_pytorch.py: the products of a training step, whose rows threads share."""
    from numpy_attention.products import few_rows
    from numpy_attention.training.threads import Threads
    forward, weights = products_of(size, threads)

    def ones(*shape):
        return np.ones(shape, np.float32)

    factors = {}
    for *b, n, k, m in {*forward, *weights}:
        # y = x W and dx = dy Wᵀ, with W laid out as for a loop over time
        for what, inner, columns in (("y", k, m), ("dx", m, k)):
            W = ones(*b, inner, columns)
            factors[(what, *b, n, k, m)] = ones(*b, n, inner), W if b else few_rows(W, n, LOOP)
        factors[("dW", *b, n, k, m)] = ones(*b, k, n), ones(*b, n, m)     # dW = xᵀ dy
    built()

    def products(_):
        for what, shapes in (("y", forward), ("dx", forward), ("dW", weights)):
            for shape in shapes:
                x, W = factors[(what, *shape)]
                x @ W

    pool = Threads(threads).__enter__()

    def step():
        pool.map(products)
        return 0.0
    return step


# ---- a search ------------------------------------------------------------------------------------


class Watched:
    """A model that records its calls.

    begun: for each batch the mask of its source (S, B), and the number of rows in each call of
    `next`, which falls because finished sentences leave the batch
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


def search_products(widths, mask, row_counts):
    """Return the products of one batch. row_counts: the number of rows in each step."""
    S, B = mask.shape
    found = of_rows(int(mask.sum()), widths.read) + S * of_rows(B, widths.encoder)
    for rows in row_counts:
        found += of_rows(rows, widths.written) + of_rows(rows, widths.decoder)
    return found


def search_floor(translator, sentences, beam, threads):
    """Return a step that computes the products of translating these sentences."""
    from numpy_attention.products import few_rows, fixed_weights
    from numpy_attention.training.threads import Threads
    watched = translator.model = Watched(translator.model)
    translator.translate(sentences, beam)
    widths = WIDTHS[translator.name](translator.settings, len(translator.target_vocabulary))
    batches = [search_products(widths, *begun) for begun in watched.begun]
    weights = {}
    most = defaultdict(int)
    for rows, inner, columns in sum(batches, []):
        weights[inner, columns] = np.ones((inner, columns), np.float32)
        most[inner] = max(most[inner], rows)
    inputs = {inner: np.ones((rows, inner), np.float32) for inner, rows in most.items()}
    pool = Threads(threads).__enter__()

    def share(k):
        for batch in batches[k::threads]:
            for rows, inner, columns in batch:
                inputs[inner][:rows] @ few_rows(weights[inner, columns], rows)

    @fixed_weights()
    def step():
        pool.map(share)
        return 0.0
    return step
