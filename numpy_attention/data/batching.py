"""Batches: sentences of similar length side by side, or a long text cut into parallel streams."""

from dataclasses import dataclass, replace

import numpy as np

from numpy_attention.data.vocabulary import BOS, EOS, PAD
from numpy_attention.module import Array


@dataclass
class PairBatch:
    """B sentence pairs, time-major and padded; every sentence ends in </s>.

    The decoder reads <s> y_1 … y_n (`target_in`) and predicts y_1 … y_n </s> (`target_out`).
    """

    source: Array       # (S, B) ids
    target_in: Array    # (T, B) ids
    target_out: Array   # (T, B) ids
    rows: Array         # (B,)   names of the sentences: their places in the whole batch

    @property
    def source_mask(self):
        return self.source != PAD

    @property
    def target_mask(self):
        return self.target_out != PAD

    @property
    def size(self):
        return self.source.shape[1]

    @property
    def tokens(self):
        """Number of words to predict, </s> included."""
        return int(self.target_mask.sum())

    def share(self, k, n):
        """The k-th of n nearly equal parts of the rows, with the padding that only other parts need cut off."""
        rows = slice(self.size * k // n, self.size * (k + 1) // n)
        source, target_in, target_out = self.source[:, rows], self.target_in[:, rows], self.target_out[:, rows]
        S, T = (source != PAD).any(1).sum(), (target_out != PAD).any(1).sum()
        return PairBatch(*map(np.ascontiguousarray, (source[:S], target_in[:T], target_out[:T])), self.rows[rows])


def pair_batch(sources, targets, reverse_source=False):
    """A PairBatch of lists of ids (without </s>).

    reverse_source: x_n … x_1 </s>, as Sutskever et al. 2014 read it. ValueError: an empty batch or sentence.
    """
    if not sources or len(sources) != len(targets):
        raise ValueError(f"a batch of {len(sources)} sources and {len(targets)} targets: expected as many, at least one")
    for name, sentences in (("source", sources), ("target", targets)):
        if not all(len(sentence) for sentence in sentences):
            raise ValueError(f"an empty {name} sentence in the batch: remove the pair from the corpus")
    if reverse_source:
        sources = [sentence[::-1] for sentence in sources]
    return PairBatch(padded([list(ids) + [EOS] for ids in sources]), padded([[BOS] + list(ids) for ids in targets]),
                     padded([list(ids) + [EOS] for ids in targets]), np.arange(len(sources)))


def padded(sentences, length=None):
    """Lists of ids as one time-major array (T, B), PAD at the end; T is the longest's, or `length`."""
    ids = np.full((length or max(map(len, sentences)), len(sentences)), PAD, np.int64)
    for b, sentence in enumerate(sentences):
        ids[:len(sentence), b] = sentence
    return ids


@dataclass
class PairBatches:
    """Sentence pairs as ids, cut into batches of similar length.

    An epoch shuffles the pairs, sorts them by length within blocks of `block` batches (20 in Bahdanau et al. 2015,
    appendix B.2), cuts the blocks into batches and shuffles these.
    """

    sources: list
    targets: list
    batch_size: int = 64
    block: int = 20
    reverse_source: bool = False

    def __post_init__(self):
        if not self.sources or len(self.sources) != len(self.targets):
            raise ValueError(f"{len(self.sources)} sources and {len(self.targets)} targets: expected as many of both, and "
                             "at least one pair; is the corpus empty, or did a length limit drop every pair?")
        if self.batch_size < 1:
            raise ValueError(f"batch_size {self.batch_size}: expected at least 1")

    @classmethod
    def encode(cls, pairs, source_vocabulary, target_vocabulary, **settings):
        """Encode Pairs of tokens with their vocabularies."""
        return cls([source_vocabulary.encode(pair.source) for pair in pairs],
                   [target_vocabulary.encode(pair.target) for pair in pairs], **settings)

    def __len__(self):
        return -(-len(self.sources) // self.batch_size)

    def order(self, rng=None):
        """Indices of the pairs of each batch; rng None: by length, the same each time, for evaluation."""
        lengths = np.array([len(t) * 1000 + len(s) for s, t in zip(self.sources, self.targets)])
        return grouped(lengths, self.batch_size, self.block, rng)

    def batch(self, indices):
        """The PairBatch of these pairs."""
        return pair_batch([self.sources[i] for i in indices], [self.targets[i] for i in indices], self.reverse_source)

    def carried(self, place):
        """False: no state is carried from one batch of sentences to the next."""
        return False


@dataclass
class TextBatch:
    """T steps of B parallel streams of text: each step predicts the next token."""

    inputs: Array       # (T, B) ids
    targets: Array      # (T, B) ids
    rows: Array         # (B,)   names of the streams

    @property
    def size(self):
        return self.inputs.shape[1]

    @property
    def tokens(self):
        """Number of tokens to predict."""
        return int((self.targets != PAD).sum())

    def share(self, k, n):
        """The k-th of n nearly equal parts of the streams."""
        rows = slice(self.size * k // n, self.size * (k + 1) // n)
        return replace(self, inputs=np.ascontiguousarray(self.inputs[:, rows]),
                       targets=np.ascontiguousarray(self.targets[:, rows]), rows=self.rows[rows])


class TextBatches:
    """One long text as `batch_size` streams of equal length, read `steps` tokens at a time (Zaremba et al. 2014).

    The order is the text's own, so a batch continues where the one before stopped and the state is carried on. Every
    token is predicted but the very first; the last stream is padded.
    """

    def __init__(self, ids, batch_size=20, steps=20):
        ids = np.asarray(ids, np.int64)
        if batch_size < 1 or steps < 1:
            raise ValueError(f"batch_size {batch_size}, steps {steps}: expected at least 1 of both")
        if len(ids) < batch_size + 1:
            raise ValueError(f"a text of {len(ids)} tokens is too short for {batch_size} streams: expected at least "
                             f"{batch_size + 1}; give more text or a smaller batch")
        length = -(-(len(ids) - 1) // batch_size)
        both = np.full((2, batch_size * length), PAD, np.int64)
        both[0, :len(ids) - 1], both[1, :len(ids) - 1] = ids[:-1], ids[1:]
        self.inputs, self.targets = (streams.reshape(batch_size, length).T for streams in both)      # (length, B)
        self.batch_size, self.steps = batch_size, steps

    def __len__(self):
        return -(-len(self.inputs) // self.steps)

    def order(self, rng=None):
        """Starts of the windows, in the order of the text: streams are not shuffled."""
        return list(range(0, len(self.inputs), self.steps))

    def batch(self, start):
        """The TextBatch that begins at this step of every stream."""
        window = slice(start, start + self.steps)
        return TextBatch(np.ascontiguousarray(self.inputs[window]), np.ascontiguousarray(self.targets[window]),
                         np.arange(self.batch_size))

    def carried(self, start):
        """True but for the first batch of an epoch: the state goes on where the text does."""
        return start > 0


class DocumentBatches:
    """Documents (sentences, articles) side by side: each begins with an empty state, which is carried to its end.

    documents: lists of ids, of which every one but the first is predicted. steps: how many are read at a time; None
    reads a document at once. Documents of similar length share a batch, as in PairBatches.
    """

    def __init__(self, documents, batch_size=20, steps=None, block=20):
        if batch_size < 1 or (steps is not None and steps < 1):
            raise ValueError(f"batch_size {batch_size}, steps {steps}: expected at least 1 of both")
        if not documents or any(len(document) < 2 for document in documents):
            raise ValueError(f"{len(documents)} documents, the shortest of {min(map(len, documents), default=0)} tokens: "
                             "expected some, of at least 2 tokens each, the first of them to begin with")
        self.documents, self.batch_size, self.steps, self.block = documents, batch_size, steps, block

    def __len__(self):
        return len(self.order())

    def order(self, rng=None):
        """Places (indices of the documents, start of the window); rng None: by length, the same each time."""
        lengths = np.array([len(document) - 1 for document in self.documents])
        return [(group, start) for group in grouped(lengths, self.batch_size, self.block, rng)
                for start in range(0, lengths[group].max(), self.steps or lengths[group].max())]

    def batch(self, place):
        """The TextBatch of a place."""
        indices, start = place
        end = None if self.steps is None else start + self.steps
        inputs, targets = ([self.documents[i][first:last][start:end] for i in indices] for first, last in ((0, -1), (1, None)))
        length = max(map(len, targets))
        return TextBatch(padded(inputs, length), padded(targets, length), np.arange(len(indices)))

    def carried(self, place):
        """True within a document."""
        return place[1] > 0


def grouped(lengths, batch_size, block=20, rng=None):
    """Indices of sequences in batches of similar length: sorted within blocks of `block` batches, batches shuffled.

    rng None: sorted by length altogether, the same each time.
    """
    def cut(order, step):
        return [order[i:i + step] for i in range(0, len(order), step)]

    if rng is None:
        return cut(np.argsort(lengths, kind="stable"), batch_size)
    blocks = cut(rng.permutation(len(lengths)), block * batch_size)
    batches = cut(np.concatenate([some[np.argsort(lengths[some], kind="stable")] for some in blocks]), batch_size)
    return [batches[i] for i in rng.permutation(len(batches))]
