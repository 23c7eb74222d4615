"""Read gold word alignments of the user's text: a file of links for its sentence pairs.

Pharaoh       Line k has all links of pair k, and may be blank. Each link has a source position, a
              sign and a target position: `1-2` is a sure link, `1p2` or `1?2` a possible link.
NAACL         Each line has one link: the number of the pair (from 1), the source position, the
              target position, and S (sure) or P (possible). `1 1 2 S` and `1 1 2` are sure links,
              `1 1 2 P` is a possible link (Mihalcea & Pedersen 2003).

Words are counted from 0 or from 1. If `count_from` is None, the content decides. A Pharaoh file
counts from 1 if all links fit into their sentences from 1, but not from 0; otherwise from 0. A
NAACL file counts from 0 if it contains a position 0 and all links fit from 0; otherwise from 1. In
a NAACL file that counts from 1, position 0 is the empty word, and links to it are left out.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, NoReturn

from numpy_attention.data.pairs import Pair, as_pairs
from numpy_attention.data.reading import read_lines
from numpy_attention.validation.arrays import check_whole
from numpy_attention.validation.messages import plural

NAACL = re.compile(r"\s*(\d+)\s+(\d+)\s+(\d+)(?:\s+([SPsp])(?:\s+[\d.]+)?)?\s*", re.ASCII)
PHARAOH = re.compile(r"(\d+)([-p?])(\d+)", re.ASCII)
NUMBERED = re.compile(r"\d+\t", re.ASCII)   # the number of a line, in some corpora
SHOWN = 8           # words of a sentence in a message


class Link(NamedTuple):
    """A link read from a file. line: the line's number, from 1. pair: the pair's index, from 0."""

    line: int
    pair: int
    source: int
    target: int
    sure: bool


def read_alignments(path: str | Path, pairs: Sequence[Pair],
                    count_from: int | None = None) -> tuple[list[Pair], int]:
    """Read word links from a file; return (copies of `pairs` with these links, count_from).

    count_from: the number of a sentence's first word, 0 or 1. If it is None, the content decides,
    as described with the formats in the module's docstring. Raises ValueError with file and line
    for a malformed line, and for a pair or a word that does not exist. Also raises ValueError for a
    file without sure links, and if a Pharaoh file does not have one line per pair.
    """
    pairs = as_pairs(pairs)
    if count_from is not None:
        check_whole("count_from", count_from, 0, 1)
    lines = read_lines(path)
    naacl = bool(NAACL.fullmatch(next(filter(str.strip, lines), "")))
    links = (_naacl if naacl else _pharaoh)(path, lines, len(pairs))
    if not any(link.sure for link in links):
        raise ValueError(f"{path} has no sure links; expected at least one, such as 1-2 in Pharaoh "
                         "format or 1 1 2 S in NAACL format")
    start = _start(links, pairs, naacl) if count_from is None else count_from
    if naacl and start == 1:
        links = [link for link in links if link.source and link.target]     # not the empty word
    for link in links:
        if not _inside(link, pairs, start):
            _raise_outside(path, link, links, pairs, start)
    sure: list[set[tuple[int, int]]] = [set() for _ in pairs]
    possible: list[set[tuple[int, int]]] = [set() for _ in pairs]
    for link in links:
        found = sure if link.sure else possible
        found[link.pair].add((link.source - start, link.target - start))
    return [replace(pair, sure=frozenset(sure[k]), possible=frozenset(possible[k]))
            for k, pair in enumerate(pairs)], start


def _pharaoh(path: str | Path, lines: Sequence[str], count: int) -> list[Link]:
    numbered = all(NUMBERED.match(line) for line in lines)
    links = []
    for number, line in enumerate(lines, 1):
        for word in line.split()[numbered:]:
            found = PHARAOH.fullmatch(word)
            if not found:
                raise ValueError(
                    f"{path}, line {number}: {word[:40]!r} is not a word link; expected lines "
                    "such as 0-0 1p2 in Pharaoh format, or lines such as 1 1 2 S in NAACL format")
            source, kind, target = found.groups()
            links.append(Link(number, number - 1, int(source), int(target), kind == "-"))
    if len(lines) != count:
        raise ValueError(f"{path} has {len(lines):,} lines; expected {count:,}, one for each "
                         "sentence pair. Write a blank line for a pair without links")
    return links


def _naacl(path: str | Path, lines: Sequence[str], count: int) -> list[Link]:
    links = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = NAACL.fullmatch(line)
        if not found:
            raise ValueError(f"{path}, line {number}: {line.strip()[:40]!r} is not a word link "
                             "in NAACL format; expected PAIR SOURCE TARGET S, such as 1 1 2 S")
        pair, source, target = map(int, found.group(1, 2, 3))
        if not 1 <= pair <= count:
            raise ValueError(f"{path}, line {number}: sentence pair {pair} does not exist; "
                             f"expected a number from 1 to {count:,}")
        links.append(Link(number, pair - 1, source, target, found[4] not in ("P", "p")))
    return links


def _start(links: Sequence[Link], pairs: Sequence[Pair], naacl: bool) -> int:
    """Return the number of a sentence's first word, 0 or 1. naacl: whether the format is NAACL."""
    from_zero = any(0 in (link.source, link.target) for link in links)
    if naacl:
        return 0 if from_zero and _fits(links, pairs, 0) else 1
    return 1 if not from_zero and not _fits(links, pairs, 0) and _fits(links, pairs, 1) else 0


def _fits(links: Sequence[Link], pairs: Sequence[Pair], start: int) -> bool:
    return all(_inside(link, pairs, start) for link in links)


def _inside(link: Link, pairs: Sequence[Pair], start: int) -> bool:
    pair = pairs[link.pair]
    return (0 <= link.source - start < len(pair.source)
            and 0 <= link.target - start < len(pair.target))


def _raise_outside(path: str | Path, link: Link, links: Sequence[Link], pairs: Sequence[Pair],
                   start: int) -> NoReturn:
    """Raise ValueError for a link outside its pair. start: the number of the first word, 0 or 1."""
    side, place = next((side, place) for side, place in
                       (("source", link.source), ("target", link.target))
                       if not 0 <= place - start < len(getattr(pairs[link.pair], side)))
    words = getattr(pairs[link.pair], side)
    sentence = " ".join(words[:SHOWN]) + " …" * (len(words) > SHOWN)
    swapped = [one._replace(source=one.target, target=one.source) for one in links]
    other = 1 - start
    reason = "Check that the links were made for these sentences, with the same tokenization"
    if _fits(links, pairs, other):
        reason = f"Every link fits if words are counted from {other}; set count_from = {other}"
    elif _fits(swapped, pairs, start) or _fits(swapped, pairs, other):
        reason = ("The first number of a link seems to be the target word. Swap source and target, "
                  "or swap the numbers with: sed -E 's/([0-9]+)([-p?])([0-9]+)/\\3\\2\\1/g' "
                  "(in NAACL format: awk '{t=$2; $2=$3; $3=t} 1')")
    raise ValueError(
        f"{path}, line {link.line}: {side} word {place} does not exist; sentence {link.pair + 1}, "
        f"{sentence!r}, has {plural(len(words), 'word')}, numbered from {start}. {reason}")
