import gzip

import numpy as np
import pytest

from numpy_attention.data.vectors import read_vectors, vector_size

WORDS = ["</s>", "the", "cat", ".", "zebra"]
LINES = [b"</s> 0 0.5", b"the 1 -1e-1", b"CAT 2 2", b". . . 9 9", b". 3 3", b"the 8 8"]


@pytest.fixture
def write(tmp_path):
    def write_lines(*lines, name="vectors.txt", end=b"\n"):
        (tmp_path / name).write_bytes(b"".join(line + end for line in lines))
        return tmp_path / name
    return write_lines


@pytest.mark.parametrize("lines, end", [
    (LINES, b"\n"),
    ([b"6 2", *LINES], b" \r\n"),                           # word2vec, fastText
    ([b"\xef\xbb\xbf" + LINES[0], *LINES[1:], b""], b"\n"),
    ([line.replace(b" ", b"\t") if line[:3] != b". ." else line for line in LINES], b"\n"),
])
def test_vectors_of_every_format(write, lines, end):
    path = write(*lines, end=end)
    read = read_vectors(path, WORDS)
    np.testing.assert_array_equal(
        read.array, np.array([[0, 0.5], [1, -0.1], [2, 2], [3, 3], [0, 0]], np.float32))
    assert read.found.tolist() == [True, True, True, True, False]
    assert (read.other_case, read.skipped, vector_size(path)) == (1, 0, 2)


def test_exact_case_and_first_entry_are_preferred(write):
    path = write(b"THE 1 1", b"The 2 2", b"the 3 3", b"the 4 4", b"caf\xe9 5 5")
    read = read_vectors(path, ["the", "tHE", "café"])
    assert read.array.tolist() == [[3, 3], [1, 1], [0, 0]]
    assert (read.other_case, read.skipped) == (1, 1)


def test_gzipped_file_has_the_digest_of_its_text(write, tmp_path):
    plain = write(*LINES)
    (tmp_path / "zipped").write_bytes(gzip.compress(plain.read_bytes()))
    assert read_vectors(tmp_path / "zipped", WORDS).digest == read_vectors(plain, WORDS).digest


@pytest.mark.parametrize("lines, message", [
    ([], "is empty"),
    ([b"The cat sleeps ."], "line 1 has no numbers after 'The'; expected numbers separated"),
    ([b"the 1 2", b"cat 1"], "line 2 has 1 number after the word 'cat'; expected 2"),
    ([b"the 1 2", b"cat 1 2 3"], "line 2 has 3 numbers after the word 'cat'; expected 2"),
    ([b"2 3", b"the 1 2"], "line 2 has 2 numbers after .* 'the'; expected 3, to match line 1"),
    ([b"the 1 2", b"cat 1 x"], "line 2: 'x' is not a number; fix"),
    ([b"the 1 2", b"cat 1 nan"], "line 2 has a number that is not finite"),
    ([b"1 2", b"the \x00\x01\x02\x03\x00"], "line 2 is not UTF-8 text.* binary"),
    ([b"PK\x03\x04"], "is a zip archive"),
    ([gzip.compress(b"the 1 2\n" * 100)[:30]], "is damaged after line"),
])
def test_invalid_files(write, lines, message):
    with pytest.raises(ValueError, match=f"vectors.txt.*{message}"):
        read_vectors(write(*lines), WORDS)
