"""All corpora by name: what they are, and one loader for parallel text and one for running text."""

import inspect
from dataclasses import dataclass

import numpy as np

from numpy_attention.data import bible, downloads, generators
from numpy_attention.data.pairs import read_pairs, read_tab_pairs, read_text
from numpy_attention.data.splits import check_split, split_of

GENERATED_SIZES = {"train": 20_000, "valid": 1_000, "test": 1_000}
MULTI30K_NAMES = {"train": "train", "valid": "val", "test": "test_2016_flickr"}


@dataclass(frozen=True)
class Corpus:
    """What is known of a corpus.

    kind: "parallel" or "text". origin: "shipped" with the package, "generated" on demand, or "downloaded".
    files: paths of a downloaded corpus in the data folder (see `numpy_attention.data.downloads`).
    """

    name: str
    description: str
    kind: str
    languages: str
    licence: str
    origin: str
    files: tuple = ()


def _multi30k(source, target):
    names = {"en": "English", "de": "German", "fr": "French"}
    return Corpus(
        f"multi30k-{source}-{target}",
        "Multi30k captions of pictures, lowercased and tokenised; 29,000 / 1,014 / 1,000 pairs (test_2016_flickr)",
        "parallel", f"{names[source]} → {names[target]}", "none stated: not to be passed on", "downloaded",
        tuple(f"multi30k/{name}.lc.norm.tok.{x}" for name in MULTI30K_NAMES.values() for x in (source, target)),
    )  # fmt: skip


_NONE_NEEDED = "none needed: made up on the spot"
_ALL = (
    Corpus(
        "bible-en-es",
        "King James Version and Reina-Valera 1909, gold word links: clauses of 3 to 12 tokens, or whole verses",
        "parallel", "English → Spanish", "public domain (letters patent in the United Kingdom)", "shipped",
    ),
    Corpus(
        "bible-en",
        "modern English derived from the World English Bible, one verse a line, split by chapter",
        "text", "English", "public domain", "shipped",
    ),
    Corpus("copy", "random numbers, to be copied; links known", "parallel", "numbers", _NONE_NEEDED, "generated"),
    Corpus("reverse", "random numbers, to be reversed; links known", "parallel", "numbers", _NONE_NEEDED, "generated"),
    Corpus(
        "dates",
        "dates in 18 human spellings → YYYY-MM-DD, by characters; links known",
        "parallel", "English → ISO 8601", _NONE_NEEDED, "generated",
    ),
    Corpus(
        "grammar-en-fr",
        "a small grammar: agreement, adjectives after nouns, negation around the verb; links known",
        "parallel", "English → French", _NONE_NEEDED, "generated",
    ),
    Corpus(
        "ptb",
        "Penn Treebank as prepared by Mikolov: 42,068 / 3,370 / 3,761 sentences, 9,999 words",
        "text", "English", "research use (LDC): not to be passed on", "downloaded",
        tuple(f"ptb/ptb.{split}.txt" for split in GENERATED_SIZES),
    ),
    Corpus(
        "wikitext-2",
        "Wikipedia articles, word level: 36,718 / 3,760 / 4,358 lines, blank ones included, 33,277 words",
        "text", "English", "CC BY-SA", "downloaded", tuple(f"wikitext-2/{split}.txt" for split in GENERATED_SIZES),
    ),
    *(_multi30k(*languages) for languages in (("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en"))),
    Corpus(
        "tatoeba-en-fr",
        "sentence pairs of learners (manythings.org), tokenised, lowercased, split by English sentence",
        "parallel", "English → French", "CC BY 2.0 FR; attribution: tatoeba.org and manythings.org/anki", "downloaded",
        ("tatoeba/fra-eng.txt",),
    ),
    Corpus(
        "tinyshakespeare",
        "1,115,394 characters of Shakespeare's plays, for character models: 90, 5 and 5 % in order",
        "text", "English", "public domain", "downloaded", ("tinyshakespeare/input.txt",),
    ),
)  # fmt: skip
CORPORA = {corpus.name: corpus for corpus in _ALL}


USED_BY = {"text": "train lm", "parallel": "train"}


def find_corpus(name, kind=None):
    """The `Corpus` of a name. Raises ValueError for an unknown name, or another kind, and lists those there are."""
    corpus = CORPORA.get(name)
    if corpus is None or kind not in (None, corpus.kind):
        known = ", ".join(c.name for c in _ALL if kind in (None, c.kind))
        wrong = ("is unknown" if corpus is None else
                 f"is {corpus.kind}, not {kind}: it is for numpy-attention {USED_BY[corpus.kind]}")
        raise ValueError(f"corpus {name!r} {wrong}; choose one of {known}")
    return corpus


def describe(name):
    """A few lines of text about a corpus: what it is, languages, licence, origin."""
    corpus = find_corpus(name)
    lines = [f"{corpus.name}: {corpus.description}", f"kind: {corpus.kind}", f"languages: {corpus.languages}"]
    lines += [f"licence: {corpus.licence}", f"origin: {corpus.origin}"]
    lines += [f"file: {path} from {downloads.FILES[path].url}" for path in corpus.files]
    return "\n".join(lines)


def fetch(name, progress=True):
    """Downloads a corpus's files unless they are there → list of Paths (empty for what ships or is generated)."""
    return [downloads.data_file(path, progress) for path in find_corpus(name).files]


def load_parallel(name, split, rng=None, count=None, min_length=None, max_length=None, part=None, **options):
    """Sentence pairs of a corpus: list of `Pair`.

    split: "train", "valid" or "test", which may be called "test_2016_flickr" of Multi30k. min_length, max_length: least and
    largest number of tokens on both sides.
    count: at most so many pairs, the first ones; for generated corpora exactly so many (else 20,000 / 1,000 / 1,000).
    part: "clauses" (unless given) or "verses" of bible-en-es; "raw" for Multi30k's text as written, split by
    `word_tokens`, in place of its own lowercased tokens.
    rng, options: for generated corpora, a random generator (else one of seed 0) and arguments of the function in
    `generators`. Their splits share no source, and those of `dates` no date, whatever the seeds: `split_of` decides.
    Lengths are those of the sequences for copy and reverse; dates and grammar-en-fr do not take them.
    Raises ValueError for unknown names, splits and options, or when no pair is left.
    """
    corpus = find_corpus(name, "parallel")
    if name.startswith("multi30k") and split == MULTI30K_NAMES["test"]:
        split = "test"
    check_split(split)
    parts = {"bible": (None, "clauses", "verses"), "multi30k": (None, "raw")}.get(name.split("-")[0], (None,))
    if part not in parts:
        raise ValueError(f"part = {part!r}; {name} has {', '.join(map(str, parts))}")
    if corpus.origin == "generated":
        return _generate(name, split, rng, count, min_length, max_length, options)
    if options:
        raise ValueError(f"{name} does not know the option(s) {', '.join(options)}; they belong to generated corpora")
    if count is not None and count < 1:
        raise ValueError(f"count = {count}; expected at least 1 pair")
    if name == "bible-en-es":
        pairs = bible.load_bible_en_es(part or "clauses", split, min_length, max_length)
    elif name == "tatoeba-en-fr":
        pairs = _tatoeba(split)
    else:
        form = "multi30k/{}.{}.gz" if part == "raw" else "multi30k/{}.lc.norm.tok.{}"
        files = [downloads.data_file(form.format(MULTI30K_NAMES[split], x)) for x in name.split("-")[1:]]
        pairs = read_pairs(*files, tokenize=part == "raw")
    low, high = min_length or 1, max_length or float("inf")
    pairs = [pair for pair in pairs if all(low <= len(side) <= high for side in (pair.source, pair.target))]
    if not pairs:
        raise ValueError(f"no pair of {name} ({split}) has {low} to {high} tokens on both sides; allow more lengths")
    return pairs[:count]


def _generate(name, split, rng, count, min_length, max_length, options):
    generate = getattr(generators, name.replace("-", "_"))
    lengths = {"min_length": min_length, "max_length": max_length}
    options.update((key, value) for key, value in lengths.items() if value is not None)
    known = [option for option in inspect.signature(generate).parameters if option not in ("rng", "count", "keep")]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"{name} does not know {', '.join(unknown)}; its options are: {', '.join(known) or 'none'}")

    def keep(pair):
        return split_of(pair.target if name == "dates" else pair.source) == split

    rng = np.random.default_rng(0) if rng is None else rng
    return generate(rng, GENERATED_SIZES[split] if count is None else count, keep=keep, **options)


def _tatoeba(split):
    pairs = read_tab_pairs(downloads.data_file("tatoeba/fra-eng.txt"), lowercase=True, elision=True)
    return [pair for pair in pairs if split_of(pair.source, held_out=0.04) == split]


def load_text(name, split):
    """Running text: a list of token lists, one a sentence or line; for tinyshakespeare one string of characters.

    wikitext-2 keeps blank lines as empty lists, since their ends count as tokens; bible-en has one verse a list, its
    chapters joined (`bible.load_bible_en` keeps them apart). Raises ValueError for unknown names and splits.
    """
    find_corpus(name, "text")
    check_split(split)
    if name == "bible-en":
        return [verse for chapter in bible.load_bible_en(split) for verse in chapter]
    if name == "ptb":
        return read_text(downloads.data_file(f"ptb/ptb.{split}.txt"))
    if name == "wikitext-2":
        return read_text(downloads.data_file(f"wikitext-2/{split}.txt"), blank_lines="keep")
    text = downloads.data_file("tinyshakespeare/input.txt").read_bytes().decode("utf-8")
    first, second = len(text) * 90 // 100, len(text) * 95 // 100
    return {"train": text[:first], "valid": text[first:second], "test": text[second:]}[split]
