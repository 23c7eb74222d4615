"""Measure how soon a language model recovers from errors in its past.

Salton et al. 2017 expect attention to look past recent errors. Here the last words that a model has
read are replaced with random ones. The increase in the loss of the following words shows how long
the model is misled.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from numpy_attention.bootstrap import Interval, mean_interval
from numpy_attention.data.batching import DocumentBatches, TextBatches
from numpy_attention.data.vocabulary import PAD, SPECIAL_TOKENS
from numpy_attention.experiments.analysis.losses import losses_of
from numpy_attention.module import Array
from numpy_attention.validation.arguments import check_generator, check_kind, check_methods
from numpy_attention.validation.arrays import check_sizes, check_whole

ROWS = 50       # passages in a batch


@dataclass(frozen=True)
class Passages:
    """N passages of a text, and copies in which some words are replaced with random words.

    own, disturbed: batches of the unchanged and of the changed passages; each passage is read in
    one piece, from an empty state. starts: for each passage, the index of the first token after the
    replaced words. following: the maximum number of targets measured from this token on.
    """

    own: DocumentBatches
    disturbed: DocumentBatches
    starts: Array       # (N,)
    following: int

    def __len__(self) -> int:
        return len(self.starts)


def disturbed(batches: Any, rng: np.random.Generator, words: int = 5, following: int = 20,
              number: int = 500, past: int = 35) -> Passages:
    """Cut a text into passages, and replace some words of each passage with random words.

    batches: TextBatches or DocumentBatches. words: how many words of a passage are replaced,
    including ends of sentences. following: the maximum number of targets that are measured after
    these words. number: how many passages are drawn; if there are fewer, all are used.

    A text read in windows of `steps` tokens is cut into passages of past + following tokens.
    Passages do not overlap, and stay within a stream or document. The last `words` of the first
    `past` tokens are replaced. Documents that are read in one piece, such as sentences, are
    passages themselves. Their replaced words are at a random place, after the first token and
    before the last.

    An attentive model has a whole passage in memory, up to its window. The new words are drawn by
    their frequency in this text, without special tokens. A new word may equal the old word.

    Raises TypeError for other batches. Raises ValueError if no passage is long enough, if the text
    has no known words, if an integer is below 1, or, with windows, if `words` is not below `past`.
    """
    check_kind("batches", batches, (TextBatches, DocumentBatches),
               "TextBatches or DocumentBatches")
    check_generator(rng)
    check_sizes(following=following, number=number, past=past, words=words)
    documents = documents_of(batches)
    at_once = isinstance(batches, DocumentBatches) and batches.steps is None
    if at_once:
        shortest = words + 2
        passages = [one for one in documents if len(one) >= shortest]
    else:
        check_whole("words", words, 1, past - 1)
        shortest = past + following
        passages = [one[k:k + shortest] for one in documents
                    for k in range(0, len(one) - shortest + 1, shortest)]
    if not passages:
        longest = max(map(len, documents))
        what = f"`words` to at most {longest - 2}" if at_once else "`past` or `following`"
        advice = f", or reduce {what}" if not at_once or longest > 2 else ""
        raise ValueError(f"the longest part of this text has {longest} tokens; expected at least "
                         f"{shortest}. Use a longer text{advice}")
    known = np.concatenate(documents)
    known = known[known >= len(SPECIAL_TOKENS)]
    if not len(known):
        raise ValueError("every word of this text is unknown; use a text with at least one word "
                         "of the vocabulary")
    chosen = np.sort(rng.permutation(len(passages))[:number])
    own = [passages[n] for n in chosen]
    starts = np.full(len(own), past)
    if at_once:
        starts = rng.integers(words + 1, [len(one) for one in own])
    drawn = rng.choice(known, (len(own), words))
    other = [[*one[:start - words], *new, *one[start:]]
             for one, start, new in zip(own, starts, drawn.tolist())]
    return Passages(DocumentBatches(own, ROWS), DocumentBatches(other, ROWS), starts, following)


def documents_of(batches: TextBatches | DocumentBatches) -> list[list[int]]:
    """Return all token ids of each stream or document, from first input to last target."""
    if isinstance(batches, DocumentBatches):
        return [list(document) for document in batches.documents]
    streams = np.concatenate([batches.inputs[:1], batches.targets])         # (length + 1, B)
    return [stream[stream != PAD].tolist() for stream in streams.T]


@dataclass
class Recovery:
    """How much a model's loss increases, in nats per token, after some words were replaced.

    loss, tokens: the mean loss and the number of measured tokens in the unchanged passages
    excess: {distance: increase}; the first token after the replaced words has distance 1
    mean: the mean increase over all measured tokens
    rows: the increases, an array with a row for each passage and a column for each distance; NaN
        beyond the end of a passage
    """

    loss: float
    tokens: int
    excess: dict[int, Interval]
    mean: Interval
    rows: Array

    def more_than(self, first: "Recovery",
                  rng: np.random.Generator) -> tuple[dict[int, Interval], Interval]:
        """Return how much `excess` and `mean` exceed those of another model, in the same form.

        first: the Recovery of the other model. The differences are paired by passage. Raises
        ValueError if `first` was measured on other passages.
        """
        check_kind("`first`", first, Recovery, "a Recovery, as returned by recover()")
        if not np.array_equal(np.isnan(self.rows), np.isnan(first.rows)):
            raise ValueError("the two results cover different passages; pass the same Passages to "
                             "both calls to recover()")
        return _intervals(self.rows - first.rows, rng)


def recover(model: Any, passages: Passages, rng: np.random.Generator) -> Recovery:
    """Evaluate a language model on unchanged and disturbed passages, and compare −log p.

    Only the targets that follow the replaced words count. They are the same in both versions of a
    passage. The confidence intervals are those of `mean_interval` over passages.
    """
    check_methods("model", model, "a language model", "losses")
    check_kind("passages", passages, Passages, "Passages, as returned by disturbed()")
    check_generator(rng)
    own = _after(passages, losses_of(model, passages.own))
    rows = _after(passages, losses_of(model, passages.disturbed)) - own
    return Recovery(float(np.nanmean(own)), int(np.isfinite(own).sum()),
                    *_intervals(rows, rng), rows)


def _after(passages: Passages, losses: list[Array]) -> Array:
    """Return the losses (N, following) after the replaced words, NaN beyond a passage's end.

    losses: for each batch of passages, the losses of all targets.
    """
    found = np.full((len(passages), passages.following), np.nan)
    for (group, _), batch in zip(passages.own.order(), losses):
        for column, n in enumerate(group):
            # the target at place p is predicted at step p − 1
            first = passages.starts[n] - 1
            last = min(first + passages.following, len(passages.own.documents[n]) - 1)
            found[n, :last - first] = batch[first:last, column]
    return found


def _intervals(rows: Array, rng: np.random.Generator) -> tuple[dict[int, Interval], Interval]:
    """Return {distance: Interval of the mean increase}, and the Interval over all distances.

    rows (N, following): the increases, NaN beyond a passage's end. A column of only NaN is omitted.
    """
    known = ~np.isnan(rows)
    rows = np.where(known, rows, 0)
    each = {d + 1: mean_interval(rows[:, d], known[:, d], rng)
            for d in range(rows.shape[1]) if known[:, d].any()}
    return each, mean_interval(rows.sum(1), known.sum(1), rng)
