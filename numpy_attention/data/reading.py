"""Readers of text files: lines, sentence pairs, running text.

They take UTF-8 text, plain or gzipped (`.gz`), and refuse what is malformed with the file and the
line.
"""

import gzip
import zlib
from pathlib import Path

from numpy_attention.data.pairs import Pair
from numpy_attention.data.tokens import word_tokens


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
