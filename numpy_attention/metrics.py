"""How good a translation is, and how well its attention points.

Text:       `bleu`, `chrf`, `bleu_by_length`, `exact_match`
Alignment:  `pointing_accuracy`, `near_pointing`, `diagonal_pointing`, `links_from_weights`, `alignment_error_rate`

Alignment measures take a list of `numpy_attention.data.pairs.Pair`: links are (source position, target position),
from 0, `</s>` not counted. Attention weights are one matrix a sentence, (target tokens, source tokens), from a
teacher-forced pass; a last row and a last column for `</s>` may be there and are left out.
"""

import re
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics import BLEU, CHRF


class Score(NamedTuple):
    """A corpus score from 0 to 100 and sacreBLEU's signature, which says how it was computed; printing shows both."""

    name: str
    score: float
    signature: str

    def __str__(self):
        return f"{self.name} = {self.score:.2f} ({self.signature})"


class LengthBucket(NamedTuple):
    """BLEU of the `count` sentences with low ≤ length < high; `bleu` is None where there are none."""

    low: float
    high: float
    count: int
    bleu: float | None


def bleu(hypotheses, references, tokenize="none"):
    """Corpus BLEU (Papineni et al. 2002) by sacreBLEU, one reference a sentence → `Score`.

    Sentences are token lists or strings. `tokenize="none"` scores the tokens as they are (strings: split at white
    space); "13a", "intl", "zh", "char" … are sacreBLEU's own tokenisers, for untokenised strings, or to cut tokens,
    joined by spaces, once more. The figure is only comparable with others of the same signature. Where no sentence has
    four tokens BLEU is 0, however good they are.
    """
    if tokenize not in BLEU.TOKENIZERS:
        raise ValueError(f"unknown tokeniser {tokenize!r} for BLEU: choose one of {', '.join(BLEU.TOKENIZERS)}")
    hypotheses = hypotheses if isinstance(hypotheses, str) else list(hypotheses)
    tokenised = tokenize == "none" or not all(isinstance(sentence, str) for sentence in hypotheses)
    hypotheses, references = _texts(hypotheses, references)
    metric = BLEU(tokenize=tokenize, force=tokenised)              # force: we know that, and want no warning
    score = metric.corpus_score(hypotheses, [references]).score
    return Score("BLEU", float(score), str(metric.get_signature()))


def chrf(hypotheses, references, word_order=0):
    """Corpus chrF (Popović 2015) by sacreBLEU, one reference a sentence → `Score`; `word_order=2` gives chrF++.

    Sentences are token lists (joined by spaces, which chrF does not count) or strings.
    """
    hypotheses, references = _texts(hypotheses, references)
    metric = CHRF(word_order=word_order)
    score = metric.corpus_score(hypotheses, [references]).score
    return Score("chrF" + "+" * word_order, float(score), str(metric.get_signature()))


def bleu_by_length(hypotheses, references, lengths, edges, tokenize="none"):
    """BLEU of the sentences of each length → list of `LengthBucket`, one for each two neighbouring edges.

    lengths: one number a sentence, usually its source length. edges: rising; (1, 10, 20, math.inf) makes the buckets
    1 ≤ length < 10, 10 ≤ length < 20 and 20 ≤ length. A length outside of all buckets is refused, not dropped.
    """
    hypotheses, references, lengths, edges = list(hypotheses), list(references), list(lengths), list(edges)
    _same_count("hypotheses", hypotheses, "references", references)
    _same_count("hypotheses", hypotheses, "lengths", lengths)
    if len(edges) < 2 or not all(low < high for low, high in zip(edges, edges[1:])):
        raise ValueError(f"edges must be two or more rising numbers, got {edges}")
    for n, length in enumerate(lengths):
        if not edges[0] <= length < edges[-1]:
            raise ValueError(f"sentence {n} has length {length}, outside of the edges {edges[0]} to {edges[-1]} "
                             "(the last is not included): widen the edges, or leave the sentence out")
    buckets = []
    for low, high in zip(edges, edges[1:]):
        rows = [n for n, length in enumerate(lengths) if low <= length < high]
        score = bleu([hypotheses[n] for n in rows], [references[n] for n in rows], tokenize).score if rows else None
        buckets.append(LengthBucket(low, high, len(rows), score))
    return buckets


def exact_match(hypotheses, references):
    """Share of hypotheses equal to their reference; a sentence is a list of tokens or ids, or a string on both."""
    hypotheses, references = list(hypotheses), list(references)
    _same_count("hypotheses", hypotheses, "references", references)
    equal = 0
    for n, (hypothesis, reference) in enumerate(zip(hypotheses, references)):
        if isinstance(hypothesis, str) != isinstance(reference, str):
            raise ValueError(f"sentence {n}: cannot compare {hypothesis!r} with {reference!r}: "
                             "give both as strings or both as token lists")
        equal += tuple(hypothesis) == tuple(reference)
    return equal / len(hypotheses)


def pointing_accuracy(weights, pairs):
    """Share of sure links (i, j) whose target word j puts its largest weight on source word i.

    A target word with two sure links can be right for one of them only. Of equal weights the leftmost is the largest.
    A row of zeros (a window off the end of the sentence) points nowhere and is wrong.
    """
    pairs = list(pairs)
    return _share_of_sure_links(_largest(weights, pairs), pairs)


def diagonal_pointing(pairs, rule="proportional"):
    """What `pointing_accuracy` would be for pointing along the diagonal: the figure that attention has to beat.

    rule="proportional": word j of T points at source word j·(S−1)/(T−1) of S, rounded, halves up (0 where T = 1);
    rule="same":         word j points at source word j, or at the last one where the source is shorter.
    """
    if rule not in ("proportional", "same"):
        raise ValueError(f"rule must be 'proportional' or 'same', got {rule!r}")
    pairs, positions = list(pairs), []
    for S, T in ((len(pair.source), len(pair.target)) for pair in pairs):
        if rule == "same":
            positions.append([min(j, S - 1) for j in range(T)])
        else:
            steps = max(T - 1, 1)
            positions.append([(2 * j * (S - 1) + steps) // (2 * steps) for j in range(T)])
    return _share_of_sure_links(positions, pairs)


def near_pointing(weights, pairs, distance=1):
    """Share of the target words with a sure link whose largest weight is within `distance` positions of a gold one."""
    if not distance >= 0:
        raise ValueError(f"distance must be 0 or more, got {distance}")
    pairs, near, total = list(pairs), 0, 0
    for positions, pair in zip(_largest(weights, pairs), pairs):
        gold = {}
        for i, j in pair.sure:
            gold.setdefault(j, []).append(i)
        total += len(gold)
        near += sum(positions[j] >= 0 and min(abs(positions[j] - i) for i in gold[j]) <= distance for j in gold)
    return near / _some_links(total)


def links_from_weights(weights, pairs):
    """Each target word with the source word of its largest weight: one set of links a sentence; zero rows have none."""
    return [{(i, j) for j, i in enumerate(positions) if i >= 0}
            for positions in _largest(weights, list(pairs))]


def alignment_error_rate(links, pairs):
    """Alignment error rate (Och & Ney 2003) of the links A, one set a sentence, summed over the corpus; 0 is best.

        AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)        S sure, P possible, S ⊆ P
    """
    links, pairs = [set(sentence) for sentence in links], list(pairs)
    _same_count("link sets", links, "pairs", pairs)
    hits, total = 0, 0
    for n, (A, pair) in enumerate(zip(links, pairs)):
        sources, targets = len(pair.source), len(pair.target)
        for i, j in A:
            if not (0 <= i < sources and 0 <= j < targets):
                raise ValueError(f"pair {n}: link ({i}, {j}) is outside of {sources} source and {targets} target words: "
                                 "links are (source position, target position) from 0")
        hits += len(A & pair.sure) + len(A & pair.possible)
        total += len(A) + len(pair.sure)
    return 1 - hits / _some_links(total)


def _largest(weights, pairs):
    """For each sentence the source position of each target word's largest weight, −1 for a row of zeros."""
    weights = list(weights)
    _same_count("weight matrices", weights, "pairs", pairs)
    positions = []
    for n, (matrix, pair) in enumerate(zip(weights, pairs)):
        matrix, S, T = np.asarray(matrix, dtype=float), len(pair.source), len(pair.target)
        if not S or not T:
            raise ValueError(f"pair {n} has an empty {'target' if S else 'source'} sentence: leave it out")
        if matrix.ndim != 2 or matrix.shape[0] - T not in (0, 1) or matrix.shape[1] - S not in (0, 1):
            raise ValueError(f"pair {n}: weights have shape {matrix.shape}, expected (target, source) = ({T}, {S}), "
                             "each with at most one more for </s>: cut off the padding, or transpose")
        if not np.isfinite(matrix).all():
            raise ValueError(f"pair {n}: weights hold NaN or infinity: check the model that computed them")
        words = matrix[:T, :S]
        positions.append(np.where(words.any(1), words.argmax(1), -1).tolist())
    return positions


def _share_of_sure_links(positions, pairs):
    right, total = 0, 0
    for row, pair in zip(positions, pairs):
        right += sum(row[j] == i for i, j in pair.sure)
        total += len(pair.sure)
    return right / _some_links(total)


def _some_links(total):
    if not total:
        raise ValueError("there is no link to measure: these pairs have no gold alignment")
    return total


def _texts(hypotheses, references):
    """Both lists as strings; white space inside of a token (character models have the token " ") is shown as ␣."""
    for name, sentences in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(sentences, str):
            raise ValueError(f"{name} must be a list of sentences, got one string: put it in a list")
    hypotheses, references = list(hypotheses), list(references)
    _same_count("hypotheses", hypotheses, "references", references)
    return [_text(sentence) for sentence in hypotheses], [_text(sentence) for sentence in references]


def _text(sentence):
    if isinstance(sentence, str):
        return sentence
    if not all(isinstance(token, str) for token in sentence):
        raise ValueError(f"a sentence must be a string or a list of str tokens, got {sentence!r}: decode ids first")
    return " ".join(re.sub(r"\s", "␣", token) for token in sentence)


def _same_count(first_name, first, second_name, second):
    if len(first) != len(second):
        raise ValueError(f"{len(first)} {first_name} but {len(second)} {second_name}: give one for each")
    if not len(first):
        raise ValueError(f"no {first_name} to measure: the list is empty")
