"""Public corpora: addresses, checksums, and parsing of downloaded files."""

import gzip
import re

import pytest

from numpy_attention.data.datasets import public
from numpy_attention.data.datasets.downloads import fetch_file
from numpy_attention.data.datasets.public import articles_of
from numpy_attention.data.splits import split_of

SPLITS = ("train", "valid", "test")


FILES = {file.path: file for corpus in public.PUBLIC for file in corpus.files}
FILES |= {file.path: file for file in public.MULTI30K.values()}


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Return a function that writes a file into the data folder in place of the public one."""
    monkeypatch.setenv("NUMPY_ATTENTION_DATA", str(tmp_path))
    monkeypatch.setattr(public, "fetch_file", lambda file: fetch_file(file._replace(sha256=None)))

    def write(path, content):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / path).write_bytes(data)

    return write


def test_addresses_and_checksums():
    for path, file in FILES.items():
        assert file.url.startswith("https://")
        assert re.fullmatch("[0-9a-f]{64}", file.sha256 or "0" * 64)
        assert file.url.endswith(path.split("/")[1]) or file.member
    assert [path for path, file in FILES.items() if file.sha256 is None] == ["tatoeba/fra-eng.txt"]
    assert len(FILES) == 3 + 3 + 18 + 1 + 1
    assert len({file.sha256 for file in FILES.values()}) == len(FILES)


def test_articles_begin_with_a_top_level_heading():
    text = ["", "= A =", "", "= = B = =", "x", "= C =", "= y", "= ="]
    lines = [line.split() for line in text]
    assert articles_of(lines) == [[[]], lines[1:5], lines[5:]]
    assert articles_of([]) == []


def test_penn_treebank_is_one_article_of_sentences(put):
    for split in SPLITS:
        put(f"ptb/ptb.{split}.txt", f" the {split} \n\n N <unk> \n")
        assert public.penn_treebank(split) == [[["the", split], ["N", "<unk>"]]]


def test_wikitext_keeps_blank_lines_of_articles(put):
    for split in SPLITS:
        put(f"wikitext-2/{split}.txt", f" \n = A = \n \n {split} @-@ x \n = B = \n")
        assert public.wikitext_2(split) == [
            [[]], [["=", "A", "="], [], [split, "@-@", "x"]], [["=", "B", "="]],
        ]


def test_tiny_shakespeare_is_split_in_order_without_loss(put):
    text = "".join(chr(0x100 + k) for k in range(398)) + "\r\n"
    put("tinyshakespeare/input.txt", text)
    parts = (text[:360], text[360:380], text[380:])
    assert [public.tinyshakespeare(split) for split in SPLITS] == [[[list(part)]] for part in parts]


@pytest.mark.parametrize("split, name", [
    ("train", "train"), ("valid", "val"), ("test", "test_2016_flickr"),
])
def test_multi30k_pairs_the_files_of_its_two_languages(put, split, name):
    for language in ("en", "de", "fr"):
        put(f"multi30k/{name}.lc.norm.tok.{language}", f"a-b {language} {name} .\n")
        put(f"multi30k/{name}.{language}.gz", gzip.compress(f"A-b {language}, {name}.\n".encode()))
    for source, target in (("en", "de"), ("fr", "en")):
        (pair,) = public.multi30k(source, target, split)
        assert pair.source == ("a-b", source, name, ".")
        assert pair.target == ("a-b", target, name, ".")
        (pair,) = public.multi30k_raw(source, target, split)
        assert pair.source == ("A-b", source, ",", name, ".")
        assert pair.target == ("A-b", target, ",", name, ".")


def test_tatoeba_is_split_by_the_english_sentence(put):
    lines = [f"It's No. {n}.\tC'est l'Un {n}.\tCC-BY {n}\n" for n in range(1000)]
    put("tatoeba/fra-eng.txt", "".join(lines))
    parts = {split: public.tatoeba(split) for split in SPLITS}
    assert sum(map(len, parts.values())) == 1000
    held_out = len(parts["valid"]) + len(parts["test"])
    assert held_out in range(25, 60)                            # 4% of them
    for split, pairs in parts.items():
        for pair in pairs:
            n = pair.source[-2]
            assert pair.source == ("it's", "no", ".", n, ".")
            assert pair.target == ("c'", "est", "l'", "un", n, ".")
            assert split_of(pair.source, 0.04) == split
