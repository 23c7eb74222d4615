"""Build the shipped corpora from the SWORD modules in three Debian packages.

    python tools/build_corpora.py FOLDER             FOLDER holds the extracted packages (dpkg -x)
    python tools/build_corpora.py FOLDER --fetch     first downloads and extracts them there (apt-get, dpkg)

FOLDER must hold, at any depth, the modules engKJV2006eb (sword-text-kjv), spaRV1909eb (sword-text-sparv) and
engWEB2015eb (sword-text-web). They are read with pysword (pip install pysword). The files go to
numpy_attention/data/shipped, or to --output; the same modules give the same bytes. What is printed at the end is the
table of files in the README there; the checksums stand in numpy_attention/data/bible.py as well.
tools/count_corpora.py counts what is in the files.

From a King James and a Reina-Valera verse to a line of bible-en-es:

    parse_verse      OSIS markup → tokens, and for each token the Strong's tag that it stands under
    align_verses     which Spanish verse renders which English one, where the two Bibles count verses differently
    link_words       equal Strong's numbers that occur equally often on both sides → sure and possible links
    cut_points       places at punctuation on both sides that no link crosses → clauses
    split_of         train, valid or test by a hash of the English words
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

PACKAGES = ("sword-text-kjv", "sword-text-sparv", "sword-text-web")
ENGLISH, SPANISH, MODERN = "engKJV2006eb", "spaRV1909eb", "engWEB2015eb"
SPLITS = ("train", "valid", "test")
OUTPUT = Path(__file__).resolve().parent.parent / "numpy_attention" / "data" / "shipped"

# A word: letters or digits, inner hyphens and apostrophes, and one at its end ("fathers'"); else a punctuation mark.
WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*'?|[^\w\s]")
# Without the last apostrophe: the World English Bible quotes speech, and its closing mark is the same character.
QUOTED_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]")
CLOSING = frozenset(",;:.?!)—")

# Not the Bible's text: notes, headings, speakers' names. Canonical titles (of psalms) are the Bible's and stay.
NOTES = re.compile(r"<note\b.*?</note>|<speaker\b.*?</speaker>|<title\b(?![^>]*canonical)[^>]*>.*?</title>", re.DOTALL)
GLOSSARY = re.compile(r'<div\b[^>]*type="glossary".*', re.DOTALL)  # follows the last verse of the World English Bible
TITLES = re.compile(r"<title\b.*?</title>", re.DOTALL)
ACROSTIC = re.compile(r"^[A-Z]+\.? (?=[¿¡<])")  # Hebrew letters above the parts of Psalm 119, within the Spanish text
LEFTOVERS = re.compile(r"\\\w+\*?|[¶\[\]]")  # an unconverted marker (\nd), paragraph signs, editors' brackets
INLINE = ("<q", "</q", "<seg", "</seg", "<divineName", "</divineName", "<foreign", "</foreign")

# Strong's numbers that stand for no word of a translation: the Hebrew object marker and the Greek article.
UNLINKED = frozenset(("H0853", "G3588"))

# Spanish added pronouns that belong to the verb before them ("oyéndo" + "lo"), and words before them that are no verb.
PRONOUNS = frozenset("lo la los las le les me te se nos os".split())
NO_VERBS = frozenset("josué no jehová gentes dios que ellos como y cuánto os".split())


@dataclass(frozen=True)
class Verse:
    """Tokens; for each the number of its tag, or None; and for each tag its Strong's numbers."""

    tokens: tuple
    tags: tuple
    numbers: tuple


def parse_verse(markup, word=WORD):
    """Verse of an OSIS string: lower-cased tokens, words and punctuation apart, each with the tag it stands under."""
    pieces = re.split(r"(<[^>]+>)", LEFTOVERS.sub(" ", NOTES.sub(" ", markup)))
    text, owners, numbers, current = "", [], [], None
    for k, piece in enumerate(pieces):
        if not piece.startswith("<"):
            piece = piece.lower().replace("æ", "ae")
            piece = piece.replace("’", "'") if word is WORD else re.sub(r"(?<=\w)’(?=\w)", "'", piece)
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
    tokens, tags = [], []
    for match in word.finditer(text):
        tokens.append(match[0])
        under = [owner for owner in owners[slice(*match.span())] if owner is not None]
        tags.append(under[0] if under and match[0][0].isalnum() else None)
    return Verse(tuple(tokens), tuple(tags), tuple(numbers))


def joins(tag, before, added):
    """Whether an added word continues the word before it: a Spanish pronoun set tight after a verb."""
    last = re.search(r"\w*$", before)[0]
    return tag.startswith("<transChange") and bool(last) and added.lower() in PRONOUNS and last not in NO_VERBS


def without_subscription(verse):
    """The verse without the note on where a letter was written, which the Spanish text sets after its last "amén"."""
    ends = [i for i, token in enumerate(verse.tokens) if token == "amén"]
    if not ends or not {"escrita", "enviada"} & set(verse.tokens[ends[-1]:]):
        return verse
    stop = ends[-1] + 2
    return Verse(verse.tokens[:stop], verse.tags[:stop], verse.numbers)


def occurrences(verse):
    """{Strong's number: [positions of the words under its first tag, under its second, ...]}."""
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
    """(sure, possible) links of two verses: numbers that occur equally often link their k-th tag to the k-th.

    A tag of one word to a tag of one word is a sure link; where a tag covers several, all pairs of their words are
    possible. Possible links contain the sure ones.
    """
    left, right = occurrences(english), occurrences(spanish)
    sure, possible = set(), set()
    for number, tags in left.items():
        if len(tags) == len(right.get(number, ())):
            for a, b in zip(tags, right[number]):
                possible.update((i, j) for i in a for j in b)
                if len(a) == len(b) == 1:
                    sure.add((a[0], b[0]))
    return sure, possible


def likeness(english, spanish):
    """Dice coefficient of the two verses' Strong's numbers: 0 for none in common, 1 for the same ones equally often."""
    a, b = ({n: len(tags) for n, tags in occurrences(verse).items()} for verse in (english, spanish))
    total = sum(a.values()) + sum(b.values())
    return 2 * sum((Counter(a) & Counter(b)).values()) / total if total else 0.0


def fits(english, spanish):
    """Whether two verses can be the same: their lengths differ little, or their Strong's numbers agree well."""
    a, b = sorted((len(english.tokens), len(spanish.tokens)))
    return b - a <= 5 + 0.4 * a or likeness(english, spanish) >= 0.75


def align_verses(english, spanish, reach=5, clearly=0.25):
    """[(reference, English verse, Spanish verse)]: two lists of (reference, Verse) in the same order, matched.

    A few chapters are numbered differently. A verse is displaced when some Spanish verse within `reach` positions is
    alike by at least 0.5, and by `clearly` more than its namesake. A displaced verse is paired with the most alike one
    that is no other verse's partner, from a likeness of 0.6; every other verse with its namesake, from 0.3, if that is
    still free. Pairs that do not fit, mostly because one Bible joins what the other divides, are left out.
    """
    partner, candidates, namesakes = {}, [], []
    for i, (_, verse) in enumerate(english):
        own = likeness(verse, spanish[i][1])
        near = range(max(0, i - reach), min(len(spanish), i + reach + 1)) if own < 0.75 else ()
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
    """[(i, j)]: both token sequences can be cut before positions i and j, at punctuation, and no link crosses.

    Cuts between the same links are interchangeable, so they are paired in order where both sides have equally many,
    and not used otherwise. The ends of the verse, (0, 0) and the two lengths, are not among the points.
    """
    groups = defaultdict(lambda: ([], []))
    for side, tokens in enumerate((english, spanish)):
        for i in range(1, len(tokens)):
            if tokens[i - 1] in CLOSING and tokens[i] not in CLOSING:
                left = frozenset(link for link in possible if link[side] < i)
                groups[left][side].append(i)
    return sorted(cut for a, b in groups.values() if len(a) == len(b) for cut in zip(a, b))


def words_of(tokens):
    """The tokens without punctuation, joined by spaces: what the split is decided by."""
    return " ".join(token for token in tokens if token[0].isalnum())


def split_of(key, percent):
    """"test" for the lowest `percent` of the SHA-256 values of a text, "valid" for the next `percent`, else "train"."""
    share = int.from_bytes(hashlib.sha256(key.encode("utf-8")).digest()[:8], "big") / 2**64 * 100
    return "test" if share < percent else "valid" if share < 2 * percent else "train"


def parallel_lines(pairs, percent=2.3):
    """{split: lines of bible-en-es} for aligned verses [(reference, English verse, Spanish verse)].

    A verse goes where the hash of its English words says. A clause goes with its verse, but is withheld (marked "!")
    when its English words are a clause of a verse in another split too.
    """
    rows, homes = [], defaultdict(set)
    for reference, english, spanish in pairs:
        sure, possible = link_words(english, spanish)
        ends = cut_points(english.tokens, spanish.tokens, possible) + [(len(english.tokens), len(spanish.tokens))]
        keys = [words_of(english.tokens[a:b]) for a, b in zip([0] + [i for i, _ in ends], [i for i, _ in ends])]
        split = split_of(words_of(english.tokens), percent)
        for key in keys:
            homes[key].add(split)
        rows.append((split, reference, english, spanish, sure, possible, list(zip(ends, keys))))
    lines = {split: [] for split in SPLITS}
    for split, reference, english, spanish, sure, possible, clauses in rows:
        links = " ".join(f"{i}{'-' if (i, j) in sure else 'p'}{j}" for i, j in sorted(possible))
        ends = " ".join(f"{i}-{j}{'!' if len(homes[key]) > 1 else ''}" for (i, j), key in clauses)
        lines[split].append("\t".join((reference, " ".join(english.tokens), " ".join(spanish.tokens), links, ends)))
    return lines


def chapter_lines(verses, percent=5.0):
    """{split: lines of bible-en}: a verse a line, an empty line between chapters, split by a hash of "BOOK CHAPTER"."""
    chapters = defaultdict(list)
    for reference, verse in verses:
        if verse.tokens:
            chapters[reference.split(":")[0]].append(" ".join(verse.tokens))
    lines = {split: [] for split in SPLITS}
    for chapter, text in chapters.items():
        target = lines[split_of(chapter, percent)]
        target += [""] * bool(target) + text
    return lines


def read_module(folder, name):
    """{reference "Gen 1:1": OSIS markup} of a SWORD module somewhere under a folder, all books."""
    from pysword.modules import SwordModules

    found = sorted(Path(folder).rglob(f"mods.d/{name}.conf"))
    if not found:
        packages = ", ".join(PACKAGES)
        raise FileNotFoundError(f"no mods.d/{name}.conf under {folder}: extract {packages} there, or use --fetch")
    modules = SwordModules(str(found[0].parent.parent))
    modules.parse_modules()
    bible = modules.get_bible_from_module(name)
    bible._decompressed_text = lru_cache(maxsize=2)(bible._decompressed_text)  # else each verse unpacks its whole book
    verses = {}
    for books in bible.get_structure().get_books().values():
        for book in books:
            for chapter, length in enumerate(book.chapter_lengths, start=1):
                for verse in range(1, length + 1):
                    text = bible.get(books=[book.name], chapters=[chapter], verses=[verse], clean=False)
                    verses[f"{book.osis_name} {chapter}:{verse}"] = text
    return verses


def fetch(folder):
    """Download the three Debian packages into a folder and extract them there."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True)
    for archive in sorted(folder.glob("sword-text-*.deb")):
        subprocess.run(["dpkg", "-x", archive.name, "."], cwd=folder, check=True)


def build(folder):
    """{file name: text} of all shipped files."""
    english, spanish, modern = (read_module(folder, name) for name in (ENGLISH, SPANISH, MODERN))
    left = [(reference, parse_verse(markup)) for reference, markup in english.items()]
    right = []
    for reference in english:
        markup = spanish[reference]
        if reference.startswith("Ps 119:"):
            markup = ACROSTIC.sub("", markup)
        right.append((reference, without_subscription(parse_verse(markup))))
    pairs = align_verses(left, right)
    print(f"{len(left)} English verses, {len(pairs)} paired with a Spanish one")
    canon = {reference.split(" ")[0] for reference in english}
    running = []
    for reference, markup in modern.items():
        if reference.split(" ")[0] in canon:
            body = TITLES.sub(" ", GLOSSARY.sub("", markup))
            running.append((reference, parse_verse(body, QUOTED_WORD)))
    files = {}
    for name, lines in (("bible-en-es", parallel_lines(pairs)), ("bible-en", chapter_lines(running))):
        for split in SPLITS:
            files[f"{name}.{split}.txt.xz"] = "\n".join(lines[split]) + "\n"
    return files


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Build the shipped corpora from SWORD modules.")
    parser.add_argument("folder", type=Path, help="folder with the extracted Debian packages")
    parser.add_argument("--fetch", action="store_true", help="download and extract the packages into the folder first")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where the files go (default: %(default)s)")
    options = parser.parse_args(arguments)
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
