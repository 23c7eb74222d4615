"""The shipped corpora: bible-en-es, parallel text with gold word links, and bible-en, running text.

shipped/README.md describes files, counts, provenance and the split rule. Each file is xz-compressed
UTF-8 text.

bible-en-es has one pair of verses per line, with five fields separated by tabs:

    Gen 1:3   and god said , let there ...  y dijo dios : sea ...   1-2 2p0 2p1 ...   4-4! 9-8 14-13

The fields are the reference, the English tokens, the Spanish tokens, the links, and the ends of the
clauses. A link joins a source and a target position by "-" if it is sure and by "p" if it is
possible. For each clause, the last field has its end in both languages, as source-target. "!" marks
a clause that part "clauses" omits, because its English words are also a clause in another split.

bible-en has one verse per line, with spaces between tokens and an empty line between chapters.
"""

import functools
import gc
import hashlib
import lzma
from importlib import resources

from numpy_attention.data.pairs import Pair
from numpy_attention.data.splits import SPLITS
from numpy_attention.validation.arguments import check_name
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


@functools.cache  # few texts are parsed many times
def link_of(text: str) -> Link:
    """Parse a link: "3-4" (sure) gives (3, 4, True), and "3p4" (possible) gives (3, 4, False)."""
    sure = "-" in text
    i, j = text.split("-" if sure else "p")
    return int(i), int(j), sure


@functools.cache
def end_of(text: str) -> End:
    """Parse a clause end: "5-4" gives (5, 4, True), and "5-4!" (omitted) gives (5, 4, False)."""
    i, j = text.removesuffix("!").split("-")
    return int(i), int(j), not text.endswith("!")


def load_bible_en_es(part: str = "clauses", split: str = "train", min_length: int | None = None,
                     max_length: int | None = None) -> list[Pair]:
    """Return the sentence pairs of bible-en-es as a list of Pair, in the order of the Bible.

    part: "clauses" (by default 3 to 12 tokens in each sentence) or "verses" (up to 50). split:
    "train", "valid" or "test". min_length, max_length: the minimum and maximum number of tokens of
    each sentence, including punctuation. Raises ValueError for an unknown part or split,
    impossible lengths, or a damaged file.
    """
    check_name("part", part, LENGTHS)
    at_least(1, min_length=min_length, max_length=max_length)
    low = min_length or LENGTHS[part][0]
    high = max_length or LENGTHS[part][1]
    if low > high:
        raise ValueError(f"min_length = {low} and max_length = {high}; expected 1 ≤ min_length ≤ "
                         "max_length")
    text = read_shipped("bible-en-es", split)
    collecting = gc.isenabled()
    gc.disable()  # collecting many new objects, none of them garbage, takes a third of the time
    try:
        return parse_pairs(text, part, low, high)
    finally:
        if collecting:
            gc.enable()


def load_both(split: str = "train", min_length: int | None = None,
              max_length: int | None = None) -> list[Pair]:
    """Return the clauses of bible-en-es, then the verses, so that most of the text occurs twice."""
    parts = [load_bible_en_es(part, split, min_length, max_length) for part in LENGTHS]
    return [pair for part in parts for pair in part]


def load_bible_en(split: str = "train") -> list[list[list[str]]]:
    """Return bible-en as chapters, which are lists of verses, which are lists of tokens."""
    chapters = read_shipped("bible-en", split).rstrip("\n").split("\n\n")
    return [[verse.split(" ") for verse in chapter.split("\n")] for chapter in chapters]


def read_shipped(corpus: str, split: str) -> str:
    """Return the text of a shipped file, after checking that its SHA-256 is correct.

    Raises FileNotFoundError for a missing file, ValueError for a damaged file or an unknown split.
    """
    check_name("split", split, SPLITS)
    name = f"{corpus}.{split}.txt.xz"
    path = resources.files("numpy_attention.data.datasets") / "shipped" / name
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is missing, although it is part of numpy_attention; "
                                "reinstall the package") from None
    found = hashlib.sha256(data).hexdigest()
    if found != CHECKSUMS[name]:
        raise ValueError(f"{path} is damaged: its SHA-256 begins with {found[:12]}; expected "
                         f"{CHECKSUMS[name][:12]}. Reinstall numpy_attention, or rebuild the file "
                         "with tools/build_corpora.py")
    return lzma.decompress(data).decode("utf-8")


def parse_pairs(text: str, part: str, low: int, high: int) -> list[Pair]:
    """Parse a bible-en-es file; return the pairs with `low` to `high` tokens in each sentence."""
    pairs: list[Pair] = []
    for line in text.splitlines():
        _, english, spanish, links, ends = line.split("\t")
        source = tuple(english.split(" "))
        target = tuple(spanish.split(" "))
        clauses = [end_of(end) for end in ends.split()]
        if part == "verses":
            clauses = [(len(source), len(target), True)]
        linked = [link_of(link) for link in links.split()]
        pairs += clause_pairs(source, target, linked, clauses, low, high)
    return pairs


def clause_pairs(source: Tokens, target: Tokens, linked: list[Link], ends: list[End], low: int,
                 high: int) -> list[Pair]:
    """Return Pairs for those clauses of a verse that have `low` to `high` tokens in each language.

    linked: the links of the verse, ordered by source position. ends: the results of `end_of`.
    """
    pairs = []
    a = b = k = 0
    for c, d, offered in ends:
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
