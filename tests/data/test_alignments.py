import pytest

from numpy_attention.data.alignments import read_alignments
from numpy_attention.data.pairs import Pair

PAIRS = [Pair(("the", "red", "cat"), ("el", "gato", "rojo")),
         Pair(("yes",), ("claro", "que", "sí")),
         Pair(("a", "dog"), ("un", "perro"))]
SURE = [{(0, 0), (1, 2)}, set(), {(0, 0), (1, 1)}]
POSSIBLE = [SURE[0] | {(2, 1)}, set(), SURE[2]]
NAACL = "1 1 1 S\n1 2 3\n0001 3 2 P 0.7\n3 1 1 S\n\n3 2 2 S\n"


@pytest.fixture
def read(tmp_path):
    def read_text(text, pairs=PAIRS, **how):
        (tmp_path / "links").write_text(text)
        return read_alignments(tmp_path / "links", pairs, **how)
    return read_text


@pytest.mark.parametrize("text, start", [
    ("0-0 1-2 2p1\n\n0-0 1-1\n", 0),
    ("2?1 1-2 0-0 0-0\r\n \r\n1-1 0-0", 0),
    ("1-1 2-3 3p2\n\n1-1 2-2\n", 1),                            # 3 is out of range, counted from 0
    ("0\t0-0 1-2 2p1 \n1\t\n2\t0-0 1-1\n", 0),                  # with line numbers
    (NAACL, 1),
    (NAACL + "2 0 3 S\n", 1),                                   # a link of the null word
    ("1 0 0 S\n1 1 2\n1 2 1 P\n3 0 0 S\n3 1 1 S\n", 0),
])
def test_links_in_each_format(read, text, start):
    pairs, found = read(text)
    assert found == start
    assert [pair.sure for pair in pairs] == SURE
    assert [pair.possible for pair in pairs] == POSSIBLE
    assert [(pair.source, pair.target) for pair in pairs] == [
        (pair.source, pair.target) for pair in PAIRS]


def test_ambiguous_file_counts_as_its_format_does(read):
    assert read("1-1\n\n\n") == read("1-1\n\n\n", count_from=0)
    assert read("1-1\n\n\n", count_from=1)[0][0].sure == {(0, 0)}
    assert read("1 2 1 S\n")[0][0].sure == {(1, 0)}
    assert read("1 2 1 S\n", count_from=0)[0][0].sure == {(2, 1)}


@pytest.mark.parametrize("text, how, message", [
    ("0-0\n\n", {}, "links has 2 lines; expected 3, one for each sentence pair"),
    ("0-0\n\n0-0 0:1\n", {}, "links, line 3: '0:1' is not a word link.*0-0 1p2.*1 1 2 S"),
    ("1 1 1 S\n1 1 X\n", {}, "links, line 2: '1 1 X' is not a word link"),
    ("4 1 1 S\n", {}, "links, line 1: sentence pair 4 does not exist; expected a number"),
    ("0-0\n0-0 0-7\n\n", {}, "links, line 2: target word 7 does not exist; sentence 2, "
                             "'claro que sí', has 3 words, numbered from 0"),
    ("1-1\n\n2-2\n", {"count_from": 0}, "line 3: source word 2 .* count_from = 1"),
    ("0-0\n\n\n", {"count_from": 1}, "line 1: source word 0 .* count_from = 0"),
    ("0-0\n2-0\n\n", {}, "line 2: source word 2 .* 1 word, numbered from 0.*first.*sed"),
    ("0p0\n\n\n", {}, "links has no sure links"),
    ("", {}, "links has 0 lines; expected 3"),
    ("0-0\n\n\n", {"count_from": 2}, "count_from"),
])
def test_invalid_files(read, text, how, message):
    with pytest.raises(ValueError, match=message):
        read(text, **how)
