"""Build the shipped corpora from the SWORD modules in three Debian packages.

    python tools/build_corpora.py FOLDER             FOLDER holds the extracted packages (dpkg -x)
    python tools/build_corpora.py FOLDER --fetch     first downloads and extracts them there

FOLDER must hold, at any depth, the modules engKJV2006eb (sword-text-kjv), spaRV1909eb
(sword-text-sparv) and engWEB2015eb (sword-text-web); --fetch needs apt-get and dpkg. They are read
with pysword (pip install pysword). The files go to numpy_attention/data/datasets/shipped, or to --output;
the same modules give the same bytes. What is printed at the end is the table of files in the README
there; the checksums stand in numpy_attention/data/datasets/bible.py as well. tools/count_corpora.py counts
what is in the files.

From a King James and a Reina-Valera verse to a line of bible-en-es: verses.py parses both, pairs
them, links their words and finds where they can be cut into clauses; a hash of the English words
decides whether the verse is for training, validation or test.
"""

import argparse
import hashlib
import lzma
import re
import subprocess
import sys
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

from verses import (
    QUOTED_WORD, align_verses, cut_points, link_words, parse_verse, without_subscription)

PACKAGES = ("sword-text-kjv", "sword-text-sparv", "sword-text-web")
ENGLISH = "engKJV2006eb"
SPANISH = "spaRV1909eb"
SMALL_MODEL_DEFAULTS = "engWEB2015eb"
SPLITS = ("train", "valid", "test")
OUTPUT = Path(__file__).resolve().parents[1] / "numpy_attention" / "data" / "datasets" / "shipped"

# follows the last verse of the World English Bible
GLOSSARY = re.compile(r'<div\b[^>]*type="glossary".*', re.DOTALL)
TITLES = re.compile(r"<title\b.*?</title>", re.DOTALL)
# Hebrew letters above the parts of Psalm 119, within the Spanish text
ACROSTIC = re.compile(r"^[A-Z]+\.? (?=[¿¡<])")


# ---- splits and lines --------------------------------------------------------------------------


def words_of(tokens):
    """The tokens without punctuation, joined by spaces: what the split is decided by."""
    return " ".join(token for token in tokens if token[0].isalnum())


def split_of(key, percent):
    """The split of a text, by its SHA-256 value.

    "test" for the lowest `percent` of the values, "valid" for the next `percent`, else "train".
    """
    digest = hashlib.sha256(key.encode("utf-8")).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64 * 100
    if share < percent:
        return "test"
    return "valid" if share < 2 * percent else "train"


def parallel_lines(pairs, percent=2.3):
    """{split: lines of bible-en-es} for aligned verses [(reference, English verse, Spanish verse)].

    A verse goes where the hash of its English words says. A clause goes with its verse, but is
    withheld (marked "!") when its English words are a clause of a verse in another split too.
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
    """{split: lines of bible-en}, a verse a line, an empty line between chapters.

    A chapter's split is by a hash of "BOOK CHAPTER".
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
    """{reference "Gen 1:1": OSIS markup} of a SWORD module somewhere under a folder, all books."""
    from pysword.modules import SwordModules

    found = sorted(Path(folder).rglob(f"mods.d/{name}.conf"))
    if not found:
        packages = ", ".join(PACKAGES)
        raise FileNotFoundError(
            f"no mods.d/{name}.conf under {folder}: extract {packages} there, or use --fetch")
    modules = SwordModules(str(found[0].parent.parent))
    modules.parse_modules()
    bible = modules.get_bible_from_module(name)
    # else each verse unpacks its whole book
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
    """[(reference, English verse, Spanish verse)] of the markup of both Bibles."""
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
    """[(reference, verse)] of the World English Bible's markup, of the books of a canon."""
    verses = []
    for reference, markup in modern.items():
        if reference.split(" ")[0] in canon:
            body = TITLES.sub(" ", GLOSSARY.sub("", markup))
            verses.append((reference, parse_verse(body, QUOTED_WORD)))
    return verses


def build(folder):
    """{file name: text} of all shipped files."""
    english = read_module(folder, ENGLISH)
    spanish = read_module(folder, SPANISH)
    modern = read_module(folder, SMALL_MODEL_DEFAULTS)
    canon = {reference.split(" ")[0] for reference in english}
    corpora = {
        "bible-en-es": parallel_lines(parallel_verses(english, spanish)),
        "bible-en": chapter_lines(modern_verses(modern, canon)),
    }
    return {f"{name}.{split}.txt.xz": "\n".join(lines[split]) + "\n"
            for name, lines in corpora.items() for split in SPLITS}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description="Build the shipped corpora from SWORD modules.")
    parser.add_argument("folder", type=Path, help="folder with the extracted Debian packages")
    parser.add_argument("--fetch", action="store_true",
                        help="download and extract the packages into the folder first")
    parser.add_argument("--output", type=Path, default=OUTPUT,
                        help="where the files go (default: %(default)s)")
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
