"""The shipped corpora: counts, checksums, splits that do not leak, errors for damaged files."""

import gc
import hashlib
import importlib.util
from pathlib import Path

import pytest

from numpy_attention.data.datasets import bible

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = Path(bible.__file__).parent / "shipped"
GOOD = "Gen 1:3\tand god said , let there\ty dijo dios : sea\t1-2 2p0 2p1 4p4\t4-4 6-5"
WITHHELD = GOOD.replace("4-4", "4-4!").replace("4p4!", "4p4")


def parse(text, part="clauses", low=1, high=50):
    return bible.parse_pairs(text, "some.txt", part, low, high)


def words(tokens):
    return tuple(token for token in tokens if token[0].isalnum())


@pytest.fixture(scope="module")
def lines():
    """{split: [(English tokens, Spanish tokens, links, clause ends)]} of the files as they are."""
    found = {}
    for split in bible.SPLITS:
        text = bible.read_shipped(f"bible-en-es.{split}.txt.xz")
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
    """(words, offered) of every clause that the verses of a split are cut into."""
    for english, _, _, ends in rows:
        start = 0
        for end in ends:
            stop = int(end.split("-")[0])
            yield words(english[start:stop]), not end.endswith("!")
            start = stop


def test_a_line_becomes_its_clauses_or_its_verse():
    first, second = parse(GOOD)
    assert (first.source, first.target) == (("and", "god", "said", ","), ("y", "dijo", "dios", ":"))
    assert (first.sure, first.possible) == ({(1, 2)}, {(1, 2), (2, 0), (2, 1)})
    assert (second.source, second.target) == (("let", "there"), ("sea",))
    assert (second.sure, second.possible) == (set(), {(0, 0)})
    (verse,) = parse(GOOD, "verses")
    assert len(verse.source) == 6 and verse.sure == {(1, 2)}
    assert verse.possible == {(1, 2), (2, 0), (2, 1), (4, 4)}


def test_withheld_clauses_and_other_lengths_are_left_out():
    assert [pair.target for pair in parse(WITHHELD)] == [("sea",)]
    assert len(parse(WITHHELD, "verses")) == 1
    assert [len(pair.source) for pair in parse(GOOD, low=2)] == [4]  # one Spanish token: too short
    assert [len(pair.source) for pair in parse(GOOD, high=3)] == [2]


@pytest.mark.parametrize("old, new, message", [
    ("\t4-4 6-5", "", "4 fields, expected 5"),
    ("1-2", "1=2", "link '1=2' is not of the form 3-4"),
    ("1-2", "١-2", "is not of the form 3-4"),
    ("4p4", "6p4", "a link points outside of 6 source and 5 target tokens"),
    ("4p4", "4p5", "a link points outside of 6 source and 5 target tokens"),
    ("2p1 4p4", "2p1 3p4", "points outside"),
    ("god said", "god  said", "empty token"),
    ("4-4 6-5", "4-4 6-5x", "clause end '6-5x' is not of the form"),
    ("4-4 6-5", "4-4 4-5", "clause end 4-5 does not come after 4-4"),
    ("4-4 6-5", "4-4 6-4", "clause end 6-4 does not come after 4-4"),
    ("4-4 6-5", "4-4", "the last clause ends at 4-4, expected 6-5"),
])
def test_a_malformed_line_is_named(old, new, message):
    assert old in GOOD
    with pytest.raises(ValueError, match=f"^some.txt, line 2: .*{message}"):
        parse(GOOD + "\n" + GOOD.replace(old, new) + "\n" + GOOD)


def test_the_first_clause_may_be_of_one_token():
    first, second = parse("Gen 1:3\tgo now\tve ya\t\t1-1 2-2")
    assert (first.source, first.target) == (("go",), ("ve",))
    assert (second.source, second.target) == (("now",), ("ya",))


def test_unknown_parts_splits_and_lengths_are_refused():
    with pytest.raises(ValueError, match="part = 'words': .* clauses, verses"):
        bible.load_bible_en_es("words")
    with pytest.raises(ValueError, match="split = 'dev': .* train, valid, test"):
        bible.load_bible_en_es(split="dev")
    with pytest.raises(ValueError, match="split = 'dev': .* train, valid, test"):
        bible.load_bible_en("dev")
    with pytest.raises(ValueError, match="min_length <= max_length, got 13 and 12"):
        bible.load_bible_en_es(min_length=13)


@pytest.fixture
def accepted_kwargs(monkeypatch):
    """Names of the files that are read, each a verse of one token and one of two."""
    names = []
    text = "Gen 1:1\tgo\tve\t0-0\t1-1\nGen 1:2\tgo now\tve ya\t0-0\t2-2\n"
    monkeypatch.setattr(bible, "read_shipped", lambda name: names.append(name) or text)
    return names


def test_the_training_split_is_the_default(accepted_kwargs):
    bible.load_bible_en_es("verses")
    bible.load_bible_en()
    assert accepted_kwargs == ["bible-en-es.train.txt.xz", "bible-en.train.txt.xz"]


def test_a_verse_may_be_of_one_token_and_both_lengths_the_same(accepted_kwargs):
    assert [len(pair.source) for pair in bible.load_bible_en_es("verses")] == [1, 2]
    only = bible.load_bible_en_es("verses", min_length=2, max_length=2)
    assert [pair.source for pair in only] == [("go", "now")]
    only = bible.load_bible_en_es("verses", min_length=1, max_length=1)
    assert [pair.source for pair in only] == [("go",)]
    for name in ("min_length", "max_length"):
        with pytest.raises(ValueError, match=f"^{name} = 0: expected"):
            bible.load_bible_en_es(**{name: 0})


def test_a_malformed_line_is_named_with_its_file(monkeypatch):
    monkeypatch.setattr(bible, "read_shipped", lambda name: "Gen 1:1 go")
    with pytest.raises(ValueError, match="^bible-en-es.test.txt.xz, line 1: 1 fields, expected 5"):
        bible.load_bible_en_es("verses", "test")


@pytest.mark.parametrize("before", [True, False])
def test_no_garbage_is_collected_while_pairs_are_made(accepted_kwargs, monkeypatch, before):
    found = []
    monkeypatch.setattr(bible, "parse_pairs", lambda *_: found.append(gc.isenabled()))
    collecting = gc.isenabled()
    (gc.enable if before else gc.disable)()
    try:
        bible.load_bible_en_es()
        after = gc.isenabled()
    finally:
        (gc.enable if collecting else gc.disable)()
    assert found == [False] and after == before


def test_a_damaged_or_missing_file_is_named(monkeypatch, tmp_path):
    (tmp_path / "shipped").mkdir()
    monkeypatch.setattr(bible.resources, "files", lambda package: tmp_path)
    name = "bible-en.test.txt.xz"
    with pytest.raises(FileNotFoundError, match=f"{name} is missing"):
        bible.load_bible_en("test")
    data = (SHIPPED / name).read_bytes()
    (tmp_path / "shipped" / name).write_bytes(data)
    assert len(bible.load_bible_en("test")) == 49
    for damaged in (data[:-1], data[:100] + bytes([data[100] ^ 1]) + data[101:], b""):
        (tmp_path / "shipped" / name).write_bytes(damaged)
        message = f"{name} is damaged: its SHA-256 is .* expected {bible.CHECKSUMS[name]}"
        with pytest.raises(ValueError, match=message):
            bible.load_bible_en("test")


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


def test_no_split_sees_another_one_s_sentences(lines):
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
    assert withheld == shared  # and nothing is withheld without need


def test_the_loader_gives_the_offered_clauses_of_3_to_12_tokens_and_verses_up_to_50(pairs, lines):
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
