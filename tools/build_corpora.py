"""Build the shipped corpora from the SWORD modules in three Debian packages, or count them.

    python tools/build_corpora.py FOLDER             read the packages extracted there (dpkg -x)
    python tools/build_corpora.py FOLDER --fetch     first download and extract them
    python tools/build_corpora.py --count            print the tables of the README of the corpora

FOLDER must contain, at any depth, the modules engKJV2006eb (sword-text-kjv), spaRV1909eb
(sword-text-sparv) and engWEB2015eb (sword-text-web). --fetch needs apt-get and dpkg. The modules
are read with pysword (pip install pysword). The files go to
numpy_attention/data/datasets/shipped, or to --output. The same modules give the same bytes. At the
end, the table of files in the README is printed. Their checksums are also in
numpy_attention/data/datasets/bible.py.

To make a line of bible-en-es from a King James and a Reina-Valera verse, both are parsed and
paired, their words are linked, and they are cut into clauses. A hash of the English words assigns
the verse to training, validation or test.

    parse_verse      markup → tokens, and for each token the Strong's tag that contains it
    align_verses     pair English with Spanish verses, also where the numbering differs
    link_words       equal Strong's numbers that occur equally often → sure and possible links
    cut_points       positions at punctuation on both sides that no link crosses
"""

import argparse
import hashlib
import lzma
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from numpy_attention.data.datasets.bible import LENGTHS, SPLITS, load_bible_en, load_bible_en_es

PACKAGES = ("sword-text-kjv", "sword-text-sparv", "sword-text-web")
ENGLISH = "engKJV2006eb"
SPANISH = "spaRV1909eb"
MODERN = "engWEB2015eb"
OUTPUT = Path(__file__).resolve().parents[1] / "numpy_attention" / "data" / "datasets" / "shipped"

# text after the last verse of the World English Bible
GLOSSARY = re.compile(r'<div\b[^>]*type="glossary".*', re.DOTALL)
TITLES = re.compile(r"<title\b.*?</title>", re.DOTALL)
# names of Hebrew letters that head the parts of Psalm 119 in the Spanish text
ACROSTIC = re.compile(r"^[A-Z]+\.? (?=[¿¡<])")

# A word, which may have inner hyphens and apostrophes and a final apostrophe ("fathers'"), or a
# punctuation mark.
WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*'?|[^\w\s]")
# Without a final apostrophe, because the World English Bible ends quotations with that character.
QUOTED_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]")
CLOSING = frozenset(",;:.?!)—")

# Notes, headings and speakers' names, but not canonical titles (of psalms), which belong to the
# text.
NOTES = re.compile(
    r"<note\b.*?</note>"
    r"|<speaker\b.*?</speaker>"
    r"|<title\b(?![^>]*canonical)[^>]*>.*?</title>", re.DOTALL)
# an unconverted marker (\nd), paragraph signs, editors' brackets
LEFTOVERS = re.compile(r"\\\w+\*?|[¶\[\]]")
INLINE = ("<q", "</q", "<seg", "</seg", "<divineName", "</divineName", "<foreign", "</foreign")

# Strong's numbers without a word in a translation: the Hebrew object marker and the Greek article.
UNLINKED = frozenset(("H0853", "G3588"))

# Added Spanish pronouns that are part of the verb before them ("oyéndo" + "lo"), and words before
# them that are not verbs.
PRONOUNS = frozenset("lo la los las le les me te se nos os".split())
NO_VERBS = frozenset("josué no jehová gentes dios que ellos como y cuánto os".split())


# ---- one verse ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verse:
    """A tokenized verse with its Strong's numbers."""

    tokens: tuple
    tags: tuple         # for each token the index of its tag, or None
    numbers: tuple      # for each tag its Strong's numbers


def parse_verse(markup, word=WORD):
    """Return the Verse of an OSIS string: lower-case words and punctuation with their tags."""
    pieces = re.split(r"(<[^>]+>)", LEFTOVERS.sub(" ", NOTES.sub(" ", markup)))
    text = ""
    owners = []                     # the tag of each character of the text
    numbers = []
    current = None
    for k, piece in enumerate(pieces):
        if not piece.startswith("<"):
            piece = plain_letters(piece, word)
            text += piece
            owners += [current] * len(piece)
        elif piece.startswith("<w "):
            found = re.search(r'lemma="([^"]*)"', piece)
            numbers.append(tuple(found[1].replace("strong:", "").split()) if found else ())
            current = len(numbers) - 1
        elif piece == "</w>":
            current = None
        elif not piece.startswith(INLINE) and not joins(piece, text, pieces[k + 1]):
            text += " "
            owners.append(None)
    tokens = []
    tags = []
    for match in word.finditer(text):
        token = match[0]
        under = [owner for owner in owners[slice(*match.span())] if owner is not None]
        tokens.append(token)
        tags.append(under[0] if under and token[0].isalnum() else None)
    return Verse(tuple(tokens), tuple(tags), tuple(numbers))


def plain_letters(text, word):
    """Lower-case a text, expand ligatures and straighten apostrophes, but keep closing quotes."""
    text = text.lower().replace("æ", "ae")
    if word is WORD:
        return text.replace("’", "'")
    return re.sub(r"(?<=\w)’(?=\w)", "'", text)


def joins(tag, before, added):
    """Return whether an added word is a Spanish pronoun that is attached to the verb before it."""
    if not tag.startswith("<transChange"):
        return False
    last = re.search(r"\w*$", before)[0]
    return last != "" and last not in NO_VERBS and added.lower() in PRONOUNS


def without_subscription(verse):
    """Return the verse without the note on where a letter was written, after the last "amén"."""
    ends = [i for i, token in enumerate(verse.tokens) if token == "amén"]
    if not ends or not {"escrita", "enviada"} & set(verse.tokens[ends[-1]:]):
        return verse
    stop = ends[-1] + 2
    return Verse(verse.tokens[:stop], verse.tags[:stop], verse.numbers)


# ---- two verses --------------------------------------------------------------------------------


def occurrences(verse):
    """Return {Strong's number: [positions of the words under its first tag, second tag, …]}."""
    words = defaultdict(list)
    for i, tag in enumerate(verse.tags):
        if tag is not None:
            words[tag].append(i)
    found = defaultdict(list)
    for tag in sorted(words):
        for number in dict.fromkeys(verse.numbers[tag]):
            if number not in UNLINKED:
                found[number].append(words[tag])
    return found


def link_words(english, spanish):
    """Return the sure and the possible links of two verses.

    If a number occurs equally often in both, its k-th tags are linked. The link is sure if each tag
    has one word. Otherwise all pairs of their words are possible links. Possible links include sure
    ones.
    """
    left = occurrences(english)
    right = occurrences(spanish)
    sure = set()
    possible = set()
    for number, tags in left.items():
        if len(tags) == len(right.get(number, ())):
            for a, b in zip(tags, right[number]):
                possible.update((i, j) for i in a for j in b)
                if len(a) == len(b) == 1:
                    sure.add((a[0], b[0]))
    return sure, possible


def likeness(english, spanish):
    """Return the Dice coefficient of the Strong's numbers of two verses, from 0 to 1."""
    a = Counter({number: len(tags) for number, tags in occurrences(english).items()})
    b = Counter({number: len(tags) for number, tags in occurrences(spanish).items()})
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0


def fits(english, spanish):
    """Return whether two verses have similar lengths or similar Strong's numbers."""
    a, b = sorted((len(english.tokens), len(spanish.tokens)))
    return b - a <= 5 + 0.4 * a or likeness(english, spanish) >= 0.75


def align_verses(english, spanish, reach=5, clearly=0.25):
    """Pair two lists of (reference, Verse) as [(reference, English verse, Spanish verse)].

    Both lists are in the same order, but a few chapters are numbered differently. The namesake of a
    verse is the Spanish verse with the same reference. A verse is displaced if a Spanish verse
    within `reach` positions has a likeness of at least 0.5 that exceeds that of the namesake by at
    least `clearly`. A displaced verse is paired with the free verse of the largest likeness, at
    least 0.6. Any other verse is paired with its namesake if that is free and has a likeness of at
    least 0.3. Pairs that do not fit are left out, mostly because one Bible joins verses that the
    other divides.
    """
    partner = {}
    candidates = []
    namesakes = []
    for i, (_, verse) in enumerate(english):
        own = likeness(verse, spanish[i][1])
        others = []
        if own < 0.75:
            near = range(max(0, i - reach), min(len(spanish), i + reach + 1))
            others = [(likeness(verse, spanish[j][1]), j) for j in near]
        if others and max(others)[0] >= max(0.5, own + clearly):
            candidates += [(-other, i, j) for other, j in others if other >= 0.6]
        elif own >= 0.3:
            partner[i] = i
        if own >= 0.3:
            namesakes.append(i)
    taken = set(partner)
    for _, i, j in sorted(candidates):
        if i not in partner and j not in taken:
            partner[i] = j
            taken.add(j)
    partner.update((i, i) for i in namesakes if i not in partner and i not in taken)
    pairs = [(english[i][0], english[i][1], spanish[j][1]) for i, j in sorted(partner.items())]
    return [pair for pair in pairs if fits(pair[1], pair[2])]


def cut_points(english, spanish, possible):
    """Return [(i, j)] where both token sequences can be cut: after punctuation, crossing no link.

    Cuts between the same links are interchangeable. They are paired in order if both sides have the
    same number of them, and left out otherwise. The ends of the verse are not included.
    """
    groups = defaultdict(lambda: ([], []))
    for side, tokens in enumerate((english, spanish)):
        for i in range(1, len(tokens)):
            if tokens[i - 1] in CLOSING and tokens[i] not in CLOSING:
                left = frozenset(link for link in possible if link[side] < i)
                groups[left][side].append(i)
    return sorted(cut for a, b in groups.values() if len(a) == len(b) for cut in zip(a, b))


# ---- splits and lines --------------------------------------------------------------------------


def words_of(tokens):
    """Return the tokens without punctuation, joined by spaces. `split_of` hashes this text."""
    return " ".join(token for token in tokens if token[0].isalnum())


def split_of(key, percent):
    """Return the split of a text, which its SHA-256 value determines.

    It is "test" for the lowest `percent` of values, "valid" for the next `percent`, else "train".
    """
    digest = hashlib.sha256(key.encode("utf-8")).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64 * 100
    if share < percent:
        return "test"
    return "valid" if share < 2 * percent else "train"


def parallel_lines(pairs, percent=2.3):
    """Return {split: lines of bible-en-es} for [(reference, English verse, Spanish verse)].

    The hash of its English words determines the split of a verse. Its clauses are in the same
    split, but a clause is withheld (marked "!") if its English words also occur as a clause in
    another split.
    """
    rows = []
    homes = defaultdict(set)                # the splits of each clause's English words
    for reference, english, spanish in pairs:
        sure, possible = link_words(english, spanish)
        ends = cut_points(english.tokens, spanish.tokens, possible)
        ends.append((len(english.tokens), len(spanish.tokens)))
        starts = [(0, 0)] + ends[:-1]
        keys = [words_of(english.tokens[start[0]:end[0]]) for start, end in zip(starts, ends)]
        split = split_of(words_of(english.tokens), percent)
        for key in keys:
            homes[key].add(split)
        links = " ".join(f"{i}{'-' if (i, j) in sure else 'p'}{j}" for i, j in sorted(possible))
        fields = (reference, " ".join(english.tokens), " ".join(spanish.tokens), links)
        rows.append((split, fields, list(zip(ends, keys))))
    lines = {split: [] for split in SPLITS}
    for split, fields, clauses in rows:
        ends = " ".join(f"{i}-{j}{'!' if len(homes[key]) > 1 else ''}" for (i, j), key in clauses)
        lines[split].append("\t".join((*fields, ends)))
    return lines


def chapter_lines(verses, percent=5.0):
    """Return {split: lines of bible-en}: one verse per line, an empty line between chapters.

    A hash of "BOOK CHAPTER" determines the split of a chapter.
    """
    chapters = defaultdict(list)
    for reference, verse in verses:
        if verse.tokens:
            chapters[reference.split(":")[0]].append(" ".join(verse.tokens))
    lines = {split: [] for split in SPLITS}
    for chapter, text in chapters.items():
        target = lines[split_of(chapter, percent)]
        if target:
            target.append("")
        target += text
    return lines


# ---- modules and files -------------------------------------------------------------------------


def read_module(folder, name):
    """Return {reference, such as "Gen 1:1": OSIS markup} of a SWORD module under a folder."""
    from pysword.modules import SwordModules

    found = sorted(Path(folder).rglob(f"mods.d/{name}.conf"))
    if not found:
        packages = ", ".join(PACKAGES)
        raise FileNotFoundError(
            f"no mods.d/{name}.conf under {folder}: extract {packages} there, or use --fetch")
    modules = SwordModules(str(found[0].parent.parent))
    modules.parse_modules()
    bible = modules.get_bible_from_module(name)
    # without a cache, each verse would decompress its whole book
    bible._decompressed_text = lru_cache(maxsize=2)(bible._decompressed_text)
    verses = {}
    for books in bible.get_structure().get_books().values():
        for book in books:
            for chapter, length in enumerate(book.chapter_lengths, start=1):
                for verse in range(1, length + 1):
                    text = bible.get(
                        books=[book.name], chapters=[chapter], verses=[verse], clean=False)
                    verses[f"{book.osis_name} {chapter}:{verse}"] = text
    return verses


def fetch(folder):
    """Download the three Debian packages into a folder and extract them there."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True)
    for archive in sorted(folder.glob("sword-text-*.deb")):
        subprocess.run(["dpkg", "-x", archive.name, "."], cwd=folder, check=True)


def parallel_verses(english, spanish):
    """Return [(reference, English verse, Spanish verse)] for the markup of both Bibles."""
    left = []
    right = []
    for reference, markup in english.items():
        left.append((reference, parse_verse(markup)))
        rendering = spanish[reference]
        if reference.startswith("Ps 119:"):
            rendering = ACROSTIC.sub("", rendering)
        right.append((reference, without_subscription(parse_verse(rendering))))
    pairs = align_verses(left, right)
    print(f"{len(left)} English verses, {len(pairs)} paired with a Spanish one")
    return pairs


def modern_verses(modern, canon):
    """Return [(reference, verse)] for the World English Bible's markup, for books in `canon`."""
    verses = []
    for reference, markup in modern.items():
        if reference.split(" ")[0] in canon:
            body = TITLES.sub(" ", GLOSSARY.sub("", markup))
            verses.append((reference, parse_verse(body, QUOTED_WORD)))
    return verses


def build(folder):
    """Return {file name: text} of all shipped files."""
    english = read_module(folder, ENGLISH)
    spanish = read_module(folder, SPANISH)
    modern = read_module(folder, MODERN)
    canon = {reference.split(" ")[0] for reference in english}
    corpora = {
        "bible-en-es": parallel_lines(parallel_verses(english, spanish)),
        "bible-en": chapter_lines(modern_verses(modern, canon)),
    }
    return {f"{name}.{split}.txt.xz": "\n".join(lines[split]) + "\n"
            for name, lines in corpora.items() for split in SPLITS}


# ---- counts ------------------------------------------------------------------------------------


def crosses(links):
    """Return whether two of the links cross: their order differs on the target side."""
    links = sorted(links)
    for k, (a, b) in enumerate(links):
        if any(a < c and b > d for c, d in links[k + 1:]):
            return True
    return False


def parallel_row(part, split, pairs):
    """Format a row of the table on bible-en-es for a list of Pairs."""
    english = [token for pair in pairs for token in pair.source]
    spanish = [token for pair in pairs for token in pair.target]
    sure = [link for pair in pairs for link in pair.sure]
    possible = sum(len(pair.possible) for pair in pairs)
    numbers = (len(pairs), len(english), len(spanish), len(set(english)), len(set(spanish)),
               len(sure), possible)
    monotone = sum(i == j for i, j in sure) / len(sure)
    several = [pair.sure for pair in pairs if len(pair.sure) > 1]
    crossing = sum(map(crosses, several)) / len(several)
    cells = [part, split, *(f"{number:,}" for number in numbers)]
    cells += [f"{monotone:.1%}", f"{crossing:.1%}"]
    return row(cells)


def running_row(split, chapters):
    """Format a row of the table on bible-en for a list of chapters."""
    tokens = [token for chapter in chapters for verse in chapter for token in verse]
    verses = sum(map(len, chapters))
    numbers = (len(chapters), verses, len(tokens), len(set(tokens)))
    return row([split, *(f"{number:,}" for number in numbers)])


def row(cells):
    return f"| {' | '.join(cells)} |"


def readme_rows():
    """Return the rows of both tables. The last row of each corpus or part is for all its splits."""
    rows = []
    for part in LENGTHS:
        loaded = {split: load_bible_en_es(part, split) for split in SPLITS}
        loaded["all"] = sum(loaded.values(), [])
        rows += [parallel_row(part, split, pairs) for split, pairs in loaded.items()]
    loaded = {split: load_bible_en(split) for split in SPLITS}
    loaded["all"] = sum(loaded.values(), [])
    rows += [running_row(split, chapters) for split, chapters in loaded.items()]
    return rows


# ---- the command --------------------------------------------------------------------------------


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description="Build the shipped corpora from SWORD modules, or count them.")
    parser.add_argument("folder", type=Path, nargs="?",
                        help="folder with the extracted Debian packages")
    parser.add_argument("--fetch", action="store_true",
                        help="download and extract the packages into the folder first")
    parser.add_argument("--output", type=Path, default=OUTPUT,
                        help="where the files go (default: %(default)s)")
    parser.add_argument("--count", action="store_true",
                        help="print the tables of the README, and build nothing")
    options = parser.parse_args(arguments)
    if options.count:
        print("\n".join(readme_rows()))
        return 0
    if options.folder is None:
        parser.error("name the folder with the extracted packages, or use --count")
    if options.fetch:
        fetch(options.folder)
    files = build(options.folder)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        data = lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME)
        (options.output / name).write_bytes(data)
        print(f"| {name} | {len(data):,} | {hashlib.sha256(data).hexdigest()} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
