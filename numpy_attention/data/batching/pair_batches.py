"""Batches of sentence pairs of similar length."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numpy_attention.data.batching.grouping import check_ids_in, grouped, padded, share_of
from numpy_attention.data.pairs import Pair, as_pairs
from numpy_attention.data.protocols import AnyVocabulary, Batch
from numpy_attention.data.vocabulary import BOS, EOS, PAD
from numpy_attention.module import Array
from numpy_attention.validation.arguments import as_integers, check_flags, check_methods
from numpy_attention.validation.arrays import check_integers, check_whole


@dataclass
class PairBatch(Batch):
    """B sentence pairs, time-major and padded. Each source ends in </s>.

    The decoder reads <s> and the target (target_in), and predicts the target and </s> (target_out).
    """

    source: Array       # (S, B) ids
    target_in: Array    # (T, B) ids
    target_out: Array   # (T, B) ids
    rows: Array         # (B,)   ids of the sentences: their indices in the whole batch

    def __post_init__(self) -> None:
        check_integers("rows", self.rows, (None,), "(B,)")
        B = len(self.rows)
        check_integers("source", self.source, (None, B), "(S, B)")
        check_integers("target_in", self.target_in, (None, B), "(T, B)")
        check_integers("target_out", self.target_out, self.target_in.shape, "(T, B)")

    @property
    def source_mask(self) -> Array:
        return self.source != PAD

    @property
    def target_mask(self) -> Array:
        return self.target_out != PAD

    @property
    def row_tokens(self) -> Array:
        return self.target_mask.sum(0)

    def share(self, k: int, n: int) -> "PairBatch":
        """Divide the rows into n nearly equal batches; return batch k, without excess padding."""
        rows = share_of(self.size, k, n)
        S = self.source_mask[:, rows].any(1).sum()
        T = self.target_mask[:, rows].any(1).sum()
        return PairBatch(
            np.ascontiguousarray(self.source[:S, rows]),
            np.ascontiguousarray(self.target_in[:T, rows]),
            np.ascontiguousarray(self.target_out[:T, rows]),
            self.rows[rows],
        )


def pair_batch(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]],
               reverse_source: bool = False) -> PairBatch:
    """Return a PairBatch from lists of ids (without </s>).

    reverse_source: reverse each source except its </s>, as in Sutskever et al. 2014. Raises
    TypeError for anything other than lists of ids, and ValueError for an empty batch or sentence,
    or if there are not as many targets as sources.
    """
    _check(sources, targets, reverse_source)
    for name, sentences in (("sources", sources), ("targets", targets)):
        for n, sentence in enumerate(sentences):
            if not len(sentence):
                raise ValueError(f"{name}[{n}] of this batch is empty; remove this sentence pair")
    if reverse_source:
        sources = [sentence[::-1] for sentence in sources]
    return PairBatch(
        source=padded([[*ids, EOS] for ids in sources]),
        target_in=padded([[BOS, *ids] for ids in targets]),
        target_out=padded([[*ids, EOS] for ids in targets]),
        rows=np.arange(len(sources)),
    )


def _check(sources: Any, targets: Any, reverse_source: Any) -> None:
    """Raise TypeError or ValueError unless each source and its target are given as lists of ids."""
    check_flags(reverse_source=reverse_source)
    check_ids_in("sources", sources)
    check_ids_in("targets", targets)
    if len(sources) != len(targets):
        raise ValueError(f"sources and targets have lengths {len(sources)} and {len(targets)}; "
                         "expected one target for each source")
    if not len(sources):
        raise ValueError("there are no pairs; use a larger corpus, or wider length limits")


@dataclass
class PairBatches:
    """Sentence pairs as lists of ids, divided into batches of `batch_size` pairs of similar length.

    An epoch shuffles the pairs and sorts them by length within blocks of `block` batches (20 in
    Bahdanau et al. 2015, appendix B.2). Then the blocks are divided into batches, and the batches
    are shuffled. reverse_source: reverse each source except its </s>.
    """

    sources: list[list[int]]
    targets: list[list[int]]
    batch_size: int = 64
    block: int = 20
    reverse_source: bool = False

    def __post_init__(self) -> None:
        _check(self.sources, self.targets, self.reverse_source)
        check_whole("batch_size", self.batch_size, 1)
        check_whole("block", self.block, 1)

    @classmethod
    def encode(cls, pairs: Sequence[Pair], source_vocabulary: AnyVocabulary,
               target_vocabulary: AnyVocabulary, **settings: Any) -> "PairBatches":
        """Encode Pairs with the two vocabularies. settings: other fields, such as batch_size."""
        pairs = as_pairs(pairs)
        check_methods("source_vocabulary", source_vocabulary, "a Vocabulary", "encode", "places")
        check_methods("target_vocabulary", target_vocabulary, "a Vocabulary", "encode", "places")
        sources = [source_vocabulary.encode(pair.source) for pair in pairs]
        targets = [target_vocabulary.encode(pair.target) for pair in pairs]
        return cls(sources, targets, **settings)

    def __len__(self) -> int:
        return -(-len(self.sources) // self.batch_size)

    def order(self, rng: np.random.Generator | None = None) -> list[Array]:
        """Return an array of pair indices per batch. Without rng, pairs are sorted by length."""
        # by the length of the target, then by the length of the source
        keys = [len(t) * 10**6 + len(s) for s, t in zip(self.sources, self.targets)]
        return grouped(np.array(keys), self.batch_size, self.block, rng)

    def batch(self, indices: Sequence[int] | Array) -> PairBatch:
        """Return the PairBatch of pairs `indices`. Raises ValueError for an index out of range."""
        array = as_integers("indices", indices)
        count = len(self.sources)
        if array.size and not 0 <= array.min() <= array.max() < count:
            bad = array.min() if array.min() < 0 else array.max()
            raise ValueError(f"index {bad} is out of range; the number of pairs is {count:,}")
        sources = [self.sources[i] for i in indices]
        targets = [self.targets[i] for i in indices]
        return pair_batch(sources, targets, self.reverse_source)

    def carried(self, place: Any) -> bool:
        """Return False: no state is carried from one batch of sentences to the next."""
        return False
