"""All corpora by name: one entry each, which says what it is, how it is loaded and how it is cut.

A new corpus is an entry of `CORPORA` and the function that it is read by (`data.corpus` says what
each kind of corpus gives it): like those of `generators` for made-up pairs, or in `public`, where
the address of a public file stands too.
"""

from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from numpy_attention.validation.arguments import check_name
from numpy_attention.validation.messages import short_repr
from numpy_attention.data.datasets import bible, generators, public
from numpy_attention.data.datasets.corpus import Corpus, GeneratedCorpus, ParallelCorpus, TextCorpus
from numpy_attention.data.datasets.dates import dates
from numpy_attention.data.datasets.grammar import grammar_en_fr
from numpy_attention.data.pairs import Pair
from numpy_attention.data.splits import SPLITS

LANGUAGES = {"en": "English", "de": "German", "fr": "French"}
USED_BY = {"text": "language models", "parallel": "translators"}


def _multi30k(source: str, target: str) -> ParallelCorpus:
    return ParallelCorpus(
        name=f"multi30k-{source}-{target}",
        description="Multi30k captions of pictures, lowercased and tokenised; "
        "29,000 / 1,014 / 1,000 pairs (test_2016_flickr)",
        languages=f"{LANGUAGES[source]} → {LANGUAGES[target]}",
        licence="none stated: not to be passed on",
        origin="downloaded",
        read=partial(public.multi30k, (source, target)),
        split_names={"test_2016_flickr": "test"},
        parts={"raw": {"read": partial(public.multi30k_raw, (source, target)), "lowercase": False}},
        files=tuple(
            f"multi30k/{name}.lc.norm.tok.{language}"
            for name in public.MULTI30K_SPLITS.values()
            for language in (source, target)
        ),
    )


CORPORA: dict[str, Corpus] = {corpus.name: corpus for corpus in (
    ParallelCorpus(
        name="bible-en-es",
        description="King James Version and Reina-Valera 1909, gold word links: "
        "clauses of 3 to 12 tokens, whole verses, or both",
        languages="English → Spanish",
        licence="public domain (letters patent in the United Kingdom)",
        origin="shipped",
        read=partial(bible.load_bible_en_es, "clauses"),
        reads_lengths=True,
        parts={
            "clauses": {},
            "verses": {"read": partial(bible.load_bible_en_es, "verses")},
            "both": {"read": bible.load_both},
        },
    ),
    TextCorpus(
        name="bible-en",
        description="modern English derived from the World English Bible, one verse a line, "
        "split by chapter",
        languages="English",
        licence="public domain",
        origin="shipped",
        read=bible.load_bible_en,
        whole=True,
    ),
    GeneratedCorpus(
        name="copy",
        description="random numbers, to be copied; links known",
        languages="numbers",
        read=generators.copy,
        cut="spaces",
    ),
    GeneratedCorpus(
        name="reverse",
        description="random numbers, to be reversed; links known",
        languages="numbers",
        read=generators.reverse,
        cut="spaces",
    ),
    GeneratedCorpus(
        name="dates",
        description="dates in 18 human spellings → YYYY-MM-DD, by characters; links known",
        languages="English → ISO 8601",
        read=dates,
        split_by="target",
        cut="characters",
        lowercase=False,
    ),
    GeneratedCorpus(
        name="grammar-en-fr",
        description="a small grammar: agreement, adjectives after nouns, negation around the verb; "
        "links known",
        languages="English → French",
        read=grammar_en_fr,
    ),
    TextCorpus(
        name="ptb",
        description="Penn Treebank as prepared by Mikolov: 42,068 / 3,370 / 3,761 sentences, "
        "9,999 words",
        languages="English",
        licence="research use (LDC): not to be passed on",
        origin="downloaded",
        read=public.penn_treebank,
        cut="spaces",
        lowercase=False,
        files=tuple(f"ptb/ptb.{split}.txt" for split in SPLITS),
    ),
    TextCorpus(
        name="wikitext-2",
        description="Wikipedia articles, word level: 36,718 / 3,760 / 4,358 lines, "
        "blank ones included, 33,277 words",
        languages="English",
        licence="CC BY-SA",
        origin="downloaded",
        read=public.wikitext_2,
        whole=True,
        cut="spaces",
        lowercase=False,
        files=tuple(f"wikitext-2/{split}.txt" for split in SPLITS),
    ),
    _multi30k("de", "en"),
    _multi30k("en", "de"),
    _multi30k("en", "fr"),
    _multi30k("fr", "en"),
    ParallelCorpus(
        name="tatoeba-en-fr",
        description="sentence pairs of learners (manythings.org), tokenised, lowercased, "
        "split by English sentence",
        languages="English → French",
        licence="CC BY 2.0 FR; attribution: tatoeba.org and manythings.org/anki",
        origin="downloaded",
        read=public.tatoeba,
        files=("tatoeba/fra-eng.txt",),
    ),
    TextCorpus(
        name="tinyshakespeare",
        description="1,115,394 characters of Shakespeare's plays, for character models: "
        "90, 5 and 5 % in order",
        languages="English",
        licence="public domain",
        origin="downloaded",
        read=public.tinyshakespeare,
        cut="characters",
        lowercase=False,
        files=("tinyshakespeare/input.txt",),
    ),
)}


def find_corpus(name: str, kind: str | None = None) -> Corpus:
    """The `Corpus` of a name; kind: "parallel" or "text", where it must be of that kind.

    ValueError: an unknown name, or another kind; lists those there are.
    """
    corpus = CORPORA.get(name) if isinstance(name, str) else None
    if kind is not None:
        check_name("kind", kind, USED_BY)
    if corpus is None:
        wrong = "is unknown"
    elif kind not in (None, corpus.kind):
        wrong = f"is {corpus.kind}, not {kind}: it is for {USED_BY[corpus.kind]}"
    else:
        return corpus
    known = ", ".join(one.name for one in CORPORA.values() if kind in (None, one.kind))
    raise ValueError(f"corpus {short_repr(name)} {wrong}; choose one of {known}")


def describe(name: str) -> str:
    """A few lines of text about a corpus: what it is, languages, licence, origin."""
    corpus = find_corpus(name)
    lines = [
        f"{corpus.name}: {corpus.description}",
        f"kind: {corpus.kind}",
        f"languages: {corpus.languages}",
        f"licence: {corpus.licence}",
        f"origin: {corpus.origin}",
    ]
    lines += [f"file: {path} from {public.FILES[path].url}" for path in corpus.files]
    return "\n".join(lines)


def fetch(name: str, progress: bool = True) -> list[Path]:
    """Downloads a corpus's files unless they are there.

    → a list of Paths, empty for what ships or is generated.
    """
    return [public.data_file(path, progress) for path in find_corpus(name).files]


def load_parallel(
    name: str,
    split: str,
    rng: np.random.Generator | None = None,
    count: int | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    part: str | None = None,
    **options: Any,
) -> list[Pair]:
    """Sentence pairs of a corpus: list of `Pair`.

    split: "train", "valid" or "test", which may be called "test_2016_flickr" of Multi30k.
    min_length, max_length: least and largest number of tokens on both sides.
    count: at most so many pairs, the first ones; for generated corpora exactly so many (else
    20,000 / 1,000 / 1,000).
    part: "clauses" (unless given), "verses" or "both" of bible-en-es; "raw" for Multi30k's text
    as written, split by `word_tokens`, in place of its own lowercased tokens.
    rng, options: for generated corpora, a random generator (else one of seed 0) and arguments of
    the function that makes them up. Their splits share no source, and those of `dates` no date,
    whatever the seeds: `split_of` decides. Lengths are those of the sequences for copy and reverse;
    dates and grammar-en-fr do not take them.
    Raises ValueError for unknown names, splits and options, or when no pair is left.
    """
    corpus = cast(ParallelCorpus, find_corpus(name, "parallel")).part(part)
    return corpus.pairs(split, rng, count, min_length, max_length, **options)


def text_corpus(name: str) -> TextCorpus:
    """A corpus of running text; errors as `find_corpus` has them."""
    return cast(TextCorpus, find_corpus(name, "text"))


def load_text(name: str, split: str) -> list[list[str]] | str:
    """Running text: a list of token lists, one a sentence or line; characters are one string.

    wikitext-2 keeps blank lines as empty lists, since their ends count as tokens; bible-en has one
    verse a list, its chapters joined (`running_text.load` keeps them apart). Raises ValueError for
    unknown names and splits.
    """
    corpus = text_corpus(name)
    sentences = [sentence for article in corpus.articles(split) for sentence in article]
    if corpus.cut == "characters":
        return "".join(letter for sentence in sentences for letter in sentence)
    return sentences


def load_corpus(name: str, split: str = "train", **options: Any) -> list:
    """A split of a corpus: Pairs of a parallel one, sentences or letters of a text.

    options: as in `load_parallel`; a text takes none. ValueError: an unknown name or split.
    """
    if find_corpus(name).kind == "parallel":
        return load_parallel(name, split, **options)
    return list(load_text(name, split, **options))
