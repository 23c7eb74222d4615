"""Downloaded corpora, if a folder holds them: counts and splits."""

import os
from pathlib import Path

import pytest

from numpy_attention.data import running_text
from numpy_attention.data.datasets import downloads
from numpy_attention.data.datasets.corpora import fetch, load_parallel, load_text
from numpy_attention.data.datasets.public import TATOEBA
from numpy_attention.data.reading import read_tab_pairs
from numpy_attention.data.splits import SPLITS, split_of
from numpy_attention.data.vocabulary import Vocabulary

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"
SHARED = Path(os.environ.get(downloads.ENVIRONMENT) or BESIDE)


@pytest.fixture
def folder(monkeypatch):
    """The folder with the public corpora, configured as by a user."""

    def need(name):
        if not (SHARED / name).is_dir():
            pytest.skip(
                f"{SHARED / name} is absent; set {downloads.ENVIRONMENT} to a folder that holds "
                f"{name}"
            )
        monkeypatch.setenv(downloads.ENVIRONMENT, str(SHARED))

    return need


def test_penn_treebank(folder):
    folder("ptb")
    texts = [load_text("ptb", split) for split in SPLITS]
    counts = [(len(text), sum(len(line) + 1 for line in text)) for text in texts]
    assert counts == [(42_068, 929_589), (3_370, 73_760), (3_761, 82_430)]
    assert len({token for line in texts[0] for token in line}) == 9_999
    files = [path.name for path in fetch("ptb")]
    assert files == ["ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"]


def test_wikitext(folder):
    folder("wikitext-2")
    texts = [load_text("wikitext-2", split) for split in SPLITS]
    counts = [(len(text), sum(len(line) + 1 for line in text)) for text in texts]
    assert counts == [(36_718, 2_088_628), (3_760, 217_646), (4_358, 245_569)]
    assert len({token for line in texts[0] for token in line}) == 33_277


def test_multi30k(folder):
    folder("multi30k")
    words = {}
    for target, longest in (("de", 44), ("fr", 50)):
        pairs = load_parallel(f"multi30k-en-{target}", "train")
        assert len(pairs) == 29_000 and max(len(pair.target) for pair in pairs) == longest
        words["en"] = sum(len(pair.source) for pair in pairs)
        words[target] = sum(len(pair.target) for pair in pairs)
    assert words == {"en": 377_534, "de": 360_706, "fr": 409_845}
    assert [len(load_parallel("multi30k-de-en", split)) for split in SPLITS[1:]] == [1_014, 1_000]
    test = load_parallel("multi30k-de-en", "test", count=9)
    assert load_parallel("multi30k-de-en", "test_2016_flickr", count=9) == test
    there = load_parallel("multi30k-en-fr", "test")
    back = load_parallel("multi30k-fr-en", "test")
    assert [pair.reversed() for pair in there] == back
    raw = load_parallel("multi30k-en-fr", "test", part="raw")
    assert len(raw) == 1_000
    assert raw[0].source[0].istitle() and not there[0].source[0].istitle()


def test_tatoeba(folder, tmp_path, monkeypatch):
    folder("tatoeba")
    path = downloads.fetch_file(TATOEBA)
    assert len(read_tab_pairs(path, str.split, str.split)) == 167_130
    (tmp_path / "tatoeba").mkdir()
    lines = path.read_bytes().splitlines(keepends=True)[50_000:60_000]
    (tmp_path / "tatoeba" / "fra-eng.txt").write_bytes(b"".join(lines))
    monkeypatch.setenv(downloads.ENVIRONMENT, str(tmp_path))
    parts = {split: load_parallel("tatoeba-en-fr", split) for split in SPLITS}
    assert sum(map(len, parts.values())) == 10_000 and min(map(len, parts.values())) > 100
    train, valid, test = ({pair.source for pair in part} for part in parts.values())
    assert not train & (valid | test) and not valid & test
    for pair in parts["test"]:
        assert split_of(pair.source, held_out=0.04) == "test"
        for token in pair.source + pair.target:
            assert token == token.lower() and not any(map(str.isspace, token))
    assert any(token in ("l'", "j'", "n'") for pair in parts["test"] for token in pair.target)


def test_tiny_shakespeare(folder):
    folder("tinyshakespeare")
    texts = [load_text("tinyshakespeare", split) for split in SPLITS]
    whole = "".join(texts)
    assert len(whole) == 1_115_394 and whole.startswith("First Citizen:\nBefore we proceed")
    assert whole.count("\n") == 40_000 and len(texts[1]) in range(55_000, 56_500)


@pytest.mark.parametrize("name, unit, has_articles, articles, tokens", [
    ("ptb", "words", False, 1, 78_669 + 3_761),
    ("wikitext-2", "words", True, 63, 241_211 + 4_358),
    ("tinyshakespeare", "characters", False, 1, 55_770),
])
def test_running_text(name, unit, has_articles, articles, tokens, folder):
    folder(name)
    text = running_text.load(name, "test")
    assert (text.unit, text.has_articles) == (unit, has_articles)
    assert len(text.articles) == articles
    assert len(text.stream(Vocabulary(["a"]))) == 1 + tokens
