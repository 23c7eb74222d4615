"""The shipped corpora: bible-en-es, parallel text with gold word links, and bible-en, running text.

Files, counts, provenance and the split rule are described in shipped/README.md. Each file is
xz-compressed UTF-8 text.

bible-en-es, one verse pair a line, five fields separated by tabs:

    Gen 1:3   and god said , let there ...  y dijo dios : sea ...   1-2 2p0 2p1 ...   4-4! 9-8 14-13

reference; English tokens; Spanish tokens; links (source position, target position), "-" sure and
"p" possible; and the positions at which the clauses end, one pair for each clause, "!" after a
clause that is withheld from the clause part because its English words are a clause of a verse in
another split too.

bible-en, one verse a line, tokens separated by spaces, an empty line between chapters.
"""

import functools
import gc
import hashlib
import lzma
import re
from importlib import resources

from numpy_attention.validation.arguments import check_name
from numpy_attention.data.pairs import Pair
from numpy_attention.data.splits import SPLITS
from numpy_attention.validation.arrays import at_least

# part: least and largest number of tokens on either side
LENGTHS = {"clauses": (3, 12), "verses": (1, 50)}

CHECKSUMS = {
    "bible-en-es.train.txt.xz": "850ea18a35cc01a2fb63e3588a57bc48b6b1682ef81c2474f789a105b8872506",
    "bible-en-es.valid.txt.xz": "15a3b4edfc0728865e3ae2bd4407b6ac986a1e1f7abf6ec9316f4fe9b8c0c86d",
    "bible-en-es.test.txt.xz": "25dd5d0b0cf51582a51453244e8683b9a228d004695683ef18de7a28ec271f07",
    "bible-en.train.txt.xz": "0ddd72910d7aa06319e664197620578f63f8dba081b81911685999f97be57320",
    "bible-en.valid.txt.xz": "a542d43fad3a1ca749a0ac517a2c8020e3f11f04236601f28aa8f6eeb1473c9e",
    "bible-en.test.txt.xz": "ec90824f043c69f88399b2d2c18f8d0875bad8f1d3ba02faf604e7489f53a7ca",
}

Tokens = tuple[str, ...]
Link = tuple[int, int, bool]  # source position, target position, whether it is sure
End = tuple[int, int, bool]  # source end, target end, whether the clause is offered


LINK = re.compile(r"(\d+)([-p])(\d+)", re.ASCII)
END = re.compile(r"(\d+)-(\d+)(!?)", re.ASCII)


@functools.cache  # few texts, many times
def link_of(text: str) -> Link:
    """Text of a link ("3-4", "3p4") → Link."""
    found = LINK.fullmatch(text)
    if found is None:
        raise ValueError(f"link {text!r} is not of the form 3-4 (sure) or 3p4 (possible)")
    return int(found[1]), int(found[3]), found[2] == "-"


@functools.cache
def end_of(text: str) -> End:
    """Text of a clause's end ("5-4", "5-4!") → End."""
    found = END.fullmatch(text)
    if found is None:
        raise ValueError(f"clause end {text!r} is not of the form 5-4 or 5-4!")
    return int(found[1]), int(found[2]), not found[3]


def load_bible_en_es(
    part: str = "clauses",
    split: str = "train",
    min_length: int | None = None,
    max_length: int | None = None,
) -> list[Pair]:
    """Sentence pairs of bible-en-es as a list of Pair, in the order of the Bible.

    part: "clauses" (by default 3 to 12 tokens on both sides) or "verses" (up to 50). split:
    "train", "valid" or "test". min_length, max_length: least and largest number of tokens,
    punctuation included, that both sides may have. Raises ValueError for an unknown part or split,
    impossible lengths, and for a damaged file (name and line).
    """
    check_name("part", part, LENGTHS)
    at_least(1, min_length=min_length, max_length=max_length)
    low, high = LENGTHS[part]
    if min_length is not None:
        low = min_length
    if max_length is not None:
        high = max_length
    if not 1 <= low <= high:
        raise ValueError(
            f"lengths must satisfy 1 <= min_length <= max_length, got {low} and {high}"
        )
    name = file_name("bible-en-es", split)
    text = read_shipped(name)
    collecting = gc.isenabled()
    gc.disable()  # many thousands of new objects and no garbage among them: a third of the time
    try:
        return parse_pairs(text, name, part, low, high)
    finally:
        if collecting:
            gc.enable()


def load_both(
    split: str = "train", min_length: int | None = None, max_length: int | None = None
) -> list[Pair]:
    """The clauses and then the verses, each as `load_bible_en_es` has them: a text of all lengths.

    A verse comes whole, and what `load_bible_en_es` takes of its clauses once more.
    """
    parts = [load_bible_en_es(part, split, min_length, max_length) for part in LENGTHS]
    return [pair for part in parts for pair in part]


def load_bible_en(split: str = "train") -> list[list[list[str]]]:
    """Running English text: a list of chapters, each a list of verses, each a list of tokens."""
    return parse_chapters(read_shipped(file_name("bible-en", split)))


def file_name(corpus: str, split: str) -> str:
    """Name of the shipped file that holds a split of a corpus."""
    check_name("split", split, SPLITS)
    return f"{corpus}.{split}.txt.xz"


def read_shipped(name: str) -> str:
    """Text of a shipped file, after its SHA-256 is compared with the known one.

    Raises FileNotFoundError when the file is missing and ValueError when it is damaged; both say
    what to do.
    """
    path = resources.files("numpy_attention.data.datasets") / "shipped" / name
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is missing: it ships with numpy_attention, install that again"
        ) from None
    found = hashlib.sha256(data).hexdigest()
    if found != CHECKSUMS[name]:
        raise ValueError(
            f"{path} is damaged: its SHA-256 is {found}, expected {CHECKSUMS[name]}; install "
            "numpy_attention again, or rebuild the file with tools/build_corpora.py"
        )
    return lzma.decompress(data).decode("utf-8")


def parse_chapters(text: str) -> list[list[list[str]]]:
    """Chapters of the text of a bible-en file: lists of verses, which are lists of tokens."""
    chapters = text.rstrip("\n").split("\n\n")
    return [[verse.split(" ") for verse in chapter.split("\n")] for chapter in chapters]


def parse_pairs(text: str, name: str, part: str, low: int, high: int) -> list[Pair]:
    """Pairs of the lines of a bible-en-es file whose two lengths lie between low and high.

    Raises ValueError naming file and line for a line that breaks the format of this module's
    docstring.
    """
    pairs: list[Pair] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            fields = line.split("\t")
            if len(fields) != 5:
                raise ValueError(f"{len(fields)} fields, expected 5 separated by tabs")
            source = tuple(fields[1].split(" "))
            target = tuple(fields[2].split(" "))
            linked = [link_of(link) for link in fields[3].split()]
            cuts = [end_of(end) for end in fields[4].split()]
            check_line(source, target, linked, cuts)
            if part == "verses":
                cuts = [(len(source), len(target), True)]
            pairs += cut_pairs(source, target, linked, cuts, low, high)
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}") from None
    return pairs


def check_line(source: Tokens, target: Tokens, linked: list[Link], cuts: list[End]) -> None:
    """Check that no token is empty, links lie inside, and clause ends grow up to the lengths.

    Raises ValueError where they do not.
    """
    if "" in source or "" in target:
        raise ValueError("empty token: tokens are separated by single spaces")
    if linked and (linked[-1][0] >= len(source) or max(j for _, j, _ in linked) >= len(target)):
        raise ValueError(
            f"a link points outside of {len(source)} source and {len(target)} target tokens"
        )
    last = (0, 0)
    for c, d, _ in cuts:
        if c <= last[0] or d <= last[1]:
            raise ValueError(f"clause end {c}-{d} does not come after {last[0]}-{last[1]}")
        last = (c, d)
    if last != (len(source), len(target)):
        raise ValueError(
            f"the last clause ends at {last[0]}-{last[1]}, expected {len(source)}-{len(target)}"
        )


def cut_pairs(
    source: Tokens, target: Tokens, linked: list[Link], cuts: list[End], low: int, high: int
) -> list[Pair]:
    """Pairs for the clauses of a line that are offered and whose lengths lie between low and high.

    Links come by source position and none crosses a cut, so each clause takes the next few, counted
    from its start. A clause is source[a:c] and target[b:d]; k counts the links.
    """
    pairs = []
    a = b = k = 0
    for c, d, offered in cuts:
        first = k
        while k < len(linked) and linked[k][0] < c:
            k += 1
        if offered and low <= c - a <= high and low <= d - b <= high:
            inside = linked[first:k]
            sure = frozenset([(i - a, j - b) for i, j, is_sure in inside if is_sure])
            possible = frozenset([(i - a, j - b) for i, j, _ in inside])
            pairs.append(Pair(source[a:c], target[b:d], sure, possible))
        a = c
        b = d
    return pairs
