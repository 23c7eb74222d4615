"""Quality of translations, and of the alignments that attention gives.

Text:       `bleu`, `chrf` and their `signature`, `bleu_by_length`, `exact_match`
Alignment:  `pointing_accuracy`, `near_pointing`, `diagonal_pointing`, `links_from_weights`,
            `alignment_error_rate`

Alignment measures take a list of `numpy_attention.data.pairs.Pair`. Links are (source position,
target position), counted from 0 without `</s>`. Attention weights are one matrix (T, S) per
sentence from a teacher-forced pass, with a row per target token and a column per source token. A
last row and column for `</s>` are ignored.
"""

import re
from typing import Any, Callable, Iterable, NamedTuple, Sequence, Sized

import numpy as np
from sacrebleu.metrics import BLEU, CHRF

from numpy_attention.bootstrap import DRAWS, ends
from numpy_attention.data.pairs import Pair, as_pairs, as_set, check_links
from numpy_attention.module import Array
from numpy_attention.validation.arguments import (
    as_list,
    as_numbers,
    check_generator,
    check_name,
    check_number,
    is_list,
)
from numpy_attention.validation.arrays import check_whole
from numpy_attention.validation.messages import short_repr, typed_repr

Sentence = str | Sequence[str]          # a string, or its tokens
Link = tuple[int, int]                  # source position, target position
MOST_WORDS = 100                        # in an n-gram of chrF


class _Score(NamedTuple):
    name: str
    score: float
    signature: str
    low: float | None = None
    high: float | None = None


class Score(_Score):
    """A corpus score from 0 to 100, with sacreBLEU's signature, which says how it was computed.

    low, high: the 95 % confidence interval by a bootstrap over the sentences (Koehn 2004), or None
    if it was not requested or there is only one sentence. note: why the score is not meaningful, or
    "" for a meaningful score.
    """

    note: str = ""

    def __str__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        return f"{self.name} = {self.score:.2f} ({self.signature}){note}"


class LengthBucket(NamedTuple):
    """BLEU of the `count` sentences with low ≤ length < high. If count is 0, bleu is None.

    bleu_low, bleu_high: the 95 % confidence interval as in `Score`, if it was requested.
    """

    low: float
    high: float
    count: int              # type: ignore[assignment]  # tuple has a method of this name
    bleu: float | None
    bleu_low: float | None = None
    bleu_high: float | None = None


def bleu(hypotheses: Iterable[Sentence], references: Iterable[Sentence],
         tokenize: str = "none", rng: np.random.Generator | None = None) -> Score:
    """Return corpus BLEU (Papineni et al. 2002) by sacreBLEU, with one reference per sentence.

    Sentences are token lists or strings. `tokenize="none"` scores the tokens as they are, and
    splits strings at white space. "13a", "intl", "zh", "char" … are tokenizers of sacreBLEU, which
    split untokenized strings; token lists are first joined with spaces. Scores are only comparable
    if their signatures are the same. If no translation, or no reference, has four tokens, BLEU is 0
    even for a perfect translation, and the note of the Score says so. rng: the generator for the
    samples of a bootstrap interval; None: no interval.
    """
    check_name("tokenize", tokenize, BLEU.TOKENIZERS)
    hypotheses, references = _lists(hypotheses, references)
    tokenized = tokenize == "none" or not all(isinstance(s, str) for s in hypotheses)
    metric = BLEU(tokenize=tokenize, force=tokenized)       # force: no warning of tokenized text
    score = _score("BLEU", metric, hypotheses, references, rng)
    score.note = _short_texts(metric, hypotheses, references)
    return score


def chrf(hypotheses: Iterable[Sentence], references: Iterable[Sentence],
         word_order: int = 0, rng: np.random.Generator | None = None) -> Score:
    """Return corpus chrF (Popović 2015) by sacreBLEU. `word_order=2` gives chrF++.

    There is one reference per sentence. A sentence is a string, or a list of tokens, which are
    joined by spaces. chrF does not count spaces. rng is used as in `bleu`.
    """
    check_whole("word_order", word_order, 0, MOST_WORDS)
    hypotheses, references = _lists(hypotheses, references)
    return _score("chrF" + "+" * word_order, CHRF(word_order=word_order), hypotheses, references,
                  rng)


def signature(measure: Callable[..., Score], **how: Any) -> str:
    """Return the sacreBLEU signature for a call measure(…, **how). measure: `bleu` or `chrf`."""
    return measure([["a"]], [["a"]], **how).signature


def bleu_by_length(hypotheses: Iterable[Sentence], references: Iterable[Sentence],
                   lengths: Iterable[float], edges: Iterable[float], tokenize: str = "none",
                   rng: np.random.Generator | None = None) -> list[LengthBucket]:
    """Return BLEU by sentence length, with a bucket for each pair of neighbouring edges.

    hypotheses, references, tokenize: as in `bleu`
    lengths: one number per sentence, usually the length of the source
    edges: ascending numbers; for example, (1, 10, 20, math.inf) makes the buckets 1 ≤ length < 10,
        10 ≤ length < 20 and 20 ≤ length
    rng: the generator for a bootstrap interval of each bucket; None: no intervals

    Raises ValueError for a length outside all buckets.
    """
    hypotheses = as_list("hypotheses", hypotheses, "sentences")
    references = as_list("references", references, "sentences")
    lengths = as_list("lengths", lengths, "numbers")
    edges = as_list("edges", edges, "numbers")
    for name, values in (("lengths", lengths), ("edges", edges)):
        for value in values:
            check_number(f"one of the {name}", value, finite=False)
    _same_count("hypotheses", hypotheses, "references", references)
    _same_count("hypotheses", hypotheses, "lengths", lengths)
    if len(edges) < 2 or not all(low < high for low, high in zip(edges, edges[1:])):
        raise ValueError(f"edges = {edges}; expected two or more strictly increasing numbers")
    for n, length in enumerate(lengths):
        if not edges[0] <= length < edges[-1]:
            raise ValueError(f"lengths[{n}] is {length}, but the edges cover "
                             f"{edges[0]} ≤ length < {edges[-1]}; "
                             "widen the edges, or leave the sentence out")
    buckets = []
    for low, high in zip(edges, edges[1:]):
        rows = [n for n, length in enumerate(lengths) if low <= length < high]
        if not rows:
            buckets.append(LengthBucket(low, high, 0, None))
            continue
        found = bleu([hypotheses[n] for n in rows], [references[n] for n in rows], tokenize, rng)
        buckets.append(LengthBucket(low, high, len(rows), found.score, found.low, found.high))
    return buckets


def exact_match(hypotheses: Iterable[Sequence[Any]], references: Iterable[Sequence[Any]]) -> float:
    """Return the fraction of hypotheses that are equal to their reference.

    A sentence is a list of tokens or ids, or a string. A string must have a string as reference.
    """
    hypotheses = as_list("hypotheses", hypotheses, "sentences")
    references = as_list("references", references, "sentences")
    _same_count("hypotheses", hypotheses, "references", references)
    equal = 0
    for n, (hypothesis, reference) in enumerate(zip(hypotheses, references)):
        for name, sentence in (("hypotheses", hypothesis), ("references", reference)):
            if not isinstance(sentence, str) and not is_list(sentence):
                raise TypeError(
                    f"{name}[{n}] is {typed_repr(sentence)}; expected a string or a list "
                    "of tokens")
        if isinstance(hypothesis, str) != isinstance(reference, str):
            raise ValueError(f"hypotheses[{n}] is {short_repr(hypothesis)}, but its reference is "
                             f"{short_repr(reference)}; pass two strings or two lists of tokens")
        equal += list(hypothesis) == list(reference)
    return equal / len(hypotheses)


def pointing_accuracy(weights: Iterable[Array], pairs: Iterable[Pair]) -> float:
    """Return the share of sure links (i, j) whose target word j attends most to source word i.

    weights: a matrix for each pair. If a target word has two sure links, at most one of them counts
    as correct. If the maximum of a row occurs several times, the leftmost counts. The links of a
    row of zeros (a window past the end of the source sentence) count as wrong.
    """
    pairs = _pairs(pairs)
    return _share_of_sure_links(_largest(weights, pairs), pairs)


def diagonal_pointing(pairs: Iterable[Pair], rule: str = "proportional") -> float:
    """Return `pointing_accuracy` along the diagonal, the baseline that attention has to beat.

    rule="proportional": target word j of T points at source word j·(S−1)/(T−1) of S, rounded,
                         with halves rounded up (source word 0 if T = 1)
    rule="same":         target word j points at source word j, or at the last one if S ≤ j
    """
    check_name("rule", rule, ("proportional", "same"))
    pairs = _pairs(pairs)
    positions = []
    for pair in pairs:
        S = len(pair.source)
        T = len(pair.target)
        if rule == "same":
            positions.append([min(j, S - 1) for j in range(T)])
        else:
            steps = max(T - 1, 1)
            positions.append([(2 * j * (S - 1) + steps) // (2 * steps) for j in range(T)])
    return _share_of_sure_links(positions, pairs)


def near_pointing(weights: Iterable[Array], pairs: Iterable[Pair], distance: int = 1) -> float:
    """Return the share of linked target words whose most attended source word is near a linked one.

    Near means within `distance` source positions. A linked target word has at least one sure link.
    """
    check_number("distance", distance, 0, expected="0 or more")
    pairs = _pairs(pairs)
    near = 0
    total = 0
    for positions, pair in zip(_largest(weights, pairs), pairs):
        gold: dict[int, list[int]] = {}                     # target word → its source words
        for i, j in pair.sure:
            gold.setdefault(j, []).append(i)
        total += len(gold)
        for j, sources in gold.items():
            away = min(abs(positions[j] - i) for i in sources)
            near += positions[j] >= 0 and away <= distance
    return near / _some_links(total)


def links_from_weights(weights: Iterable[Array], pairs: Iterable[Pair]) -> list[set[Link]]:
    """Return a set of links per sentence, from each target word to its most attended source word.

    A target word whose row of weights is all 0 has no link.
    """
    return [{(i, j) for j, i in enumerate(positions) if i >= 0}
            for positions in _largest(weights, _pairs(pairs))]


def alignment_error_rate(links: Iterable[Iterable[Link]], pairs: Iterable[Pair]) -> float:
    """Return the alignment error rate (Och & Ney 2003) of predicted links. 0 is best.

        AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

    A are the predicted links of a sentence, S its sure links, and P its possible links; S ⊆ P. The
    numerator and the denominator are sums over the whole corpus. links: a set A for each sentence.
    """
    found = [as_set(f"links[{n}]", sentence)
             for n, sentence in enumerate(as_list("links", links, "sets of links"))]
    pairs = _pairs(pairs)
    _same_count("links", found, "pairs", pairs)
    hits = 0
    total = 0
    for n, (A, pair) in enumerate(zip(found, pairs)):
        check_links(f"pair {n}: link", A, len(pair.source), len(pair.target))
        hits += len(A & pair.sure) + len(A & pair.possible)
        total += len(A) + len(pair.sure)
    return 1 - hits / _some_links(total)


def _largest(weights: Iterable[Array], pairs: Sequence[Pair]) -> list[list[int]]:
    """Return each sentence's most attended source position per target word; −1 if a row is 0."""
    weights = as_list("weights", weights, "matrices")
    _same_count("weights", weights, "pairs", pairs)
    positions = []
    for n, (matrix, pair) in enumerate(zip(weights, pairs)):
        matrix = as_numbers(f"the weights of pair {n}", matrix)
        S = len(pair.source)
        T = len(pair.target)
        if not S or not T:
            raise ValueError(f"pair {n} has an empty {'target' if S else 'source'} sentence; "
                             "leave it out")
        shapes = ((T, S), (T + 1, S), (T, S + 1), (T + 1, S + 1))
        if matrix.shape not in shapes:
            larger = matrix.ndim == 2 and matrix[:T, :S].shape == (T, S)
            advice = (f"use weights[{n}].T" if matrix.shape[::-1] in shapes else "cut off padding"
                      if larger else "pass one matrix for each pair, in the same order")
            raise ValueError(f"weights[{n}] has shape {matrix.shape}, but pair {n} has {T} target "
                             f"and {S} source words; {advice}")
        if not np.isfinite(matrix).all():
            raise ValueError(f"weights[{n}] contains NaN or inf; "
                             "check the model that computed it")
        words = matrix[:T, :S]
        positions.append(np.where(words.any(1), words.argmax(1), -1).tolist())
    return positions


def _pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs as a list. Raises TypeError if an entry is not a Pair."""
    return as_pairs(as_list("pairs", pairs, "Pairs"))


def _share_of_sure_links(positions: Sequence[Sequence[int]], pairs: Sequence[Pair]) -> float:
    right = 0
    total = 0
    for row, pair in zip(positions, pairs):
        right += sum(row[j] == i for i, j in pair.sure)
        total += len(pair.sure)
    return right / _some_links(total)


def _some_links(total: int) -> int:
    if not total:
        raise ValueError("these pairs have no gold alignment to compare with; pass pairs that have "
                         "sure links")
    return total


def _lists(hypotheses: Iterable[Sentence],
           references: Iterable[Sentence]) -> tuple[list[Sentence], list[Sentence]]:
    """Return both arguments as lists. Raises ValueError if they differ in length or are empty."""
    for name, sentences in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(sentences, str):
            raise ValueError(f"{name} is one string; expected a list of sentences. "
                             "Put the string in a list")
    hypotheses = as_list("hypotheses", hypotheses, "sentences")
    references = as_list("references", references, "sentences")
    _same_count("hypotheses", hypotheses, "references", references)
    if all(isinstance(one, (str, list, tuple)) and not one for one in references):
        raise ValueError("every reference is empty; pass at least one that has tokens")
    return hypotheses, references


def _score(name: str, metric: BLEU | CHRF, hypotheses: Sequence[Sentence],
           references: Sequence[Sentence], rng: np.random.Generator | None) -> Score:
    if rng is not None:
        check_generator(rng)
    found = [_text(one, f"hypotheses[{n}]") for n, one in enumerate(hypotheses)]
    wanted = [[_text(one, f"references[{n}]") for n, one in enumerate(references)]]
    result = metric.corpus_score(found, wanted)
    score = Score(name, float(result.score), str(metric.get_signature()))
    if rng is None or len(found) == 1:
        return score
    # sacreBLEU's own bootstrap fails on a draw in which no n-gram of chrF matches
    counts = np.array(metric._extract_corpus_statistics(found, wanted))     # (sentences, counts)
    draws = []
    for _ in range(DRAWS):
        chosen = rng.integers(len(counts), size=len(counts))
        draws.append(metric._compute_score_from_stats(counts[chosen].sum(0).tolist()).score)
    low, high = ends(draws)
    return score._replace(low=low, high=high)


def _short_texts(metric: BLEU, hypotheses: Sequence[Sentence],
                 references: Sequence[Sentence]) -> str:
    """Return a note for the user if no translation, or no reference, has four tokens, else ""."""
    for name, sentences in (("translation", hypotheses), ("reference", references)):
        texts = [_text(sentence) for sentence in sentences]
        if not any(texts):
            return f"every {name} is empty"
        if not any(metric.corpus_score([text], [[text]]).totals[3] for text in texts):
            return (f"no {name} has four tokens, and BLEU counts groups of four; look at chrF "
                    "instead")
    return ""


def _text(sentence: Sentence, name: str = "a sentence") -> str:
    """Join tokens by spaces. White space within a token, as in a character model, becomes ␣."""
    if isinstance(sentence, str):
        return sentence
    if not is_list(sentence) or not all(isinstance(token, str) for token in sentence):
        raise ValueError(f"{name} is {short_repr(sentence)}; expected a string or a list of "
                         "strings. Decode ids with vocabulary.decode(ids)")
    return " ".join(re.sub(r"\s", "␣", token) for token in sentence)


def _same_count(first_name: str, first: Sized, second_name: str, second: Sized) -> None:
    if len(first) != len(second):
        raise ValueError(f"{first_name} has length {len(first)}, but {second_name} has length "
                         f"{len(second)}; pass lists of the same length")
    if not len(first):
        raise ValueError(f"{first_name} is empty; expected at least one element")
