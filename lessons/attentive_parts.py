"""What lesson 11 needs beside what it teaches: the copying task, verses in batches, comparisons."""

from typing import NamedTuple

import numpy as np

from numpy_attention.data.batching import DocumentBatches, TextBatch
from numpy_attention.data.running_text import load
from numpy_attention.data.vocabulary import PAD, Vocabulary
from numpy_attention.module import Array

LETTERS = np.arange(4, 12)      # ids; those below 4 are special
DOT = 12
GO = 13
SIGNS = dict(enumerate("abcdefgh·→", 4))
COPY_VOCABULARY = 14


class Copying:
    """Batches of the task: n letters, a gap of dots, an arrow; then the letters are to be said.

    While they are said, each letter that was right is read before the next is predicted. Nothing
    else is predicted.
    """

    def __init__(self, batches, rng, size=32, n=10, gap=20):
        letters = rng.choice(LETTERS, (batches, n, size))
        dots = np.full((batches, gap, size), DOT)
        go = np.full((batches, 1, size), GO)
        self.letters = letters
        self.inputs = np.concatenate([letters, dots, go, letters[:, :-1]], 1)

    def __len__(self):
        return len(self.inputs)

    def order(self, rng=None):
        return range(len(self))

    def batch(self, i):
        targets = np.full_like(self.inputs[i], PAD)
        targets[-len(self.letters[i]):] = self.letters[i]
        return TextBatch(self.inputs[i], targets, np.arange(targets.shape[1]))

    def carried(self, position):
        return False


def letters_right(model, batch):
    """Of each place in the copy, the share of sequences whose letter is said right, (n,)."""
    asked = (batch.targets != PAD).all(1)
    y, _, _ = model.forward(batch)
    said = [model.output.logits(row).argmax(1) for row in y[asked]]
    return (np.array(said) == batch.targets[asked]).mean(1)


def signs(ids):
    """Letters, dots and the arrow, as they are written."""
    return [SIGNS[one] for one in ids]


class Verses:
    """The English Bible, each verse a text of its own, in batches.

    batches, held_out: DocumentBatches; log_frequencies (V,): of the words to be predicted.
    """

    def __init__(self, vocabulary, number, batch_size, rng):
        train = load("bible-en", "train")
        valid = load("bible-en", "valid")
        self.vocabulary = Vocabulary.build(train.sentences, vocabulary)
        documents = train.documents(self.vocabulary, "sentence")
        chosen = [documents[n] for n in rng.permutation(len(documents))[:number]]
        self.batches = DocumentBatches(chosen, batch_size)
        self.held_out = DocumentBatches(valid.documents(self.vocabulary, "sentence"), 100)
        words = np.concatenate([verse[1:] for verse in chosen])
        counts = np.bincount(words, minlength=vocabulary) + 0.5
        self.log_frequencies = np.log(counts / counts.sum())


class Losses(NamedTuple):
    """−log p on a held-out text, summed by verse."""

    total: Array    # (verses,)     of all words, </s> included
    first: Array    # (verses,)     of the first word alone
    words: Array    # (verses,)     how many words


def losses(model, batches):
    """The Losses of a model, in the order of the batches."""
    found = []
    for place in batches.order():
        batch = batches.batch(place)
        nats, _ = model.losses(batch)                           # (T, B)
        found.append((nats.sum(0), nats[0], batch.row_tokens))
    return Losses(*(np.concatenate(part) for part in zip(*found)))


def expect_same(plain, library, h, mask):
    """Hold lesson 11's PlainReader against a KeyValueReader of the same weights.

    AssertionError: y, the weights, dh, or the gradient of a parameter of the library's differs.
    """
    rng = np.random.default_rng(9)
    y, alpha, cache = plain.forward(h, mask)
    known_y, _, known_alpha, known = library.forward(h, mask)
    dy = rng.standard_normal(y.shape)
    dalpha = rng.standard_normal(alpha.shape)
    ours = plain.zeros_like()
    theirs = library.zeros_like()
    pairs = [("y", y, known_y), ("α", alpha, known_alpha),
             ("dh", plain.backward(dy, dalpha, cache, ours),
              library.backward(dy, dalpha, known, theirs))]
    pairs += [(name, getattr(ours, name.rpartition(".")[2]), array)
              for name, array in theirs.named_parameters()]
    for name, mine, other in pairs:
        assert np.allclose(mine, other, rtol=1e-10, atol=1e-12), f"{name} differs"
