"""benchmarks/grammar_pointing.py: what the largest weight is on."""

import grammar_pointing
import numpy as np
import pytest
from grammar_pointing import counts_of, looked_at, phenomena_and_halves

from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.pairs import Pair

SOURCE = "she does not see the red house".split()
TARGET = "elle ne voit pas la maison rouge".split()
SURE = frozenset({(0, 0), (2, 1), (3, 2), (2, 3), (4, 4), (6, 5), (5, 6)})
PAIR = Pair(tuple(SOURCE), tuple(TARGET), SURE, SURE | {(1, 1), (1, 3)})


@pytest.mark.parametrize("word, place, what", [
    ("pas", "not", "right"),
    ("pas", "does", "a possible link"),
    ("pas", "see", "word before's"),
    ("pas", "the", "word after's"),
    ("pas", "she", "another"),
    ("pas", "</s>", "</s>"),
    ("rouge", "house", "word before's"),
])
def test_what_a_word_looks_at(word, place, what):
    j = TARGET.index(word)
    i = next(s for s, t in SURE if t == j)
    weights = np.zeros((len(TARGET) + 1, len(SOURCE) + 1))
    weights[j, [*SOURCE, "</s>"].index(place)] = 1
    assert looked_at(PAIR, weights, i, j) == what


def test_the_halves_of_the_negation():
    found = phenomena_and_halves(PAIR)
    assert found["negation"] == [(2, 1), (2, 3)]
    assert found["ne"] == [(2, 1)]
    assert found["pas"] == [(2, 3)]


def test_counts_are_of_one_phenomenon():
    weights = np.zeros((len(TARGET) + 1, len(SOURCE) + 1))
    weights[TARGET.index("maison"), SOURCE.index("house")] = 1
    weights[TARGET.index("rouge"), SOURCE.index("house")] = 1
    found = phenomena_and_halves(PAIR)
    counts = counts_of("swapped adjective", [PAIR, PAIR], [found, found], [weights, weights])
    assert counts == {"right": 2, "word before's": 2}


def test_a_run_that_points_right(monkeypatch, tmp_path, capsys):
    class Right:
        def attend(self, pairs):
            weights = []
            for pair in pairs:
                rows = np.zeros((len(pair.target) + 1, len(pair.source) + 1))
                for i, j in pair.sure:
                    rows[j, i] = 1
                weights.append(rows)
            return weights

    monkeypatch.setattr(grammar_pointing.Translator, "load", lambda folder: Right())
    pairs = load_parallel("grammar-en-fr", "test")[:100]
    monkeypatch.setattr(grammar_pointing, "load_parallel", lambda name, split: pairs)
    grammar_pointing.main(["a-seed0", "a-seed1", "--output", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0], lines[7]] == ["a-seed0", "a-seed1"]
    assert all(" 1.000 of " in line for line in lines[1:7])
    assert lines[-2].split()[:2] == ["a", "swapped"]
    assert (tmp_path / "grammar_attention.png").is_file()
