"""Corpora as table entries: their content, how they are read, and how their text is tokenized."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, ClassVar, TypeVar

import numpy as np

from numpy_attention.data.datasets.downloads import RemoteFile
from numpy_attention.data.pairs import Pair, limited
from numpy_attention.data.splits import SPLITS, split_of
from numpy_attention.data.text_form import TextForm
from numpy_attention.registry import accepted_kwargs
from numpy_attention.validation.arguments import check_generator, check_name
from numpy_attention.validation.arrays import at_least
from numpy_attention.validation.messages import short_repr

GENERATED_SIZES = {"train": 20_000, "valid": 1_000, "test": 1_000}
AnyCorpus = TypeVar("AnyCorpus", bound="Corpus")


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """An entry in the table of corpora, CORPORA. `CORPORA[entry.name] = entry` adds the entry.

    origin: "shipped" with the package, "generated" on demand, or "downloaded"
    read: the function that reads the corpus; each subclass documents its arguments
    tokenizer, lowercase: the fields of the TextForm that turned the raw text into tokens
    files: the files of a downloaded corpus
    parts: {name of a part: {field: value}}, for the fields that differ from the corpus
    """

    kind: ClassVar[str]

    name: str
    description: str
    languages: str
    licence: str
    origin: str
    read: Callable
    tokenizer: str = "words"
    lowercase: bool = True
    files: tuple[RemoteFile, ...] = ()
    parts: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def form(self) -> TextForm:
        """The TextForm that tokenizes raw text like the text of this corpus."""
        return TextForm(self.tokenizer, self.lowercase)

    def part(self: AnyCorpus, name: str | None) -> AnyCorpus:
        """Return the part with this name as a corpus, or the corpus itself if `name` is None.

        Raises ValueError for an unknown name.
        """
        if name is None:
            return self
        if not isinstance(name, str) or name not in self.parts:
            choice = f"choose one of {', '.join(self.parts)}, or " if self.parts else ""
            raise ValueError(f"the corpus {self.name!r} has no part {short_repr(name)}; "
                             f"{choice}omit the part")
        return replace(self, **self.parts[name])


@dataclass(frozen=True, kw_only=True)
class TextCorpus(Corpus):
    """A corpus of running text.

    read(split) returns articles, which are lists of sentences, which are lists of tokens. A text of
    characters is one article with one sentence. has_articles: whether the text itself is divided
    into articles, so that a model's state can be reset between two articles.
    """

    kind: ClassVar[str] = "text"

    has_articles: bool = False

    def articles(self, split: str) -> list[list[list[str]]]:
        """Return the articles of a split. Raises ValueError for an unknown split."""
        check_name("split", split, SPLITS)
        return self.read(split)


@dataclass(frozen=True, kw_only=True)
class ParallelCorpus(Corpus):
    """A corpus of sentence pairs.

    read(split) returns a list of Pairs. If `read` has parameters min_length and max_length, these
    limits are passed to `read`, where None means the default limits of the corpus. split_aliases:
    {alias: split}, other names for "train", "valid" or "test".
    """

    kind: ClassVar[str] = "parallel"

    split_aliases: Mapping[str, str] = field(default_factory=dict)

    def pairs(self, split: str, rng: np.random.Generator | None = None, count: int | None = None,
              min_length: int | None = None, max_length: int | None = None,
              **options: Any) -> list[Pair]:
        """Return the pairs of a split. For the arguments, see `load_parallel`."""
        if isinstance(split, str):
            split = self.split_aliases.get(split, split)
        check_name("split", split, SPLITS)
        if rng is not None:
            check_generator(rng)
        if options:
            raise ValueError(f"the corpus {self.name!r} has no option {' or '.join(options)}; only "
                             "generated corpora have options")
        at_least(1, count=count, min_length=min_length, max_length=max_length)
        lengths = accepted_kwargs(self.read, min_length=min_length, max_length=max_length)
        pairs = self.read(split, **lengths)
        return limited(pairs, f"{self.name} ({split})", min_length, max_length, count)


@dataclass(frozen=True, kw_only=True)
class GeneratedCorpus(ParallelCorpus):
    """A corpus of randomly generated sentence pairs.

    read(rng, count, …, keep) is one of the functions in `generators`, or a similar function. Its
    other parameters (…) are the options of the corpus. split_by: the side, "source" or
    "target", whose words determine the split.
    """

    licence: str = "none needed: made up on the spot"
    origin: str = "generated"
    split_by: str = "source"

    def pairs(self, split: str, rng: np.random.Generator | None = None,  # type: ignore[override]
              count: int | None = None, **options: Any) -> list[Pair]:
        """Return `count` pairs of a split. For the arguments, see `load_parallel`."""
        check_name("split", split, SPLITS)
        options = {name: value for name, value in options.items() if value is not None}
        known = [name for name in signature(self.read).parameters
                 if name not in ("rng", "count", "keep")]
        unknown = sorted(options.keys() - set(known))
        if unknown:
            raise ValueError(f"the corpus {self.name!r} has no option {' or '.join(unknown)}; "
                             f"available options: {', '.join(known) or 'none'}")

        def keep(pair: Pair) -> bool:
            return split_of(getattr(pair, self.split_by)) == split

        if rng is None:
            rng = np.random.default_rng(0)
        if count is None:
            count = GENERATED_SIZES[split]
        return self.read(rng, count, keep=keep, **options)
