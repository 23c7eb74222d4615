"""Metrics compared with values computed by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numpy_attention import metrics
from numpy_attention.data.pairs import Pair

# "the red house" → "la casa roja": adjective and noun are swapped, and one link is only possible
SWAPPED = Pair(("the", "red", "house"), ("la", "casa", "roja"), sure={(0, 0), (2, 1), (1, 2)},
               possible={(0, 1)})
LONG = Pair(("a", "b", "c", "d", "e"), ("A", "B", "C"), sure={(0, 0), (4, 2), (3, 2)})
UNLINKED = Pair(("x", "y"), ("X",))


def pointing_at(positions, source_length, target_length=None):
    """Return weights whose row j is 0.6 at positions[j] and uniform elsewhere."""
    rest = 0.4 / max(source_length - 1, 1)
    weights = np.full((target_length or len(positions), source_length), rest)
    weights[np.arange(len(positions)), positions] = 0.6
    return weights


def test_bleu_by_hand():
    # 5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples match; the lengths are equal, so
    # there is no brevity penalty
    score = metrics.bleu([["a", "b", "c", "d", "x", "f"]], [["a", "b", "c", "d", "e", "f"]])
    assert score.score == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert "tok:none" in score.signature and "smooth:exp" in score.signature
    assert "version:" in score.signature and score.signature == metrics.signature(metrics.bleu)
    assert str(score) == f"BLEU = {score.score:.2f} ({score.signature})"


def test_bleu_brevity_penalty_and_strings():
    hypothesis = "a b c d e"
    reference = "a b c d e f g"
    expected = 100 * math.exp(1 - 7 / 5)
    assert metrics.bleu([hypothesis], [reference]).score == pytest.approx(expected)
    assert metrics.bleu([hypothesis.split()], [reference.split()]).score == pytest.approx(expected)


def test_bleu_tokenizer_matters_and_is_named():
    hypothesis = ["a b c d e, f."]
    reference = ["a b c d e , f ."]
    assert metrics.bleu(hypothesis, reference).score < 100
    score = metrics.bleu(hypothesis, reference, tokenize="13a")
    assert score.score == pytest.approx(100) and "tok:13a" in score.signature
    with pytest.raises(ValueError, match="tokenize = 'words'.*'13a'"):
        metrics.bleu(hypothesis, reference, tokenize="words")


def test_whitespace_tokens_count():
    """A space of a character model is a token like any other: 3 of 5 characters are correct."""
    right = metrics.bleu([list("1 2 3")], [list("1 2 3")])
    assert right.score == pytest.approx(100)
    wrong = metrics.bleu([list("1 2 3")], [list("1-2-3")])
    assert wrong.score < 50


def test_empty_hypothesis_scores_zero():
    assert metrics.bleu([[]], [["a", "b"]]).score == 0
    assert metrics.chrf([[]], [["a", "b"]]).score == 0


@pytest.mark.parametrize("end, tokenize, warned", [
    (".", "none", False),
    (".", "13a", False),            # tokenized again, as requested
    (" .", "13a", True),            # strings that look tokenized
])
def test_warning_for_strings_that_look_tokenized(end, tokenize, warned, caplog):
    strings = [f"a b c d{end}"] * 150
    sentences = strings if warned else [string.split() for string in strings]
    assert metrics.bleu(sentences, sentences, tokenize).score == pytest.approx(100)
    assert bool(caplog.records) == warned


def test_string_among_token_lists_is_scored_as_tokens(caplog):
    sentences = ["a b c d ."] * 149 + [["a", "b", "c", "d", "."]]
    assert metrics.bleu(sentences, sentences, "13a").score == pytest.approx(100)
    assert not caplog.records


def test_metrics_accept_generators():
    words = "a b c d e".split()
    once = [words, words[:4]]
    twice = [list(words), list(words)]
    for measure in (metrics.bleu, metrics.chrf, metrics.exact_match):
        assert measure(iter(once), iter(twice)) == measure(once, twice)
    edges = (4, 5, 6)
    assert (metrics.bleu_by_length(iter(once), iter(twice), iter([5, 4]), iter(edges))
            == metrics.bleu_by_length(once, twice, [5, 4], edges))
    weights = [pointing_at([0, 2, 1], 3)]
    pairs = [SWAPPED]
    for measure in (metrics.pointing_accuracy, metrics.near_pointing, metrics.links_from_weights):
        assert measure(iter(weights), iter(pairs)) == measure(weights, pairs)
    links = [SWAPPED.sure]
    assert metrics.alignment_error_rate(iter(links), iter(pairs)) == 0
    assert metrics.diagonal_pointing(iter(pairs)) == metrics.diagonal_pointing(pairs)


def test_chrf_by_hand():
    # Order 1: 2 of 3 characters match both ways (F = 2/3); order 2: 1 of 2 (F = 1/2); order 3:
    # none; longer: absent. sacreBLEU averages precision and recall over the orders present:
    # (2/3 + 1/2 + 0) / 3 for both, so F is the same.
    score = metrics.chrf(["abc"], ["abd"])
    assert score.score == pytest.approx(100 * (2 / 3 + 1 / 2 + 0) / 3)
    assert score.name == "chrF" and "nc:6" in score.signature
    # two characters for three, all correct: F₂ favours recall
    short = metrics.chrf(["ab"], ["abc"])
    assert short.score < metrics.chrf(["abc"], ["ab"]).score < 100
    plus = metrics.chrf([["ab", "cd"]], [["ab", "cd"]], word_order=2)
    assert plus.name == "chrF++" and plus.score == pytest.approx(100) and "nw:2" in plus.signature


@pytest.mark.parametrize("measure", [metrics.bleu, metrics.chrf, metrics.exact_match])
def test_text_metrics_raise_for_unequal_or_empty_lists(measure):
    with pytest.raises(ValueError, match="^hypotheses has length 2, but references"):
        measure([["a"], ["b"]], [["a"]])
    with pytest.raises(ValueError, match="hypotheses is empty"):
        measure([], [])


@pytest.mark.parametrize("measure", [metrics.bleu, metrics.chrf])
def test_text_metrics_raise_for_ids_and_single_strings(measure):
    with pytest.raises(ValueError, match="Decode ids with"):
        measure([[4, 5]], [["a", "b"]])
    with pytest.raises(ValueError, match="^hypotheses is one string; expected"):
        measure("a b", ["a b"])
    with pytest.raises(ValueError, match="^references is one string; expected"):
        measure(["a b"], "a b")


def test_exact_match():
    found = metrics.exact_match([["a", "b"], ["c"], []], [("a", "b"), ("d",), ()])
    assert found == pytest.approx(2 / 3)
    assert metrics.exact_match(["a b", "c"], ["a b", "c "]) == 0.5
    assert metrics.exact_match([np.array([4, 5])], [[4, 5]]) == 1
    assert metrics.exact_match([["a"]], [["a", "a"]]) == 0
    with pytest.raises(ValueError, match=r"hypotheses\[0\] is .*, but its reference is"):
        metrics.exact_match(["ab"], [["a", "b"]])
    with pytest.raises(ValueError, match=" 'ab', but its reference is .'a', 'b'.;"):
        metrics.exact_match(["ab"], [["a", "b"]])


def test_bleu_by_length():
    words = "a b c d e f g h i j".split()
    references = [words[:4], words[:5], words, words]
    hypotheses = [words[:4], words[:5], words[:5], words]
    buckets = metrics.bleu_by_length(hypotheses, references, [4, 5, 10, 10], (1, 5, 6, 8, math.inf))
    assert [bucket[:3] for bucket in buckets] == [(1, 5, 1), (5, 6, 1), (6, 8, 0), (8, math.inf, 2)]
    assert buckets[0].bleu == pytest.approx(100) and buckets[1].bleu == pytest.approx(100)
    assert buckets[2].bleu is None
    # all n-grams correct, 15 words for 20
    assert buckets[3].bleu == pytest.approx(100 * math.exp(1 - 20 / 15))
    assert {bucket[4:] for bucket in buckets} == {(None, None)}


def test_intervals_by_length(rng):
    """Each interval is that of BLEU on the bucket, with one generator for all buckets."""
    words = "a b c d e f g h i j".split()
    references = [words[:n] for n in (5, 6, 5, 6, 9, 10)]
    hypotheses = [words[:5], words[:5], words[:4], words[:6], words[:7], words[:10]]
    lengths = list(map(len, references))
    edges = (1, 7, 9, 11)
    buckets = metrics.bleu_by_length(hypotheses, references, lengths, edges, "none",
                                     np.random.default_rng(5))
    again = np.random.default_rng(5)
    short = metrics.bleu(hypotheses[:4], references[:4], rng=again)
    long = metrics.bleu(hypotheses[4:], references[4:], rng=again)
    assert buckets[0] == (1, 7, 4, short.score, short.low, short.high)
    assert buckets[1] == (7, 9, 0, None, None, None)
    assert buckets[2] == (9, 11, 2, long.score, long.low, long.high)
    assert short.low < short.score < short.high
    with pytest.raises(TypeError, match="rng"):
        metrics.bleu_by_length(hypotheses, references, lengths, edges, rng=3)


@pytest.mark.parametrize("lengths, edges, message", [
    ([1], (1, 5), "^hypotheses has length 2, but lengths has length 1"),
    ([1, 5], (1, 5), r"lengths\[1\] is 5"),
    ([0, 2], (1, 5), r"lengths\[0\] is 0"),
    ([1, 2], (5, 1), "increasing"),
    ([1, 2], (1, 3, 3), "increasing"),
    ([1, 2], (1,), "increasing"),
    ([1, "2"], (1, 5), "^one of the lengths = '2'; expected a number$"),
    ([1, 2], (1, None), "^one of the edges = None; expected a number$"),
])
def test_bleu_by_length_raises(lengths, edges, message):
    with pytest.raises(ValueError, match=message):
        metrics.bleu_by_length([["a"], ["b"]], [["a"], ["b"]], lengths, edges)


def test_pointing_accuracy_by_hand():
    pairs = [SWAPPED, LONG, UNLINKED]
    weights = [pointing_at([0, 2, 2], 3), pointing_at([1, 1, 3], 5), pointing_at([0], 2)]
    # SWAPPED: words 0 and 1 are right, word 2 is wrong. LONG: word 0 is wrong; word 2 is right for
    # 3 and cannot be for 4 too.
    assert metrics.pointing_accuracy(weights, pairs) == pytest.approx(3 / 6)
    assert metrics.pointing_accuracy(iter(weights), iter(pairs)) == pytest.approx(3 / 6)


def test_end_of_sentence_row_and_column_are_excluded():
    weights = pointing_at([0, 2, 1, 3], 4)
    weights[:3] *= 0.5
    weights[:, 3] = 0.9                          # every word attends most to </s>
    for rows, columns in ((4, 4), (3, 4)):
        assert metrics.pointing_accuracy([weights[:rows, :columns]], [SWAPPED]) == 1
    assert metrics.links_from_weights([weights], [SWAPPED]) == [{(0, 0), (2, 1), (1, 2)}]


def test_near_pointing_by_hand():
    # Target words with sure links: SWAPPED 0, 1, 2; LONG 0 and 2. UNLINKED has none.
    pairs = [SWAPPED, LONG, UNLINKED]
    weights = [pointing_at([1, 0, 1], 3), pointing_at([2, 0, 3], 5), pointing_at([0], 2)]
    assert metrics.near_pointing(weights, pairs) == pytest.approx(3 / 5)
    assert metrics.near_pointing(weights, pairs, distance=0) == pytest.approx(2 / 5)
    assert metrics.near_pointing(weights, pairs, distance=2) == 1
    with pytest.raises(ValueError, match="distance"):
        metrics.near_pointing(weights, pairs, distance=-1)


def test_zero_rows_give_no_link():
    weights = np.zeros((3, 3))
    weights[1, 2] = 1
    assert metrics.pointing_accuracy([weights], [SWAPPED]) == pytest.approx(1 / 3)
    assert metrics.near_pointing([weights], [SWAPPED], distance=9) == pytest.approx(1 / 3)
    assert metrics.links_from_weights([weights], [SWAPPED]) == [{(2, 1)}]


def test_alignment_error_rate_by_hand():
    # A = {(0,0) sure, (0,1) possible, (2,2) neither}: |A∩S| = 1, |A∩P| = 2, |A| = 3, |S| = 3.
    rate = metrics.alignment_error_rate([{(0, 0), (0, 1), (2, 2)}], [SWAPPED])
    assert rate == pytest.approx(1 - 3 / 6)
    assert metrics.alignment_error_rate([SWAPPED.sure], [SWAPPED]) == 0
    assert metrics.alignment_error_rate([SWAPPED.possible], [SWAPPED]) == 0
    assert metrics.alignment_error_rate([set()], [SWAPPED]) == 1
    # Summed over the corpus, not averaged over sentences: hits 6 + 0, total (3 + 3) + (2 + 3).
    links = [SWAPPED.sure, {(1, 0), (2, 0)}]
    assert metrics.alignment_error_rate(links, [SWAPPED, LONG]) == pytest.approx(1 - 6 / 11)


def test_alignment_error_rate_raises():
    with pytest.raises(ValueError, match="links has length 1, but pairs has length 2"):
        metrics.alignment_error_rate([set()], [SWAPPED, LONG])
    message = r"pair 0: link \(2, 4\) has target position 4, .* the target has 3 tokens"
    with pytest.raises(ValueError, match=message):
        metrics.alignment_error_rate([{(2, 4)}], [LONG])
    with pytest.raises(ValueError, match="no gold alignment"):
        metrics.alignment_error_rate([set()], [UNLINKED])


@pytest.mark.parametrize("link", [(5, 0), (0, 3), (-1, 0), (0, -1)])
def test_links_out_of_range_raise(link):
    with pytest.raises(ValueError, match="has (source|target) position (-1|3|5), which is out of"):
        metrics.alignment_error_rate([{link}], [LONG])


def test_weights_may_be_nested_lists():
    rows = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert metrics.links_from_weights([rows], [SWAPPED]) == [{(1, 0), (0, 1), (2, 2)}]


def test_nan_weights_raise():
    weights = pointing_at([0, 1, 2], 3)
    weights[2, 0] = np.nan
    with pytest.raises(ValueError, match=r"weights\[0\] contains NaN"):
        metrics.pointing_accuracy([weights], [SWAPPED])


def test_diagonal_pointing_by_hand():
    # proportional: SWAPPED 0, 1, 2 → 1 of 3 right; LONG 0, 2, 4 → (0,0) and (4,2) right, (3,2) not.
    assert metrics.diagonal_pointing([SWAPPED, LONG, UNLINKED]) == pytest.approx(3 / 6)
    # same position: LONG 0, 1, 2 → only (0,0)
    assert metrics.diagonal_pointing([SWAPPED, LONG], rule="same") == pytest.approx(2 / 6)
    halves = Pair(("a", "b"), ("A", "B", "C"), sure={(1, 1)})           # 1·1/2 = 0.5 rounds up to 1
    assert metrics.diagonal_pointing([halves]) == 1
    shorter = Pair(("a", "b"), ("A", "B", "C"), sure={(1, 2)})              # the last source word
    assert metrics.diagonal_pointing([shorter], rule="same") == 1
    single = Pair(("a", "b", "c"), ("A",), sure={(0, 0)})
    assert metrics.diagonal_pointing([single]) == 1
    with pytest.raises(ValueError, match="rule"):
        metrics.diagonal_pointing([single], rule="diagonal")
    with pytest.raises(ValueError, match="no gold alignment"):
        metrics.diagonal_pointing([UNLINKED])


@pytest.mark.parametrize("measure", [
    metrics.pointing_accuracy,
    metrics.near_pointing,
    metrics.links_from_weights,
])
@pytest.mark.parametrize("weights, pairs, message", [
    ([pointing_at([0, 1, 2], 3)], [SWAPPED, SWAPPED], "weights has length 1, but pairs"),
    ([], [], "weights is empty"),
    ([pointing_at([0, 1, 2], 5).T], [LONG],
     r"shape \(5, 3\), but pair 0 has 3 target and 5 source words; use weights\[0\].T"),
    ([pointing_at([0, 1, 2], 7)], [LONG], "; cut off padding$"),
    ([pointing_at([0, 1], 5)], [LONG], "; pass one matrix for each pair, in the same order$"),
    ([pointing_at([0, 1, 2, 3, 4], 5)], [LONG], r"shape \(5, 5\)"),
    ([np.ones(3)], [SWAPPED], "in the same order$"),
    ([np.full((3, 3), np.nan)], [SWAPPED], r"weights\[0\] contains NaN"),
    ([np.full((3, 3), -np.inf)], [SWAPPED], "NaN or inf;"),
    ([np.ones((1, 1))], [Pair((), ("A",))], "empty source sentence"),
])
def test_alignment_metrics_raise(measure, weights, pairs, message):
    with pytest.raises(ValueError, match=message):
        measure(weights, pairs)


def test_pairs_without_links_raise():
    with pytest.raises(ValueError, match="no gold alignment"):
        metrics.pointing_accuracy([pointing_at([0], 2)], [UNLINKED])
    with pytest.raises(ValueError, match="no gold alignment"):
        metrics.near_pointing([pointing_at([0], 2)], [UNLINKED])


SENTENCES = {"hypotheses": ["a b"], "references": ["a b"]}
ALIGNED = {"weights": [pointing_at([0, 1, 2], 3)], "pairs": [SWAPPED]}
FITTING = {
    metrics.bleu: SENTENCES,
    metrics.bleu_by_length: SENTENCES | {"lengths": [2], "edges": [1, 5]},
    metrics.exact_match: SENTENCES,
    metrics.pointing_accuracy: ALIGNED,
    metrics.alignment_error_rate: {"links": [{(0, 0)}], "pairs": [SWAPPED]},
}
LISTS = {"hypotheses": "sentences", "references": "sentences", "lengths": "numbers",
         "edges": "numbers", "weights": "matrices", "links": "sets of links", "pairs": "Pairs"}


@pytest.mark.parametrize("measure, name", [
    (measure, name) for measure, arguments in FITTING.items() for name in arguments])
def test_arguments_that_are_not_lists_raise(measure, name):
    expected = f"^{name} is 5, of type int; expected a list of {LISTS[name]}$"
    with pytest.raises(TypeError, match=expected):
        measure(**FITTING[measure] | {name: 5})


@pytest.mark.parametrize("measure, name, message", [
    (metrics.bleu, "hypotheses", "hypotheses has length 2, but references has length 1;"),
    (metrics.exact_match, "references", "hypotheses has length 1, but references has length 2;"),
    (metrics.bleu_by_length, "references", "hypotheses has length 1, but references has length 2;"),
    (metrics.bleu_by_length, "lengths", "hypotheses has length 1, but lengths has length 2;"),
    (metrics.alignment_error_rate, "pairs", "links has length 1, but pairs has length 2;"),
])
def test_unequal_list_lengths_raise(measure, name, message):
    with pytest.raises(ValueError, match=message):
        measure(**FITTING[measure] | {name: FITTING[measure][name] * 2})


@pytest.mark.parametrize("call, message", [
    (lambda: metrics.chrf(["a"], ["a"], word_order=-1), "^word_order = -1; expected"),
    (lambda: metrics.exact_match([5], [5]), r"^hypotheses\[0\] is 5, of type int; expected a"),
    (lambda: metrics.near_pointing(**ALIGNED, distance=-1), "^distance = -1; expected 0 or more"),
    (lambda: metrics.diagonal_pointing([SWAPPED], rule="x"), "^rule = 'x'; expected"),
])
def test_arguments_out_of_range_raise(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@given(st.lists(st.lists(st.text("abcde", min_size=1, max_size=3), min_size=4, max_size=8),
                min_size=1, max_size=5))
def test_text_scores_highest_against_itself(sentences):
    assert metrics.bleu(sentences, sentences).score == pytest.approx(100)
    assert metrics.chrf(sentences, sentences).score == pytest.approx(100)
    assert metrics.exact_match(sentences, sentences) == 1
    by_length = metrics.bleu_by_length(sentences, sentences, map(len, sentences), (4, 6, 9))
    assert sum(bucket.count for bucket in by_length) == len(sentences)


LINKS = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1)


@given(st.lists(LINKS, min_size=1, max_size=4))
def test_gold_links_have_zero_error_and_rates_are_in_0_to_1(sets):
    pairs = [Pair(tuple("abcd"), tuple("xyz"), links) for links in sets]
    assert metrics.alignment_error_rate([pair.sure for pair in pairs], pairs) == 0
    assert metrics.alignment_error_rate([{(0, 0)}] * len(pairs), pairs) >= 0
    assert 0 <= metrics.diagonal_pointing(pairs) <= 1


def test_diagonal_links_score_1():
    for target, links in ((1, {(0, 0)}), (2, {(0, 0), (2, 1)}), (3, {(0, 0), (1, 1), (2, 2)})):
        pair = Pair(("a", "b", "c"), ("x",) * target, sure=links)
        assert metrics.diagonal_pointing([pair]) == 1.0


def test_no_warning_for_strings_with_tokenize_none(caplog):
    sentences = ["a b c d ."] * 101
    assert metrics.bleu(sentences, sentences, tokenize="none").score == pytest.approx(100)
    assert not caplog.records


def test_interval_contains_score_and_shrinks_with_size(rng):
    words = [[str(k) for k in rng.integers(0, 9, 8)] for _ in range(400)]
    found = [[word if rng.random() < 0.6 else "x" for word in sentence] for sentence in words]
    for measure in (metrics.bleu, metrics.chrf):
        few, many = (measure(found[:count], words[:count], rng=rng) for count in (40, 400))
        for score in (few, many):
            assert 0 < score.low < score.score < score.high < 100
        assert many.high - many.low < few.high - few.low
        plain = measure(found, words)
        assert (plain.low, plain.high) == (None, None) and plain[:3] == many[:3]
        one, other = (measure(found, words, rng=np.random.default_rng(3)) for _ in range(2))
        assert one == other


def test_interval_of_two_sentences_by_hand(rng):
    """A quarter of the samples are all right, and a quarter all wrong."""
    found, wanted = [list("abcde"), list("vwxyz")], [list("abcde"), list("fghij")]
    for measure in (metrics.bleu, metrics.chrf):
        score = measure(found, wanted, rng=rng)
        assert (score.low, score.high) == (0.0, pytest.approx(100.0))


def test_intervals_at_scores_0_and_100(rng):
    right = [["a", "b", "c", "d", "e"]] * 9
    assert metrics.bleu([["x"] * 5] * 9, right, rng=rng)[3:] == (0.0, 0.0)
    assert metrics.bleu(right, right, rng=rng)[3:] == pytest.approx((100.0, 100.0))
    with pytest.raises(TypeError, match="rng"):
        metrics.chrf(right, right, rng=3)


def test_bleu_without_4_grams_has_a_note():
    three, four = [["a", "b", "c"]] * 2, [["a", "b", "c", "d"]] * 2
    assert metrics.bleu(four, four).note == ""
    for found, wanted, word in ((three, three, "no translation"), (four, three, "no reference"),
                                ([[], []], four, "every translation is empty")):
        score = metrics.bleu(found, wanted)
        assert word in score.note and str(score).endswith(score.note)
    assert "chrF" in metrics.bleu(three, three).note
    assert metrics.bleu(["abcd"], ["abcd"], "char").note == ""
    with pytest.raises(ValueError, match="every reference is empty"):
        metrics.chrf(four, [[], []])


def test_one_sentence_has_no_interval(rng):
    assert metrics.bleu([["a"] * 5], [["a"] * 5], rng=rng).low is None
