"""Parsing of the shipped corpora, and damaged files. Their content: tests/integration/data."""

import gc
from pathlib import Path

import pytest

from numpy_attention.data.datasets import bible

SHIPPED = Path(bible.__file__).parent / "shipped"
GOOD = "Gen 1:3\tand god said , let there\ty dijo dios : sea\t1-2 2p0 2p1 4p4\t4-4 6-5"
WITHHELD = GOOD.replace("4-4", "4-4!").replace("4p4!", "4p4")


def parse(text, part="clauses", low=1, high=50):
    return bible.parse_pairs(text, part, low, high)


def test_line_is_parsed_into_clauses_or_a_verse():
    first, second = parse(GOOD)
    assert (first.source, first.target) == (("and", "god", "said", ","), ("y", "dijo", "dios", ":"))
    assert (first.sure, first.possible) == ({(1, 2)}, {(1, 2), (2, 0), (2, 1)})
    assert (second.source, second.target) == (("let", "there"), ("sea",))
    assert (second.sure, second.possible) == (set(), {(0, 0)})
    (verse,) = parse(GOOD, "verses")
    assert len(verse.source) == 6 and verse.sure == {(1, 2)}
    assert verse.possible == {(1, 2), (2, 0), (2, 1), (4, 4)}


def test_withheld_clauses_and_other_lengths_are_skipped():
    assert [pair.target for pair in parse(WITHHELD)] == [("sea",)]
    assert len(parse(WITHHELD, "verses")) == 1
    assert [len(pair.source) for pair in parse(GOOD, low=2)] == [4]  # one Spanish token: too short
    assert [len(pair.source) for pair in parse(GOOD, high=3)] == [2]


def test_first_clause_may_have_one_token():
    first, second = parse("Gen 1:3\tgo now\tve ya\t\t1-1 2-2")
    assert (first.source, first.target) == (("go",), ("ve",))
    assert (second.source, second.target) == (("now",), ("ya",))


def test_invalid_parts_splits_and_lengths():
    for load, message in (
        (lambda: bible.load_bible_en_es("words"), "part = 'words'; .* 'clauses', 'verses'"),
        (lambda: bible.load_bible_en_es(split="dev"), "split = 'dev'; .* 'train', 'valid', 'test'"),
        (lambda: bible.load_bible_en("dev"), "split = 'dev'; .* 'train', 'valid', 'test'"),
        (lambda: bible.load_bible_en_es(min_length=13), "^min_length = 13 and max_length = 12;"),
        (lambda: bible.load_bible_en_es(max_length=0), "max_length = 0; expected"),
    ):
        with pytest.raises(ValueError, match=message):
            load()


@pytest.fixture
def files_read(monkeypatch):
    """Return the names of the files read; each file has verses of one and of two tokens."""
    names = []
    text = "Gen 1:1\tgo\tve\t0-0\t1-1\nGen 1:2\tgo now\tve ya\t0-0\t2-2\n"
    monkeypatch.setattr(bible, "read_shipped", lambda *name: names.append(name) or text)
    return names


def test_training_split_is_the_default(files_read):
    bible.load_bible_en_es("verses")
    bible.load_bible_en()
    assert files_read == [("bible-en-es", "train"), ("bible-en", "train")]


@pytest.mark.parametrize("limits, lengths", [
    ({}, [1, 2]), ({"min_length": 2, "max_length": 2}, [2]), ({"max_length": 1}, [1])])
def test_length_limits(files_read, limits, lengths):
    found = bible.load_bible_en_es("verses", **limits)
    assert [len(pair.source) for pair in found] == lengths


@pytest.mark.parametrize("before", [True, False])
def test_garbage_collection_is_off_while_pairs_are_built(files_read, monkeypatch, before):
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


def test_damaged_or_missing_file_raises(monkeypatch, tmp_path):
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
        message = f"{name} is damaged: its SHA-256 .* expected {bible.CHECKSUMS[name][:12]}[.]"
        with pytest.raises(ValueError, match=message):
            bible.load_bible_en("test")


def test_known_verses():
    first = bible.load_bible_en_es("verses", "test")[0]
    assert " ".join(first.source).startswith("and the evening and the morning were the fourth day")
    chapters = bible.load_bible_en("test")
    assert len(chapters) == 49 and all(verse for chapter in chapters for verse in chapter)
