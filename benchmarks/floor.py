"""The floor of versus_pytorch.py: a step's matrix products alone, in NumPy, on the same threads.

A product is (rows, inner, columns), or (how many, rows, inner, columns). Words that are padding
need none; the rows of the batch are shared out among the threads.
"""

from dataclasses import dataclass

import numpy as np
from sides import batch_of

GATES = {"rnn": 1, "gru": 3, "lstm": 4}


@dataclass
class Products:
    """The products of a forward pass; a backward pass has two for each, for its two factors.

    once: made once a step of training. every_step: made anew at every time step, whose weight
    gradients wait and are made at once, as products of the shapes `hoisted`.
    """

    once: list
    every_step: list
    hoisted: list


class Sizes:
    """The numbers of words and steps that a thread of a translator has."""

    def __init__(self, size, threads):
        batch = batch_of(size, np.random.default_rng(0))
        self.S = len(batch.source)
        self.T = len(batch.target_in)
        self.B = batch.size // threads
        self.read = int(batch.source_mask.sum()) // threads
        self.written = batch.tokens // threads


def rnnsearch_products(size, threads):
    n = Sizes(size, threads)
    H = size["hidden"]
    E = size["embedding"]
    A = size["alignment"]
    maxout = size["maxout"]
    once = [
        (n.read, E, 3 * H),                                 # the encoder's inputs, both ways
        (n.read, E, 3 * H),
        (n.read, 2 * H, A),                                 # keys
        (n.written, E, 3 * H),                              # the decoder's inputs
        (n.written, H, 2 * maxout),                         # the deep output
        (n.written, E, 2 * maxout),
        (n.written, 2 * H, 2 * maxout),
        (n.written, maxout, size["vocabulary"]),
    ]
    encoder = [(n.B, H, 3 * H), (n.B, H, 3 * H)]
    decoder = [(n.B, H, 3 * H), (n.B, 2 * H, 3 * H), (n.B, H, A)]
    hoisted = [
        (n.read, H, 3 * H),
        (n.read, H, 3 * H),
        (n.written, H, 3 * H),
        (n.written, 2 * H, 3 * H),
        (n.written, H, A),
    ]
    return Products(once, n.S * encoder + n.T * decoder, hoisted)


def luong_products(size, threads):
    n = Sizes(size, threads)
    H = size["hidden"]
    E = size["embedding"]
    once = [
        (n.read, E, 4 * H),
        (n.written, E, 4 * H),
        (n.written, H, size["vocabulary"]),
    ]
    encoder = [(n.B, H, 4 * H)]
    decoder = 2 * [(n.B, H, 4 * H)] + 2 * [(n.B, H, H)]     # h and input feeding; C and W
    hoisted = [(n.read, H, 4 * H)] + 2 * [(n.written, H, 4 * H), (n.written, H, H)]
    return Products(once, n.S * encoder + n.T * decoder, hoisted)


def transformer_products(size, threads):
    """Its scores and sums are a product for each sentence and head."""
    n = Sizes(size, threads)
    D = size["hidden"]
    inner = size["inner"]
    heads = n.B * size["heads"]
    d = D // size["heads"]

    def feed_forward(rows):
        return [(rows, D, inner), (rows, inner, D)]

    def look(asking, known):
        queries_and_outputs = 2 * [(n.B * asking, D, D)]
        keys_and_values = 2 * [(n.B * known, D, D)]
        scores = (heads, asking, d, known)
        sums = (heads, asking, known, d)
        return queries_and_outputs + keys_and_values + [scores, sums]

    encoder = look(n.S, n.S) + feed_forward(n.B * n.S)
    decoder = look(n.T, n.T) + look(n.T, n.S) + feed_forward(n.B * n.T)
    words = (n.B * n.T, D, size["vocabulary"])
    return Products(size["layers"] * (encoder + decoder) + [words], [], [])


def text_products(size, threads):
    """Of a language model."""
    T = size["steps"]
    B = size["batch"] // threads
    H = size["hidden"]
    G = GATES[size["cell"]] * H
    layers = size["layers"]
    once = layers * [(T * B, H, G)] + [(T * B, H, size["vocabulary"])]
    if size["attention"]:
        once += 4 * [(T * B, H, H)]                         # W_s, W_q, W_x, W_r
        once += [(B, T, T, H)]                              # the weights of each row by its states
    return Products(once, T * layers * [(B, H, G)], layers * [(T * B, H, G)])


PRODUCTS = {
    None: text_products,
    "rnnsearch": rnnsearch_products,
    "luong": luong_products,
    "transformer": transformer_products,
}


def floor(size, threads, built):
    from numpy_attention.training.threads import Threads
    needed = PRODUCTS[size.get("model")](size, threads)
    forward = needed.once + needed.every_step
    weights = needed.once + needed.hoisted

    def ones(*shape):
        return np.ones(shape, np.float32)

    factors = {}
    for *b, n, k, m in {*forward, *weights}:
        factors[("y", *b, n, k, m)] = ones(*b, n, k), ones(*b, k, m)      # y = x W
        factors[("dx", *b, n, k, m)] = ones(*b, n, m), ones(*b, m, k)     # dx = dy Wᵀ
        factors[("dW", *b, n, k, m)] = ones(*b, k, n), ones(*b, n, m)     # dW = xᵀ dy
    built()

    def products(_):
        for what, shapes in (("y", forward), ("dx", forward), ("dW", weights)):
            for shape in shapes:
                np.matmul(*factors[(what, *shape)])

    pool = Threads(threads).__enter__()

    def step():
        pool.map(products)
        return 0.0
    return step
