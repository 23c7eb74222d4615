"""Read text files: lines, sentence pairs, running text.

The functions accept UTF-8 text, plain or compressed (`.gz`, `.bz2`, `.xz`). Errors name the file
and the line.
"""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from numpy_attention.data.encoding import check_not_markup, check_signature, lines_of
from numpy_attention.data.pairs import Pair
from numpy_attention.validation.arguments import check_flags, check_function, check_tokens
from numpy_attention.validation.arrays import check_whole
from numpy_attention.validation.messages import plural
from numpy_attention.validation.paths import existing_file, path_errors

TABBED = 0.9        # share of lines with a tab from which a file counts as columns

Tokens = Callable[[str], list[str]]  # cuts a line, such as `TextForm.tokens`
COMPRESSED = {
    ".gz": ("gzip data", gzip.decompress, b"\x1f\x8b"),
    ".bz2": ("bzip2 data", bz2.decompress, b"BZh"),
    ".xz": ("xz data", lzma.decompress, b"\xfd7zXZ\0"),
}


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a UTF-8 text file, plain or compressed, without line endings.

    Raises the errors of `existing_file` and `lines_of`, and ValueError for damaged compressed data.
    """
    path = existing_file(path)
    data = bytes_of(path)
    if path.suffix in COMPRESSED:
        kind, unpack, magic = COMPRESSED[path.suffix]
        try:
            data = unpack(data)
        except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
            check_signature(data, str(path), but=kind)
            advice = "Copy or download it again" if data.startswith(magic) else (
                f"Remove {path.suffix} from its name if it is uncompressed, or download it again")
            raise ValueError(f"{path} is not valid {kind}: {error}. {advice}") from None
    return lines_of(data, str(path))


def sentence_lines(path: str | Path) -> list[str]:
    """Return `read_lines(path)`. Raises its errors, and ValueError for markup, subtitles or CSV."""
    lines = read_lines(path)
    check_not_markup(lines, str(path))
    return lines


def bytes_of(path: Path) -> bytes:
    """Return the content of a file. Raises OSError if it cannot be read."""
    with path_errors(path, "read"):
        return path.read_bytes()


def read_pairs(source_path: str | Path, target_path: str | Path, tokens: Tokens = str.split,
               columns: Sequence[int] | None = None, skip_blank: bool = False) -> list[Pair]:
    """Return sentence pairs from two files: line k of one file translates line k of the other.

    tokens: a function that splits a line into tokens. columns: for tab-separated files, the column
    of the source and the column of the target, counted from 1; the paths may then be the same.
    skip_blank: leave out pairs in which a line is empty. Raises ValueError for files of unequal
    length, empty lines unless `skip_blank` is set, tab-separated columns if `columns` is None, too
    few columns, an empty file, or text that is not UTF-8.
    """
    check_flags(skip_blank=skip_blank)
    paths = source_path, target_path
    sides = [columns_of(path, sentence_lines(path), column)
             for path, column in zip(paths, columns or (None, None))]
    sources, targets = sides
    if len(sources) != len(targets):
        raise ValueError(
            f"{source_path} has {len(sources):,} lines but {target_path} has {len(targets):,}, so "
            f"line {min(len(sources), len(targets)) + 1} has no partner; line k of one file must "
            "translate line k of the other")
    if not sources:
        raise ValueError(f"{source_path} and {target_path} are empty; expected one "
                         "sentence per line")
    rows = [(_cut(source, tokens), _cut(target, tokens)) for source, target in zip(*sides)]
    kept = [row for row in rows if all(row)]
    if len(kept) < len(rows) and not skip_blank:
        number, row = next((k, row) for k, row in enumerate(rows, 1) if not all(row))
        path, side = (target_path, "target") if row[0] else (source_path, "source")
        raise ValueError(f"{path}, line {number}: the {side} is empty; add the missing "
                         "sentence, or pass skip_blank=True to leave out such lines, "
                         f"{len(rows) - len(kept):,} of {len(rows):,}")
    if not kept:
        raise ValueError(f"every pair in {source_path} and {target_path} has an empty line; "
                         "expected a sentence in both files")
    return [Pair(*row) for row in kept]


def columns_of(path: str | Path, lines: list[str], column: int | None,
               advice: str = "pass `columns` to say which to read, or ") -> list[str]:
    """Return one column of tab-separated lines, or the lines themselves if `column` is None.

    column: the number of the column, counted from 1. path, advice: for messages. Raises ValueError
    if a line has too few columns, or if `column` is None but nearly every line has several columns.
    """
    if column is None:
        tabs = [line.count("\t") for line in lines if line.strip()]
        if tabs and sum(map(bool, tabs)) >= TABBED * len(tabs):
            raise ValueError(f"{path} has {max(tabs) + 1} tab-separated columns; {advice}extract "
                             "one first: cut -f1 FILE > NEW")
        return lines
    check_whole("a column", column, 1)
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, 1):
        if len(row) < column and row != [""]:
            raise ValueError(f"{path}, line {number} has {plural(len(row), 'column')}; expected at "
                             f"least {column}, separated by tabs")
    return [row[column - 1] if len(row) >= column else "" for row in rows]


def read_tab_pairs(path: str | Path, source_tokens: Tokens, target_tokens: Tokens) -> list[Pair]:
    """Return sentence pairs from lines `source TAB target`, as in the files of Tatoeba.

    A third column (attribution) is ignored. Raises ValueError for an empty file, an empty sentence,
    or a line that does not have two or three columns.
    """
    pairs = []
    for number, line in enumerate(sentence_lines(path), 1):
        columns = line.split("\t")
        if len(columns) not in (2, 3):
            raise ValueError(f"{path}, line {number} has {plural(len(columns), 'column')}; "
                             "expected source TAB target, optionally followed by TAB attribution")
        for side, text in zip(("source", "target"), columns):
            if not text.strip():
                raise ValueError(f"{path}, line {number} has no {side}; add it, or remove the line")
        pairs.append(Pair(_cut(columns[0], source_tokens), _cut(columns[1], target_tokens)))
    if not pairs:
        raise ValueError(f"{path} is empty; it needs lines of the form source TAB target")
    return pairs


def read_text(path: str | Path, tokens: Tokens = str.split,
              blank_lines: bool = False) -> list[list[str]]:
    """Return text for a language model, one sentence per line, as a list of token lists.

    tokens: a function that splits a line into tokens. blank_lines: keep blank lines as empty lists;
    in WikiText, the end of a blank line counts as a token. Raises ValueError for a file without any
    token, tab-separated columns, or text that is not UTF-8.
    """
    check_flags(blank_lines=blank_lines)
    lines = columns_of(path, sentence_lines(path), None, advice="")
    sentences = [list(_cut(line, tokens)) for line in lines]
    if not any(sentences):
        raise ValueError(f"{path} contains no text; it needs one sentence per line")
    return [sentence for sentence in sentences if sentence or blank_lines]


def _cut(line: str, tokens: Tokens) -> tuple[str, ...]:
    """Split a line with the function `tokens`. Raises TypeError if the result is not tokens."""
    check_function("tokens", tokens, "a function that cuts a line into a list of tokens, such as "
                   "str.split")
    cut = tokens(line)
    check_tokens("the return value of `tokens`", cut)
    return tuple(cut)
