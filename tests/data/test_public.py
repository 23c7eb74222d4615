"""Public corpora: what is known of their files, and how WikiText's lines become articles."""

import re

import pytest

from numpy_attention.data.public import FILES, articles_of, data_file


def test_registry():
    for path, file in FILES.items():
        assert file.path == path and file.url.startswith("https://")
        assert re.fullmatch("[0-9a-f]{64}", file.sha256 or "0" * 64)
        assert file.url.endswith(path.split("/")[1]) or file.member
    assert [path for path, file in FILES.items() if file.sha256 is None] == ["tatoeba/fra-eng.txt"]
    assert len(FILES) == 3 + 3 + 18 + 1 + 1
    assert len({file.sha256 for file in FILES.values()}) == len(FILES)
    known = "no such public file: 'ptb/x'; known files: .*ptb/ptb.test.txt"
    with pytest.raises(ValueError, match=known):
        data_file("ptb/x")


def test_articles_begin_with_a_heading_of_one_equals_sign():
    text = ["", "= A =", "", "= = B = =", "x", "= C =", "= y", "= ="]
    lines = [line.split() for line in text]
    assert articles_of(lines) == [[[]], lines[1:5], lines[5:]]
    assert articles_of([]) == []
