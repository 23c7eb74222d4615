"""The shipped corpora: checksums, counts, format, and disjoint splits.

The files change only with their checksums, so this need not run with every change.
"""

import hashlib
import importlib.util
from pathlib import Path

import pytest

from numpy_attention.data.datasets import bible

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = Path(bible.__file__).parent / "shipped"


def words(tokens):
    return tuple(token for token in tokens if token[0].isalnum())


@pytest.fixture(scope="module")
def lines():
    """Return {split: [(English tokens, Spanish tokens, links, clause ends)]} of the files."""
    found = {}
    for split in bible.SPLITS:
        text = bible.read_shipped("bible-en-es", split)
        rows = [line.split("\t") for line in text.splitlines()]
        found[split] = [
            (english.split(" "), spanish.split(" "), links.split(), ends.split())
            for _, english, spanish, links, ends in rows
        ]
    return found


@pytest.fixture(scope="module")
def pairs():
    return {
        (part, split): bible.load_bible_en_es(part, split)
        for part in bible.LENGTHS
        for split in bible.SPLITS
    }


def all_clauses(rows):
    """Yield (words, offered) of every clause into which the verses of a split are divided."""
    for english, _, _, ends in rows:
        start = 0
        for end in ends:
            stop = int(end.split("-")[0])
            yield words(english[start:stop]), not end.endswith("!")
            start = stop


def test_lines_have_the_documented_format(lines):
    for source, target, links, ends in (row for rows in lines.values() for row in rows):
        assert "" not in source + target
        positions = [(i, j) for i, j, _ in map(bible.link_of, links)]
        assert positions == sorted(set(positions))
        assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in positions)
        cuts = [(0, 0), *((c, d) for c, d, _ in map(bible.end_of, ends))]
        assert all(a < c and b < d for (a, b), (c, d) in zip(cuts, cuts[1:]))
        assert cuts[-1] == (len(source), len(target))
        for i, j in positions:                              # no link crosses a clause boundary
            assert all((i < c) == (j < d) for c, d in cuts)


def test_readme_has_the_checksum_and_size_of_every_file():
    readme = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert sorted(bible.CHECKSUMS) == sorted(path.name for path in SHIPPED.glob("*.xz"))
    for name, checksum in bible.CHECKSUMS.items():
        data = (SHIPPED / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == checksum
        assert f"| {name} | {len(data):,} | {checksum} |" in readme


def test_readme_has_the_counts(pairs, lines):
    tool = ROOT / "tools" / "build_corpora.py"
    specification = importlib.util.spec_from_file_location("build_corpora", tool)
    count = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(count)
    readme = (SHIPPED / "README.md").read_text(encoding="utf-8")
    for (part, split), loaded in pairs.items():
        assert count.parallel_row(part, split, loaded) in readme
    for part in bible.LENGTHS:
        whole = sum((pairs[part, split] for split in bible.SPLITS), [])
        assert count.parallel_row(part, "all", whole) in readme
    chapters = {split: bible.load_bible_en(split) for split in bible.SPLITS}
    chapters["all"] = sum(chapters.values(), [])
    assert all(count.running_row(split, loaded) in readme for split, loaded in chapters.items())
    offered = [is_offered for rows in lines.values() for _, is_offered in all_clauses(rows)]
    withheld = offered.count(False)
    assert f"{withheld:,} of the {len(offered):,} clauses of all lengths are withheld" in readme
    assert f"{sum(map(len, lines.values())):,} are paired" in readme


def test_splits_share_no_sentences(lines):
    verses = {split: {words(english) for english, *_ in rows} for split, rows in lines.items()}
    clauses = {split: list(all_clauses(rows)) for split, rows in lines.items()}
    cut = {split: {key for key, _ in found} for split, found in clauses.items()}
    offered = {split: {key for key, given in found if given} for split, found in clauses.items()}
    for one in bible.SPLITS:
        for other in set(bible.SPLITS) - {one}:
            assert not verses[one] & verses[other]
            assert not offered[one] & cut[other]
    train, valid, test = (cut[split] for split in bible.SPLITS)
    shared = (train & valid) | (train & test) | (valid & test)
    withheld = {key for found in clauses.values() for key, given in found if not given}
    assert withheld == shared  # nothing else is withheld


def test_loaded_lengths_of_clauses_and_verses(pairs, lines):
    for split in ("valid", "test"):
        cut = [key for key, is_offered in all_clauses(lines[split]) if is_offered]
        every = bible.load_bible_en_es("clauses", split, 1, 500)
        assert [words(pair.source) for pair in every] == cut
        kept = [p for p in every if 3 <= len(p.source) <= 12 and 3 <= len(p.target) <= 12]
        assert pairs["clauses", split] == kept

    def lengths(part):
        return [len(side) for pair in pairs[part, "train"] for side in (pair.source, pair.target)]

    assert (min(lengths("clauses")), max(lengths("clauses"))) == (3, 12)
    assert max(lengths("verses")) == 50


def test_tokens_are_clean_and_links_join_words(pairs):
    letters = set("abcdefghijklmnopqrstuvwxyzáéíóúâêîôûüñ'-")
    marks = set(",;:.?!()—¿¡")
    for loaded in pairs.values():
        vocabulary = {token for pair in loaded for token in pair.source + pair.target}
        assert {token for token in vocabulary - marks if not set(token) <= letters} == set()
        for pair in loaded:
            for i, j in pair.possible:
                assert pair.source[i][0].isalpha() and pair.target[j][0].isalpha()


def test_known_verses_and_links(pairs):
    first = pairs["verses", "train"][0]
    assert " ".join(first.source) == "in the beginning god created the heaven and the earth ."
    assert " ".join(first.target) == "en el principio crió dios los cielos y la tierra ."
    sure = {(first.source[i], first.target[j]) for i, j in first.sure}
    assert sure == {("god", "dios"), ("created", "crió")}
    possible = {(first.source[i], first.target[j]) for i, j in first.possible - first.sure}
    assert ("beginning", "principio") in possible
    links = [(p.source[i], p.target[j]) for p in pairs["verses", "train"] for i, j in p.sure]
    kings = [spanish for english, spanish in links if english == "king"]
    assert len(kings) > 500 and kings.count("rey") / len(kings) > 0.95


def test_running_text_has_chapters_of_verses_of_tokens():
    chapters = bible.load_bible_en("train")
    assert " ".join(chapters[0][0]) == "in the beginning , god created the heavens and the earth ."
    last = "the grace of the lord jesus christ be with all the saints . amen ."
    assert " ".join(chapters[-1][-1]) == last
    every = [chapter for split in bible.SPLITS for chapter in bible.load_bible_en(split)]
    vocabulary = {token for chapter in every for verse in chapter for token in verse}
    letters = set("abcdefghijklmnopqrstuvwxyz'-")
    assert {token for token in vocabulary if not set(token) <= letters} == set(",.;:?!()—“”‘’")
    assert {"don't", "god's"} <= vocabulary
