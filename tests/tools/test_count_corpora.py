"""The tables of the README beside the shipped corpora are what tools/count_corpora.py counts."""

from pathlib import Path

import count_corpora
import pytest
from count_corpora import crosses, parallel_row, readme_rows, running_row

from numpy_attention.data.pairs import Pair

README = Path(count_corpora.__file__).parents[1] / "numpy_attention/data/datasets/shipped/README.md"


@pytest.mark.parametrize("links, expected", [
    ([(0, 0), (1, 1)], False),
    ([(0, 1), (1, 0)], True),
    ([(0, 0), (0, 1)], False),                  # two links of one word
    ([(2, 0), (0, 1), (1, 2)], True),
])
def test_links_that_cross(links, expected):
    assert crosses(links) is expected


def test_a_row_of_pairs():
    english = tuple("a b c".split())
    pairs = [
        Pair(english, ("x", "x"), frozenset({(0, 1), (1, 0)}), frozenset({(2, 0)})),
        Pair(english, ("y", "x"), frozenset({(0, 0), (1, 1)})),
    ]
    row = parallel_row("clauses", "test", pairs)
    assert row == "| clauses | test | 2 | 6 | 4 | 3 | 2 | 4 | 5 | 50.0% | 50.0% |"


def test_a_row_of_chapters():
    chapters = [[("a", "b"), ("a",)], [("c",)]]
    assert running_row("train", chapters) == "| train | 2 | 3 | 4 | 3 |"


def test_the_readme_has_these_rows():
    lines = README.read_text("utf-8").splitlines()
    assert not set(readme_rows()) - set(lines)
