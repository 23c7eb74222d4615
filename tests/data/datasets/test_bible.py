"""How the shipped corpora are read, and damaged files; tests/integration/data has their content."""

import gc
from pathlib import Path

import pytest

from numpy_attention.data.datasets import bible

SHIPPED = Path(bible.__file__).parent / "shipped"
GOOD = "Gen 1:3\tand god said , let there\ty dijo dios : sea\t1-2 2p0 2p1 4p4\t4-4 6-5"
WITHHELD = GOOD.replace("4-4", "4-4!").replace("4p4!", "4p4")


def parse(text, part="clauses", low=1, high=50):
    return bible.parse_pairs(text, part, low, high)


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


def test_the_first_clause_may_be_of_one_token():
    first, second = parse("Gen 1:3\tgo now\tve ya\t\t1-1 2-2")
    assert (first.source, first.target) == (("go",), ("ve",))
    assert (second.source, second.target) == (("now",), ("ya",))


def test_invalid_parts_splits_and_lengths():
    for load, message in (
        (lambda: bible.load_bible_en_es("words"), "part = 'words'; .* clauses, verses"),
        (lambda: bible.load_bible_en_es(split="dev"), "split = 'dev'; .* train, valid, test"),
        (lambda: bible.load_bible_en("dev"), "split = 'dev'; .* train, valid, test"),
        (lambda: bible.load_bible_en_es(min_length=13), "<= max_length, got 13 and 12"),
        (lambda: bible.load_bible_en_es(max_length=0), "max_length = 0; expected"),
    ):
        with pytest.raises(ValueError, match=message):
            load()


@pytest.fixture
def accepted_kwargs(monkeypatch):
    """Names of the files that are read, each a verse of one token and one of two."""
    names = []
    text = "Gen 1:1\tgo\tve\t0-0\t1-1\nGen 1:2\tgo now\tve ya\t0-0\t2-2\n"
    monkeypatch.setattr(bible, "read_shipped", lambda *name: names.append(name) or text)
    return names


def test_the_training_split_is_the_default(accepted_kwargs):
    bible.load_bible_en_es("verses")
    bible.load_bible_en()
    assert accepted_kwargs == [("bible-en-es", "train"), ("bible-en", "train")]


@pytest.mark.parametrize("limits, lengths", [
    ({}, [1, 2]), ({"min_length": 2, "max_length": 2}, [2]), ({"max_length": 1}, [1])])
def test_limits_of_length(accepted_kwargs, limits, lengths):
    found = bible.load_bible_en_es("verses", **limits)
    assert [len(pair.source) for pair in found] == lengths


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


def test_known_verses():
    first = bible.load_bible_en_es("verses", "test")[0]
    assert " ".join(first.source).startswith("and the evening and the morning were the fourth day")
    chapters = bible.load_bible_en("test")
    assert len(chapters) == 49 and all(verse for chapter in chapters for verse in chapter)
