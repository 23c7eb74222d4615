"""Problems found in user text before training."""

import textwrap

import numpy as np
import pytest

from numpy_attention.data import text_report
from numpy_attention.data.pairs import Pair
from numpy_attention.data.vocabulary import Vocabulary

GOOD = [f"the {noun} sees the {other} ." for noun in ("cat", "dog", "horse", "bird", "fish")
        for other in ("cat", "dog", "horse", "bird", "fish", "man", "woman")]


def of_pairs(sources, targets=GOOD, valid=None, min_count=2, **how):
    pairs = [Pair(tuple(source.split()), tuple(target.split()))
             for source, target in zip(sources, targets)]
    vocabularies = [Vocabulary.build([getattr(pair, side) for pair in pairs],
                                     how.get("max_vocabulary"), min_count)
                    for side in ("source", "target")]
    how = {"own_valid": valid is not None, "max_length": None, "tokenized": False} | how
    return list(text_report.of_pairs(pairs, valid or pairs[-2:], vocabularies, **how))


def of_text(lines, valid=GOOD[:3], own_valid=False):
    sentences = [line.split() for line in lines]
    return list(text_report.of_text(sentences, [line.split() for line in valid],
                                    Vocabulary.build(sentences), own_valid, False))


def test_clean_text_has_no_findings():
    spanish = [line.replace("the", "el").replace("sees", "ve a") for line in GOOD]
    assert of_pairs(GOOD, spanish) == of_text(GOOD) == []
    assert of_pairs(GOOD, GOOD) == []               # a copy task


@pytest.mark.parametrize("line, words", [
    ("<b> bold </b> text .", ["markup such as <b>", "sed"]),
    ("it &apos;s late .", ["the entity &apos;", "html.unescape"]),
    ("un@@ known pie@@ ces .", ["already split into pieces", "un@@", "join"]),
    ("<s> a sentence . </s>", ["<s>", "ends of sentences"]),
])
def test_markup_in_sentences(line, words):
    for found in (of_pairs([line, *GOOD[1:]]), of_text([line, *GOOD])):
        assert len(found) == 1
        assert all(word in found[0] for word in words)
    assert of_pairs([line, *GOOD[1:]])[0].startswith("source: ")


def test_unknown_words_name_the_side_and_a_remedy():
    without_spaces = [f"{line.replace(' ', '')}{n}" for n, line in enumerate(GOOD)]
    without_spaces[:2] = ["same", "same"]
    found, = of_pairs(GOOD, without_spaces)
    assert found.startswith("target: ") and "spaces do not seem to separate" in found
    assert "subwords" in found and "min_count" in found
    assert "a larger max_vocabulary" in of_pairs(GOOD, max_vocabulary=7)[0]
    found = of_pairs(GOOD, valid=[Pair(("x",), ("y",))], min_count=1)[0]
    assert "held-out words" in found and found.endswith("with subwords")


def test_lines_wrapped_at_one_width():
    words = " ".join(GOOD * 4).split()
    wrapped = textwrap.wrap(" ".join(words), 40)
    found, = of_text(wrapped)
    assert found.startswith("85%") and "seem to be wrapped" in found and "awk" in found
    lengths = np.random.default_rng(0).integers(3, 20, 50)          # sentences without full stops
    assert of_text([" ".join(words[n:n + length]) for n, length in enumerate(lengths)]) == []


def test_unsplit_punctuation():
    found = of_pairs([line.replace(" .", ".") for line in GOOD])
    assert len(found) == 1 and "with tokenize" in found[0] and "cat." in found[0]


def test_text_tokenized_twice():
    lines = ["it is well @ - @ known .", *GOOD[1:]]
    assert "leave out tokenize" in of_pairs(lines, tokenized=True)[0]
    assert of_pairs(["it 's well known .", *GOOD[1:]]) == []
    assert of_pairs(GOOD, tokenized=True) == []


def test_outlier_lengths_without_a_max_length():
    lines = [" ".join(GOOD), *GOOD[1:]]
    found, = of_pairs(lines)
    assert "has 210 tokens" in found and "max_length 12" in found
    assert of_pairs(lines, max_length=12) == []


def test_duplicates_untranslated_lines_and_licences():
    seen = [Pair(tuple(line.split()), ("x",)) for line in GOOD[:4]]
    for found in (of_pairs(GOOD, valid=seen), of_text(GOOD, GOOD[:5], own_valid=True)):
        assert any("100% of the validation sentences" in one for one in found)
    half = GOOD[:17] + [line.upper() for line in GOOD[17:]]
    assert "have the same sentence on both sides" in of_pairs(GOOD, half)[-1]
    found = of_text(GOOD, [*GOOD, "the Project Gutenberg sees the cat ."])
    assert len(found) == 1 and "licence of Project Gutenberg" in found[0]
