"""The registered corpora: descriptions, contents, and errors for invalid requests."""

from pathlib import Path

import numpy as np
import pytest

from numpy_attention.data.datasets import corpora
from numpy_attention.data.datasets.corpora import (
    CORPORA,
    describe,
    fetch,
    find_corpus,
    load_parallel,
    load_text,
)
from numpy_attention.data.text_form import TextForm

SPLITS = ("train", "valid", "test")
GENERATED = [name for name, corpus in CORPORA.items() if corpus.origin == "generated"]


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
        text = describe(name)
        facts = (name, corpus.description, corpus.licence, corpus.languages, corpus.origin)
        assert all(fact in text for fact in facts)
        assert text.count("https://") == len(corpus.files)
    assert {(corpus.languages, corpus.form) for corpus in CORPORA.values()} == {
        ("English → Spanish", TextForm("words", True)), ("English", TextForm("words", True)),
        ("numbers", TextForm("spaces", True)),
        ("English → ISO 8601", TextForm("characters", False)),
        ("English → French", TextForm("words", True)), ("English", TextForm("spaces", False)),
        ("English", TextForm("characters", False)), ("German → English", TextForm("words", True)),
        ("English → German", TextForm("words", True)),
        ("French → English", TextForm("words", True)),
    }


def test_details_of_single_corpora():
    with_articles = {name for name, corpus in CORPORA.items()
                     if getattr(corpus, "has_articles", False)}
    assert with_articles == {"bible-en", "wikitext-2"}
    multi30k = find_corpus("multi30k-en-fr")
    assert multi30k.split_aliases == {"test_2016_flickr": "test"}
    assert multi30k.part("raw").form == TextForm("words", False)
    assert [file.path for file in multi30k.files[-2:]] == [
        f"multi30k/test_2016_flickr.lc.norm.tok.{language}" for language in ("en", "fr")]


def test_fetch_downloads_all_files_with_and_without_progress_bar(monkeypatch):
    calls = []

    def fetch_file(file, progress):
        calls.append(progress)
        return Path(file.path)

    monkeypatch.setattr(corpora, "fetch_file", fetch_file)
    paths = [Path(f"ptb/ptb.{split}.txt") for split in SPLITS]
    assert fetch("ptb") == fetch("ptb", progress=False) == paths
    assert calls == 3 * [True] + 3 * [False]


def test_invalid_requests():
    def check_error(message):
        return pytest.raises(ValueError, match=message)

    with check_error("corpus 'bible' is unknown; choose one of bible-en-es, bible-en, copy"):
        describe("bible")
    with check_error("corpus 'ptb' is a text corpus, and it is for language models; "
                 "choose one of bible-en-es, copy"):
        load_parallel("ptb", "train")
    with check_error("corpus 'copy' is a parallel corpus, and it is for translators; "
                 "choose one of bible-en, ptb"):
        load_text("copy", "train")
    for load, name in ((load_parallel, "copy"), (load_text, "bible-en")):
        with check_error("split = 'dev'; expected one of 'train', 'valid', 'test'"):
            load(name, "dev")
    with check_error("split = 'test_2016_flickr'; expected one of 'train'"):
        load_parallel("copy", "test_2016_flickr")
    with check_error("the corpus 'copy' has no option length; available options: vocabulary_size"):
        load_parallel("copy", "train", length=3)
    with check_error("the corpus 'dates' has no option min_length; available options: first_year"):
        load_parallel("dates", "train", min_length=3)
    with check_error(r"the corpus 'bible-en-es' has no option vocabulary_size"):
        load_parallel("bible-en-es", "test", vocabulary_size=3)
    with check_error("the corpus 'copy' has no part 'verses'; omit the part"):
        load_parallel("copy", "train", part="verses")
    with check_error("'bible-en-es' has no part 'raw'; choose one of clauses, verses, both, or"):
        load_parallel("bible-en-es", "train", part="raw")


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


def test_parts_and_lengths_of_bible_en_es():
    pairs = load_parallel("bible-en-es", "test")
    assert all(3 <= len(side) <= 12 for pair in pairs for side in (pair.source, pair.target))
    short = load_parallel("bible-en-es", "test", max_length=5, count=20)
    assert short == [pair for pair in pairs if len(pair.source) <= 5 and len(pair.target) <= 5][:20]
    verses = load_parallel("bible-en-es", "test", part="verses")
    assert load_parallel("bible-en-es", "test", part="both") == pairs + verses
    between = {"min_length": 9, "max_length": 20}       # includes clauses of more than 12 tokens
    both = load_parallel("bible-en-es", "test", part="both", **between)
    assert both == [pair for part in ("clauses", "verses")
                    for pair in load_parallel("bible-en-es", "test", part=part, **between)]
    assert max(len(pair.source) for pair in both) == 20
    with pytest.raises(ValueError, match="no pair in 'bible-en-es .test.' has 400 to 500 tokens"):
        load_parallel("bible-en-es", "test", part="verses", min_length=400, max_length=500)
    with pytest.raises(ValueError, match="count = 0"):
        load_parallel("bible-en-es", "test", count=0)
    assert fetch("bible-en") == [] == fetch("copy")
