"""Check the user's text for likely problems before training.

Most checks read only a sample of the text, so a long text takes little longer than a short one.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from numpy_attention.data.pairs import Pair
from numpy_attention.data.protocols import AnyVocabulary

Sentences = Sequence[Sequence[str]]

SAMPLE = 5_000          # sentences
UNKNOWN = 0.15          # share of unknown words above which a model learns little
LONG = 100              # tokens: longer sentences are reported if they exceed LONGER, too
LONGER = 8              # times the length that 95 % of the sentences do not exceed
FEW = 0.01              # share of sentences up to which a finding is not reported
SPACED = 20             # letters of a token, on average, in a text without spaces

RESERVED = re.compile(r"(?:^| )(<s>|</s>|<pad>|<eos>|<bos>|\[PAD\]|\[CLS\]|\[SEP\])(?= |$)")
SIGNS = {
    "markup such as {}": (
        re.compile(r"</?(?!unk\b|s\b|pad\b|num\b|eos\b|bos\b)[a-zA-Z][^<>]{0,80}>"),
        "remove it first, for instance with sed 's/<[^>]*>//g'"),
    "the entity {}": (
        re.compile(r"& ?(?:amp|apos|quot|lt|gt|nbsp|#\d{2,5}|#x[0-9a-f]+) ?;"),
        "replace entities with their characters first: python3 -c 'import html, sys; "
        "print(html.unescape(sys.stdin.read()), end=\"\")' < FILE > NEW"),
    "words that are already split into pieces, such as {}": (
        re.compile(r"\S+@@(?= )|(?:^| )▁\S+"),
        "join the pieces first, with sed 's/@@ //g' FILE, or leave out subwords"),
    "the word {}, which marks the ends of sentences here": (
        RESERVED, "remove it from the text: sentences end where lines do"),
}
# marks of a tokenizer, in a text that was tokenized twice
TWICE = re.compile(r"@ - @|& (?:apos|quot|amp|lt|gt) ;|(?:^| )(?:n't|'s|'re|'ve|'ll)(?= |$)")
LICENCE = re.compile(r"project gutenberg", re.IGNORECASE)
ENDED = re.compile(r"\w[.!?,]$")
OPEN = re.compile(r"[\w,;-]$")          # a line that does not end where a sentence does


def of_pairs(train: Sequence[Pair], valid: Sequence[Pair], vocabularies: Sequence[AnyVocabulary],
             own_valid: bool, max_length: int | None, tokenized: bool,
             max_vocabulary: int | None = None) -> Iterator[str]:
    """Yield a warning for each likely problem in the training and validation pairs.

    own_valid: whether the user provided `valid`. max_length: if None, overlong sentences are
    reported. tokenized: whether `tokenize` is set. max_vocabulary: the limit of the vocabularies.
    """
    for side, vocabulary in zip(("source", "target"), vocabularies):
        learned = [getattr(pair, side) for pair in _sample(train)]
        held = [getattr(pair, side) for pair in _sample(valid)]
        yield from _in_sentences(f"{side}: ", learned, tokenized)
        yield from _unknown(f"{side}: ", learned, held, vocabulary, "subwords", max_vocabulary)
        if max_length is None:
            yield from _long(f"{side}: ", learned)
    same = sum(pair.source == pair.target for pair in _sample(train)) / len(_sample(train))
    if 0.05 < same < 0.95:
        yield (f"{same:.0%} of the pairs have the same sentence on both sides; leave out lines "
               "that are not translated")
    if own_valid:
        known = {pair.source for pair in train}
        yield from _seen("source: ", [pair.source in known for pair in valid])


def of_text(train: Sentences, valid: Sentences, vocabulary: AnyVocabulary, own_valid: bool,
            tokenized: bool, max_vocabulary: int | None = None) -> Iterator[str]:
    """Yield a warning for each likely problem in running text. See `of_pairs` for arguments."""
    learned, held = _sample(train), _sample(valid)
    yield from _in_sentences("", learned, tokenized)
    yield from _unknown("", learned, held, vocabulary, "characters", max_vocabulary)
    yield from _wrapped(learned)
    if any(LICENCE.search(" ".join(sentence)) for sentence in valid):
        yield ("the validation text contains the licence of Project Gutenberg; cut it off at "
               "*** END OF THE PROJECT GUTENBERG EBOOK")
    if own_valid:
        known = set(map(tuple, train))
        long = [tuple(sentence) for sentence in valid if len(sentence) >= 5]
        yield from _seen("", [sentence in known for sentence in long])


def _sample(sentences: Sequence) -> Sequence:
    """Return at most SAMPLE of the sentences, evenly spaced."""
    return sentences[::max(1, -(-len(sentences) // SAMPLE))]


def _in_sentences(where: str, sentences: Sentences, tokenized: bool) -> Iterator[str]:
    lines = [" ".join(sentence) for sentence in sentences]
    for what, (sign, remedy) in SIGNS.items():
        found = [match[0].strip() for match in map(sign.search, lines) if match]
        if len(found) > FEW * len(lines):
            share = _share(found, lines)
            yield f"{where}{share} of the sentences contain {what.format(found[0])}; {remedy}"
    twice = [line for line in lines if TWICE.search(line)]
    if tokenized and len(twice) > FEW * len(lines):
        signs = " ".join(twice[:1])
        example = " ".join(match[0].strip() for match in TWICE.finditer(signs))
        yield (f"{where}{_share(twice, lines)} of the sentences contain output of a tokenizer, "
               f"such as {example}: the text is already split, so leave out tokenize")
    ended = [line for line in lines if ENDED.search(line)]
    if not tokenized and len(ended) > 0.5 * len(lines):
        yield (f"{where}{_share(ended, lines)} of the sentences end in a word with its full stop, "
               f"such as {ended[0].split()[-1]!r}; split words and punctuation with tokenize")


def _wrapped(sentences: Sentences) -> Iterator[str]:
    lines = [" ".join(sentence) for sentence in sentences if sentence]
    widths = np.array([len(line) for line in lines])
    full = widths > 0.8 * np.quantile(widths, 0.95)
    wrapped = [line for line, is_full in zip(lines, full) if is_full and OPEN.search(line)]
    if len(wrapped) > 0.5 * len(lines):
        yield (f"{_share(wrapped, lines)} of the lines seem to be wrapped at the same width, but "
               "each line counts as a sentence; join the lines of each paragraph first: "
               "awk 'BEGIN {RS = \"\"} {$1 = $1} 1' FILE > NEW")


def _unknown(where: str, learned: Sentences, held: Sentences, vocabulary: AnyVocabulary,
             remedy: str, max_vocabulary: int | None) -> Iterator[str]:
    more = "larger max_vocabulary" if len(vocabulary) == max_vocabulary else "lower min_count"
    keep = ""           # if the training text has no unknown words, no option can keep more words
    for what, sentences in (("", learned), (" held-out", held)):
        share = vocabulary.unknown_share(sentences) if any(map(len, sentences)) else 0.0
        if share and not what:
            keep = f", or keep rare words with a {more}"
        if share > UNKNOWN:
            words = list(chain.from_iterable(sentences))
            long = np.mean([len(word) for word in words]) > SPACED / 2
            why = ", and spaces do not seem to separate the words" if long else ""
            yield (f"{where}{share:.0%} of the{what} words are unknown to the vocabulary{why}; "
                   f"cut them into pieces with {remedy}{keep}")
            return


def _long(where: str, sentences: Sentences) -> Iterator[str]:
    lengths = np.array([len(sentence) for sentence in sentences])
    usual = np.quantile(lengths, 0.95)
    far = lengths > max(LONG, LONGER * usual)
    if far.any():
        yield (f"{where}{far.mean():.1%} of the sentences are far longer than the rest: the "
               f"longest has {lengths.max():,} tokens, but 95 % have at most {usual:.0f}; leave "
               f"long ones out with max_length {max(1, round(2 * usual))}")


def _seen(where: str, seen: Sequence[bool]) -> Iterator[str]:
    share = np.mean(seen) if len(seen) else 0.0
    if share > 0.2:
        yield (f"{where}{share:.0%} of the validation sentences are also training sentences, so "
               "validation says nothing about new text; use other sentences")


def _share(some: Sequence, of: Sequence) -> str:
    share = len(some) / len(of)
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
