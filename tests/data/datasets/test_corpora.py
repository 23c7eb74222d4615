"""Corpora by name: what is known of them, what they hold, and how wrong requests are told."""

import os
from pathlib import Path

import numpy as np
import pytest

from numpy_attention.data.datasets import downloads, public
from numpy_attention.data.datasets.corpora import (
    CORPORA,
    describe,
    fetch,
    find_corpus,
    load_parallel,
    load_text,
)
from numpy_attention.data.reading import read_tab_pairs
from numpy_attention.data.splits import split_of
from numpy_attention.data.text_form import TextForm

SPLITS = ("train", "valid", "test")
GENERATED = [name for name, corpus in CORPORA.items() if corpus.origin == "generated"]
BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"
SHARED = Path(os.environ.get(downloads.ENVIRONMENT) or BESIDE)


@pytest.fixture
def folder(monkeypatch):
    """The folder with the public corpora, as a user would name it."""

    def need(name):
        if not (SHARED / name).is_dir():
            pytest.skip(
                f"{SHARED / name} is absent; set {downloads.ENVIRONMENT} to a folder that holds "
                f"{name}"
            )
        monkeypatch.setenv(downloads.ENVIRONMENT, str(SHARED))

    return need


def test_names_and_descriptions():
    assert set(CORPORA) == {
        "bible-en-es", "bible-en", "copy", "reverse", "dates", "grammar-en-fr", "ptb", "wikitext-2",
        "multi30k-de-en", "multi30k-en-de", "multi30k-en-fr", "multi30k-fr-en", "tatoeba-en-fr",
        "tinyshakespeare",
    }
    for name, corpus in CORPORA.items():
        assert corpus.kind in ("parallel", "text")
        assert corpus.origin in ("shipped", "generated", "downloaded")
        assert bool(corpus.files) == (corpus.origin == "downloaded")
        assert all(path in public.FILES for path in corpus.files)
        text = describe(name)
        facts = (name, corpus.description, corpus.licence, corpus.languages, corpus.origin)
        assert all(fact in text for fact in facts)
        assert text.count("https://") == len(corpus.files)


@pytest.mark.parametrize("names, languages, form", [
    (["bible-en-es"], "English → Spanish", TextForm("words", True)),
    (["bible-en"], "English", TextForm("words", True)),
    (["copy", "reverse"], "numbers", TextForm("spaces", True)),
    (["dates"], "English → ISO 8601", TextForm("characters", False)),
    (["grammar-en-fr", "tatoeba-en-fr"], "English → French", TextForm("words", True)),
    (["ptb", "wikitext-2"], "English", TextForm("spaces", False)),
    (["tinyshakespeare"], "English", TextForm("characters", False)),
    (["multi30k-de-en"], "German → English", TextForm("words", True)),
    (["multi30k-en-de"], "English → German", TextForm("words", True)),
    (["multi30k-en-fr"], "English → French", TextForm("words", True)),
    (["multi30k-fr-en"], "French → English", TextForm("words", True)),
])
def test_languages_and_how_raw_text_is_cut(names, languages, form):
    for name in names:
        assert (CORPORA[name].languages, CORPORA[name].form) == (languages, form)


def test_particulars_of_single_corpora():
    whole = {name for name, corpus in CORPORA.items() if getattr(corpus, "whole", False)}
    assert whole == {"bible-en", "wikitext-2"}
    multi30k = find_corpus("multi30k-en-fr")
    assert multi30k.split_names == {"test_2016_flickr": "test"}
    assert multi30k.part("raw").form == TextForm("words", False)
    assert multi30k.files[-2:] == tuple(
        f"multi30k/test_2016_flickr.lc.norm.tok.{language}" for language in ("en", "fr"))


def test_all_files_of_a_corpus_are_fetched_with_a_bar_or_without(monkeypatch):
    asked = []
    monkeypatch.setattr(public, "data_file", lambda *given: asked.append(given) or Path(given[0]))
    names = [f"ptb/ptb.{split}.txt" for split in SPLITS]
    assert fetch("ptb") == fetch("ptb", progress=False) == [Path(name) for name in names]
    assert asked == [(name, True) for name in names] + [(name, False) for name in names]


def test_unknown_requests():
    def refused(message):
        return pytest.raises(ValueError, match=message)

    with refused("corpus 'bible' is unknown; choose one of bible-en-es, bible-en, copy"):
        describe("bible")
    with refused("corpus 'ptb' is text, not parallel: it is for language models; "
                 "choose one of bible-en-es, copy"):
        load_parallel("ptb", "train")
    with refused("corpus 'copy' is parallel, not text: it is for translators; "
                 "choose one of bible-en, ptb"):
        load_text("copy", "train")
    for load, name in ((load_parallel, "copy"), (load_text, "bible-en")):
        with refused("split = 'dev'; expected one of train, valid, test"):
            load(name, "dev")
    with refused("split = 'test_2016_flickr'; expected one of train"):
        load_parallel("copy", "test_2016_flickr")
    with refused("copy does not know length; its options are: vocabulary_size, min_length"):
        load_parallel("copy", "train", length=3)
    with refused("dates does not know min_length; its options are: first_year"):
        load_parallel("dates", "train", min_length=3)
    with refused(r"bible-en-es does not know the option\(s\) vocabulary_size"):
        load_parallel("bible-en-es", "test", vocabulary_size=3)
    with refused("part = 'verses'; copy has None"):
        load_parallel("copy", "train", part="verses")
    with refused("part = 'raw'; bible-en-es has None, clauses, verses, both"):
        load_parallel("bible-en-es", "train", part="raw")
    with refused("count = 0"):
        load_parallel("bible-en-es", "test", count=0)


@pytest.mark.parametrize("name", GENERATED)
def test_generated_splits_are_disjoint_for_any_seed(name):
    sources, targets = {}, {}
    for split in SPLITS:
        pairs = load_parallel(name, split, count=60)
        again = load_parallel(name, split, np.random.default_rng(0), count=60)
        assert len(pairs) == 60 and pairs == again
        pairs = pairs + load_parallel(name, split, np.random.default_rng(9), count=60)
        sources[split] = {pair.source for pair in pairs}
        targets[split] = {pair.target for pair in pairs}
        assert all(pair.sure for pair in pairs)
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not sources[one] & sources[other]
        assert name != "dates" or not targets[one] & targets[other]


def test_sizes_and_options_of_generated_corpora():
    assert len(load_parallel("reverse", "test")) == 1000
    pairs = load_parallel("copy", "train", count=50, vocabulary_size=4, min_length=5, max_length=7)
    assert {len(pair.source) for pair in pairs} == {5, 6, 7}
    assert {word for pair in pairs for word in pair.source} <= set("0123")


def test_bible():
    pairs = load_parallel("bible-en-es", "test")
    assert len(pairs) > 1000
    assert all(3 <= len(side) <= 12 for pair in pairs for side in (pair.source, pair.target))
    short = load_parallel("bible-en-es", "test", max_length=5, count=20)
    assert short == [pair for pair in pairs if len(pair.source) <= 5 and len(pair.target) <= 5][:20]
    longer = load_parallel("bible-en-es", "test", max_length=20)
    assert max(len(pair.source) for pair in longer) > 12
    verses = load_parallel("bible-en-es", "test", part="verses")
    assert max(len(pair.source) for pair in verses) > 30
    assert load_parallel("bible-en-es", "test", part="clauses") == pairs
    assert load_parallel("bible-en-es", "test", part="both") == pairs + verses
    between = {"min_length": 9, "max_length": 20}       # clauses beyond 12 tokens too
    both = load_parallel("bible-en-es", "test", part="both", **between)
    assert both == [pair for part in ("clauses", "verses")
                    for pair in load_parallel("bible-en-es", "test", part=part, **between)]
    with pytest.raises(ValueError, match="no pair of bible-en-es .test. has 400 to 500 tokens"):
        load_parallel("bible-en-es", "test", part="verses", min_length=400, max_length=500)
    text = load_text("bible-en", "test")
    assert len(text) > 500 and all(isinstance(token, str) for token in text[0])
    assert fetch("bible-en") == [] == fetch("copy")


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
    path = public.data_file("tatoeba/fra-eng.txt")
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


def test_find_corpus_returns_the_record():
    assert find_corpus("ptb").origin == "downloaded"
    assert find_corpus("ptb", "text") is CORPORA["ptb"]


@pytest.mark.parametrize("settings, message", [
    (dict(count=0), "count = 0"), (dict(min_length=0), "min_length = 0"),
    (dict(max_length=0), "max_length = 0"), (dict(rng=5), "rng is int"),
])
def test_limits_of_a_corpus_that_ships(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        load_parallel("bible-en-es", "valid", part="clauses", **settings)
