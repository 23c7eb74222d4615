"""Sentence pairs with word links, and readers for text files.

A `Pair` holds one sentence and its translation as tokens, and, where they are known, the links
between words: (source position, target position), both counted from 0. As in Och & Ney (2003), a
*sure* link is one that is not in doubt, a *possible* link is one that may stand or not; every sure
link is possible as well.

The readers take UTF-8 text, plain or gzipped (`.gz`), and refuse what is malformed with the file
and the line.
"""

import functools
import gzip
import math
import re
import unicodedata
import zlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """A source sentence, its translation, and the links between their words.

    source, target: tuples of tokens. sure, possible: frozensets of (source position, target
    position). `possible` always contains `sure`: what is given as possible is joined with the sure
    links. Raises ValueError for a link that points outside of either sentence, TypeError for a
    sentence given as one string.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[tuple[int, int]] = frozenset()
    possible: frozenset[tuple[int, int]] = frozenset()

    def __post_init__(self) -> None:
        if isinstance(self.source, str) or isinstance(self.target, str):
            raise TypeError(
                "a Pair takes sequences of tokens, not a string: split it first, for instance "
                "text.split()"
            )
        object.__setattr__(self, "source", tuple(self.source))
        object.__setattr__(self, "target", tuple(self.target))
        object.__setattr__(self, "sure", frozenset(self.sure))
        object.__setattr__(self, "possible", self.sure.union(self.possible))
        for i, j in self.possible:
            if not (0 <= i < len(self.source) and 0 <= j < len(self.target)):
                raise ValueError(
                    f"link ({i}, {j}) points outside of a pair with {len(self.source)} source and "
                    f"{len(self.target)} target tokens; links are (source position, target "
                    "position) from 0"
                )

    def reversed(self) -> "Pair":
        """The same pair with source and target exchanged."""
        sure = frozenset((j, i) for i, j in self.sure)
        possible = frozenset((j, i) for i, j in self.possible)
        return Pair(self.target, self.source, sure, possible)


@functools.lru_cache(maxsize=None)
def _token_pattern() -> re.Pattern[str]:
    # Python's \w leaves out combining marks, which many scripts need inside a word.
    characters = map(chr, range(0x300, 0x10000))
    marks = "".join(c for c in characters if unicodedata.category(c)[0] == "M")
    word = rf"\w+(?:[{marks}\u200c\u200d]+\w*)*"
    return re.compile(rf"\d+(?:[.,]\d+)+(?!\w)|{word}(?:['\-]{word})*|[^\w\s]")


def word_tokens(text: str, elision: bool = False) -> list[str]:
    """Splits raw text of any script into words and single punctuation marks.

    A word is a run of letters, marks and digits, with apostrophes and hyphens kept inside it
    (don't, well-known); a number keeps its points and commas (3,000.5). The curly apostrophe
    becomes the straight one, and accented letters take their composed form (Unicode NFC). With
    `elision=True` a word is cut after each inner apostrophe, as French wants it: l'homme → l' homme
    (aujourd'hui stays whole).
    """
    text = unicodedata.normalize("NFC", text).replace("\u2019", "'")
    tokens = _token_pattern().findall(text)
    if not elision or "'" not in text:
        return tokens
    cut: list[str] = []
    for token in tokens:
        whole = "'" not in token or token == "'" or token.lower() == "aujourd'hui"
        cut.extend([token] if whole else re.findall(r"[^']+'?", token))
    return cut


def read_lines(path: str | Path) -> list[str]:
    """The lines of a UTF-8 text file, plain or `.gz`, as a list of strings without their line ends.

    Only a newline (with or without carriage return) ends a line. Raises FileNotFoundError,
    IsADirectoryError, or ValueError with file and line number for text that is not UTF-8 or holds
    NUL characters, or for a damaged `.gz`.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the path of a text file")
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist; check the spelling, or give an absolute path"
        )
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"{path} is damaged or not gzip data ({error}); copy or download it again"
            ) from None
    if data.startswith(b"\xef\xbb\xbf"):  # a byte order mark is no text
        data = data[3:]
    rows = data.split(b"\n")
    if not rows[-1]:
        rows.pop()
    lines = []
    for number, row in enumerate(rows, 1):
        try:
            line = row.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}, line {number}: byte {error.start + 1} (0x{row[error.start]:02x}) is not "
                "UTF-8; convert the file, for instance with: iconv -f ISO-8859-1 -t UTF-8 FILE"
            ) from None
        if "\0" in line:
            raise ValueError(
                f"{path}, line {number}: a NUL character; not UTF-8 text (UTF-16?), convert it"
            )
        lines.append(line.removesuffix("\r"))
    return lines


def _tokens(line: str, lowercase: bool, tokenize: bool, elision: bool = False) -> list[str]:
    if lowercase:
        line = line.lower()
    return word_tokens(line, elision) if tokenize else line.split()


def read_pairs(
    source_path: str | Path,
    target_path: str | Path,
    lowercase: bool = False,
    tokenize: bool = False,
) -> list[Pair]:
    """Sentence pairs from two files, line k of one beside line k of the other, without links.

    Tokens are split on white space; `tokenize=True` is for raw text: words and punctuation, split
    by `word_tokens`. Raises ValueError for files of unequal length, an empty line, an empty file,
    or text that is not UTF-8.
    """
    sources = read_lines(source_path)
    targets = read_lines(target_path)
    if len(sources) != len(targets):
        raise ValueError(
            f"{source_path} has {len(sources):,} lines but {target_path} has {len(targets):,}; "
            "line k of one must translate line k of the other: line "
            f"{min(len(sources), len(targets)) + 1} has no partner"
        )
    if not sources:
        raise ValueError(
            f"{source_path} and {target_path} are empty; they need one sentence a line"
        )
    pairs = []
    for number, lines in enumerate(zip(sources, targets), 1):
        source, target = (tuple(_tokens(line, lowercase, tokenize)) for line in lines)
        if not source or not target:
            raise ValueError(
                f"{target_path if source else source_path}, line {number}: empty; remove this line "
                "from both files, or fill it in"
            )
        pairs.append(Pair(source, target))
    return pairs


def read_tab_pairs(
    path: str | Path, lowercase: bool = False, tokenize: bool = True, elision: bool = False
) -> list[Pair]:
    """Sentence pairs from lines `source TAB target`, as Tatoeba's are.

    A third column (attribution) is left aside. `elision=True` cuts the target's words after an
    apostrophe (see `word_tokens`). Raises ValueError with file and line for a line without two or
    three columns or with an empty sentence, and for an empty file.
    """
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) not in (2, 3):
            raise ValueError(
                f"{path}, line {number}: {len(columns)} column(s), expected source TAB target, at "
                "most TAB attribution"
            )
        source = _tokens(columns[0], lowercase, tokenize)
        target = _tokens(columns[1], lowercase, tokenize, elision)
        if not source or not target:
            raise ValueError(
                f"{path}, line {number}: empty {'target' if source else 'source'}; remove the line"
            )
        pairs.append(Pair(tuple(source), tuple(target)))
    if not pairs:
        raise ValueError(f"{path} is empty; it needs lines of the form source TAB target")
    return pairs


def read_text(
    path: str | Path, lowercase: bool = False, tokenize: bool = False, blank_lines: str = "skip"
) -> list[list[str]]:
    """Text for a language model, one sentence a line → list of token lists.

    `blank_lines`: "skip", or "keep" as empty lists (WikiText counts the end of a blank line as a
    token). Raises ValueError for a file without any token, or text that is not UTF-8.
    """
    if blank_lines not in ("skip", "keep"):
        raise ValueError(f"blank_lines = {blank_lines!r}; expected 'skip' or 'keep'")
    sentences = [_tokens(line, lowercase, tokenize) for line in read_lines(path)]
    if not any(sentences):
        raise ValueError(f"{path} holds no text; it needs one sentence a line")
    if blank_lines == "keep":
        return sentences
    return [tokens for tokens in sentences if tokens]


def limited(
    pairs: list[Pair],
    name: str,
    min_length: int | None = None,
    max_length: int | None = None,
    count: int | None = None,
) -> list[Pair]:
    """The first `count` of the pairs with min_length to max_length tokens on both sides.

    None: no such limit. ValueError: none of `name` is left.
    """
    low = min_length or 1
    high = max_length or math.inf
    kept = [
        pair
        for pair in pairs
        if low <= len(pair.source) <= high and low <= len(pair.target) <= high
    ]
    if not kept:
        lengths = f"at most {high}" if low == 1 else f"{low} to {high}"
        raise ValueError(
            f"no pair of {name} has {lengths} tokens on both sides: allow more with "
            f"{'max_length' if low == 1 else 'min_length and max_length'}, or bring more text"
        )
    return kept[:count]
