"""Read pretrained word vectors from text files of GloVe, word2vec and fastText, plain or gzipped.

A line has a word and its numbers, separated by spaces. word2vec and fastText begin with a line of
two numbers, the number of words and the size of a vector. Real files have some irregularities. A
word may contain spaces (`. . .` in GloVe 840B), so the numbers are the last fields of a line. If a
word occurs twice, the first line counts. A word that is not UTF-8 is skipped. If a file lacks
"london" but has "London", "london" gets the vector of "London".
"""

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from numpy_attention.module import Array
from numpy_attention.validation.arguments import check_tokens
from numpy_attention.validation.messages import plural, short_repr
from numpy_attention.validation.paths import existing_file, path_errors

GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
BOM = b"\xef\xbb\xbf"
BINARY = ("is not UTF-8 text. If this is a binary word2vec file, convert it with gensim: "
          "KeyedVectors.load_word2vec_format(FILE, binary=True).save_word2vec_format(NEW)")


@dataclass(frozen=True)
class Vectors:
    """The vectors of N words.

    array (N, D): float32, a vector of size D for each word, or zeros if the word was not found
    found (N,): whether each word is in the file, in its own or another case
    other_case: how many of the words found are in the file only in another case
    skipped: how many words of the file were skipped because they are not UTF-8
    digest: the first hexadecimal digits of the SHA-256 of the file's lines
    """

    array: Array
    found: Array
    other_case: int
    skipped: int
    digest: str


def read_vectors(path: str | Path, words: Sequence[str]) -> Vectors:
    """Read a file line by line, and return the Vectors of these words.

    The file may be larger than the memory. Raises ValueError with file and line if the file does
    not hold vectors, if the vectors differ in size, or if a number is not finite.
    """
    check_tokens("words", words)
    path = existing_file(path)
    exact: dict[str, Array] = {}
    caseless: dict[str, Array] = {}
    wanted = set(words)
    wanted_caseless = {word.lower() for word in words}
    digest = hashlib.sha256()
    size = 0
    skipped = 0
    for number, line in _lines(path):
        digest.update(line + b"\n")
        if number == 1:
            size, header = _size(path, line)
            if header:
                continue
        if not line:
            continue
        name, numbers = _parted(path, number, line, size)
        try:
            word = name.decode("utf-8")
        except UnicodeDecodeError:
            skipped += 1
            continue
        if word in wanted and word not in exact:
            exact[word] = _vector(path, number, numbers)
        folded = word.lower()
        if folded in wanted_caseless and folded not in caseless:
            caseless[folded] = exact[word] if word in exact else _vector(path, number, numbers)
    array = np.zeros((len(words), size), np.float32)
    found = np.zeros(len(words), bool)
    other_case = 0
    for i, word in enumerate(words):
        vector = exact.get(word, caseless.get(word.lower()))
        if vector is not None:
            array[i] = vector
            found[i] = True
            other_case += word not in exact
    return Vectors(array, found, other_case, skipped, digest.hexdigest()[:16])


def vector_size(path: str | Path) -> int:
    """Return the size of the vectors in a file. Raises ValueError for a malformed file."""
    path = existing_file(path)
    _, first = next(_lines(path))
    return _size(path, first)[0]


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line). Raises ValueError for an empty, damaged or zip file."""
    number = 0
    with path_errors(path, "read"), path.open("rb") as file:
        start = file.read(4)
        file.seek(0)
        if start == ZIP:
            raise ValueError(f"{path} is a zip archive; unpack it, for instance with: unzip FILE")
        lines = gzip.open(file) if start.startswith(GZIP) else file
        try:
            for number, line in enumerate(lines, 1):
                line = line.replace(b"\t", b" ").rstrip(b" \r\n")
                yield number, line.removeprefix(BOM) if number == 1 else line
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is damaged after line {number}: {error}. Copy or download "
                             "it again") from None
    if not number:
        raise ValueError(f"{path} is empty; expected a word and its numbers on each line")


def _size(path: Path, first: bytes) -> tuple[int, bool]:
    """Return the size of a vector, and whether the first line is a header that states this size."""
    parts = first.split()
    if len(parts) == 2 and all(part.isdigit() and int(part) for part in parts):
        return int(parts[1]), True
    size = 0
    while size < len(parts) - 1 and NUMBER.fullmatch(parts[-1 - size]):
        size += 1
    if not size:
        raise ValueError(f"{path}, line 1 has no numbers after {_shown(first)}; expected numbers "
                         "separated by spaces, in the text format of GloVe, word2vec or fastText")
    return size, False


def _parted(path: Path, number: int, line: bytes, size: int) -> tuple[bytes, bytes]:
    """Split line `number` of a file into its word, which may contain spaces, and `size` numbers."""
    if b"  " in line:
        line = b" ".join(line.split())
    extra = line.count(b" ") - size
    if extra >= 0:
        *name, numbers = line.split(b" ", extra + 1)
        if not extra or not NUMBER.fullmatch(name[-1]):
            return b" ".join(name).strip(), numbers
    if b"\0" in line or "\ufffd" in line.decode("utf-8", "replace"):
        raise ValueError(f"{path}, line {number} {BINARY}")
    given = plural(line.count(b" "), "number")
    raise ValueError(f"{path}, line {number} has {given} after the word {_shown(line)}; expected "
                     f"{size}, to match line 1. Copy or download the file again")


def _vector(path: Path, number: int, numbers: bytes) -> Array:
    try:
        vector = np.array([float(one) for one in numbers.split(b" ")], np.float32)
    except ValueError as error:
        bad = str(error).rpartition(": b")[2]       # could not convert string to float: b'x'
        raise ValueError(f"{path}, line {number}: {bad} is not a number; fix the line") from None
    if not np.isfinite(vector).all():
        raise ValueError(f"{path}, line {number} has a number that is not finite; remove this line")
    return vector


def _shown(line: bytes) -> str:
    return short_repr(line.split(b" ")[0].decode("utf-8", "replace"))
