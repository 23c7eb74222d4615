"""Comparing recipes: the table, and BLEU by length."""

import pytest

from numpy_attention.data.pairs import Pair
from numpy_attention.experiments import compare as comparison


def test_lengths_are_grouped():
    pairs = [Pair(("a",) * n, ("b",) * 5) for n in (1, 1, 2, 3, 3, 4, 9, 9)]
    right = [["b"] * 5 for _ in pairs]
    wrong = right[:6] + [["c"] * 5] * 2
    found = comparison.by_length({"right": right, "wrong": wrong}, pairs, 3)
    assert sum(bucket.count for bucket in found["right"]) == 8
    assert found["right"][0].low == 1 and found["right"][-1].high == 10
    assert all(bucket.bleu == pytest.approx(100) for bucket in found["right"])
    assert found["wrong"][-1].bleu < 80


def test_corpus_without_links_has_no_pointing():
    line = {"parameters": 1234567, "minutes": 1.25, "perplexity": 3.0, "bleu": 20.0, "chrf": 30.0}
    last = comparison.table({"a": [line]}).split("\n")[-1]
    assert last.endswith("|   – |        – |") and "1,234,567" in last
