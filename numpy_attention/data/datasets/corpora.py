"""The table of all corpora, and functions that load them by name.

To add a corpus, add an entry here and the function that reads the corpus. A downloaded corpus has
its entry in `public`, next to the addresses of its files. The classes of entries are in
`datasets.corpus`.
"""

from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from numpy_attention.data.datasets import bible, generators
from numpy_attention.data.datasets.corpus import Corpus, GeneratedCorpus, ParallelCorpus, TextCorpus
from numpy_attention.data.datasets.dates import dates
from numpy_attention.data.datasets.downloads import fetch_file
from numpy_attention.data.datasets.grammar import grammar_en_fr
from numpy_attention.data.datasets.public import PUBLIC
from numpy_attention.data.pairs import Pair
from numpy_attention.validation.arguments import check_name
from numpy_attention.validation.messages import short_repr

USED_BY = {"text": "language models", "parallel": "translators"}

CORPORA: dict[str, Corpus] = {corpus.name: corpus for corpus in (
    ParallelCorpus(
        name="bible-en-es",
        description="King James Version and Reina-Valera 1909, gold word links: "
        "clauses of 3 to 12 tokens, whole verses, or both",
        languages="English → Spanish",
        licence="public domain (letters patent in the United Kingdom)",
        origin="shipped",
        read=partial(bible.load_bible_en_es, "clauses"),
        parts={
            "clauses": {},
            "verses": {"read": partial(bible.load_bible_en_es, "verses")},
            "both": {"read": bible.load_both},
        },
    ),
    TextCorpus(
        name="bible-en",
        description="modern English derived from the World English Bible, one verse per line, "
        "split by chapter",
        languages="English",
        licence="public domain",
        origin="shipped",
        read=bible.load_bible_en,
        has_articles=True,
    ),
    GeneratedCorpus(
        name="copy",
        description="random numbers, to be copied; links known",
        languages="numbers",
        read=generators.copy,
        tokenizer="spaces",
    ),
    GeneratedCorpus(
        name="reverse",
        description="random numbers, to be reversed; links known",
        languages="numbers",
        read=generators.reverse,
        tokenizer="spaces",
    ),
    GeneratedCorpus(
        name="dates",
        description="dates in 18 human spellings → YYYY-MM-DD, by characters; links known",
        languages="English → ISO 8601",
        read=dates,
        split_by="target",
        tokenizer="characters",
        lowercase=False,
    ),
    GeneratedCorpus(
        name="grammar-en-fr",
        description="a small grammar: agreement, adjectives after nouns, negation around the verb; "
        "links known",
        languages="English → French",
        read=grammar_en_fr,
    ),
    *PUBLIC,
)}


def find_corpus(name: str, kind: str | None = None) -> Corpus:
    """Return the `Corpus` with this name. kind: "parallel" or "text", or None for either kind.

    Raises ValueError, with the known names, for an unknown name or a corpus of the other kind.
    """
    corpus = CORPORA.get(name) if isinstance(name, str) else None
    if kind is not None:
        check_name("kind", kind, USED_BY)
    if corpus is None:
        wrong = "is unknown"
    elif kind not in (None, corpus.kind):
        wrong = f"is a {corpus.kind} corpus, and it is for {USED_BY[corpus.kind]}"
    else:
        return corpus
    known = ", ".join(one.name for one in CORPORA.values() if kind in (None, one.kind))
    raise ValueError(f"corpus {short_repr(name)} {wrong}; choose one of {known}")


def describe(name: str) -> str:
    """Return a few lines of text about a corpus: content, languages, licence and origin."""
    corpus = find_corpus(name)
    lines = [f"{corpus.name}: {corpus.description}"]
    lines += [f"{fact}: {getattr(corpus, fact)}"
              for fact in ("kind", "languages", "licence", "origin")]
    lines += [f"file: {file.path} from {file.url}" for file in corpus.files]
    return "\n".join(lines)


def fetch(name: str, progress: bool = True) -> list[Path]:
    """Download the files of a corpus, unless they exist; return a list of their Paths.

    progress: show a progress bar. The list is empty for corpora that are shipped or generated.
    """
    return [fetch_file(file, progress=progress) for file in find_corpus(name).files]


def load_parallel(name: str, split: str, rng: np.random.Generator | None = None,
                  count: int | None = None, min_length: int | None = None,
                  max_length: int | None = None, part: str | None = None,
                  **options: Any) -> list[Pair]:
    """Return the sentence pairs of a corpus as a list of `Pair`.

    split: "train", "valid" or "test"; the test split of Multi30k is also called "test_2016_flickr".
    min_length, max_length: the minimum and maximum number of tokens on each side.
    count: return at most the first `count` pairs. Generated corpora return exactly this many pairs,
    by default 20,000 for "train" and 1,000 for each of the other splits.
    part: for bible-en-es, "clauses" (the default), "verses" or "both". For Multi30k, "raw": the
    original text, split by `word_tokens`, instead of the lowercased tokens of the corpus.
    rng: a random generator for generated corpora, by default with seed 0.
    options: further arguments of a generated corpus, for the function that generates the pairs.

    In a generated corpus, `split_of` assigns each source sentence (in "dates", each date) to one
    split, the same for every seed. For copy and reverse, min_length and max_length limit the
    sequences; dates and grammar-en-fr do not accept these limits.

    Raises ValueError for unknown names, splits and options, or if no pair is left.
    """
    corpus = cast(ParallelCorpus, find_corpus(name, "parallel")).part(part)
    return corpus.pairs(split, rng, count, min_length=min_length, max_length=max_length, **options)


def text_corpus(name: str) -> TextCorpus:
    """Return a corpus of running text. Raises the errors of `find_corpus`."""
    return cast(TextCorpus, find_corpus(name, "text"))


def load_text(name: str, split: str) -> list[list[str]] | str:
    """Return a split of running text: a list of token lists, or a string for a text of characters.

    There is one token list per sentence or line. wikitext-2 keeps blank lines as empty lists,
    because line ends count as tokens. bible-en has one list per verse, and its chapters are
    joined; `running_text.load` keeps them apart. Raises ValueError for an unknown name or split.
    """
    corpus = text_corpus(name)
    sentences = [sentence for article in corpus.articles(split) for sentence in article]
    if corpus.tokenizer == "characters":
        return "".join(letter for sentence in sentences for letter in sentence)
    return sentences


def load_corpus(name: str, split: str = "train", **options: Any) -> list:
    """Return a split of a corpus as a list of Pairs, of sentences, or of characters.

    options: arguments of `load_parallel`, such as max_length. Raises ValueError for an unknown
    name, split or option, and TypeError for any option with running text.
    """
    if find_corpus(name).kind == "parallel":
        return load_parallel(name, split, **options)
    if options:
        raise TypeError(f"{short_repr(next(iter(options)))} is an option for pairs of sentences, "
                        f"but {name!r} is running text; omit it")
    return list(load_text(name, split))
