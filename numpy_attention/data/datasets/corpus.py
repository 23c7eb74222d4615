"""What a corpus is: an entry that says what it holds, how it is loaded, and how its text is cut."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from numpy_attention.validation.arguments import check_generator
from numpy_attention.validation.messages import short_repr
from numpy_attention.data.pairs import Pair, limited
from numpy_attention.data.splits import check_split, split_of
from numpy_attention.data.text_form import TextForm
from numpy_attention.validation.arrays import at_least

GENERATED_SIZES = {"train": 20_000, "valid": 1_000, "test": 1_000}
AnyCorpus = TypeVar("AnyCorpus", bound="Corpus")


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """What is known of a corpus.

    origin: "shipped" with the package, "generated" on demand, or "downloaded".
    read: the function that brings it; each kind of corpus says what it is given.
    cut, lowercase: how its raw text became tokens, as a TextForm has it.
    files: paths of a downloaded corpus in the data folder (see `numpy_attention.data.datasets.public`).
    parts: {name: the fields in which this part differs from the corpus}.
    """

    kind: ClassVar[str]

    name: str
    description: str
    languages: str
    licence: str
    origin: str
    read: Callable
    cut: str = "words"
    lowercase: bool = True
    files: tuple[str, ...] = ()
    parts: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def form(self) -> TextForm:
        """How its raw text is cut."""
        return TextForm(self.cut, self.lowercase)

    def part(self: AnyCorpus, name: str | None) -> AnyCorpus:
        """One of its parts; None: itself. ValueError: it has no such part."""
        if name is None:
            return self
        if not isinstance(name, str) or name not in self.parts:
            known = ", ".join(map(str, (None, *self.parts)))
            raise ValueError(f"part = {short_repr(name)}; {self.name} has {known}")
        return replace(self, **self.parts[name])


@dataclass(frozen=True, kw_only=True)
class TextCorpus(Corpus):
    """Running text.

    read(split) → articles: lists of sentences, which are lists of tokens. Characters are one
    article of one sentence. whole: the articles are the text's own.
    """

    kind: ClassVar[str] = "text"

    whole: bool = False

    def articles(self, split: str) -> list[list[list[str]]]:
        """The articles of a split. ValueError: an unknown split."""
        check_split(split)
        return self.read(split)


@dataclass(frozen=True, kw_only=True)
class ParallelCorpus(Corpus):
    """Sentence pairs.

    read(split) → a list of Pairs; where it reads_lengths, read(split, min_length, max_length),
    each of them None for its own. split_names: other names that a split has.
    """

    kind: ClassVar[str] = "parallel"

    reads_lengths: bool = False
    split_names: Mapping[str, str] = field(default_factory=dict)

    def pairs(
        self,
        split: str,
        rng: np.random.Generator | None = None,
        count: int | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        **options: Any,
    ) -> list[Pair]:
        """The pairs of a split, as `load_parallel` says."""
        if isinstance(split, str):
            split = self.split_names.get(split, split)
        check_split(split)
        if rng is not None:
            check_generator(rng)
        if options:
            raise ValueError(
                f"{self.name} does not know the option(s) {', '.join(options)}; they belong to "
                "generated corpora"
            )
        at_least(1, count=count, min_length=min_length, max_length=max_length)
        lengths = (min_length, max_length) if self.reads_lengths else ()
        pairs = self.read(split, *lengths)
        return limited(pairs, f"{self.name} ({split})", min_length, max_length, count)


@dataclass(frozen=True, kw_only=True)
class GeneratedCorpus(ParallelCorpus):
    """Sentence pairs made up on the spot.

    read(rng, count, …, keep), as in `generators`: its further parameters are the corpus's options.
    split_by: the side, "source" or "target", whose words decide on the split.
    """

    licence: str = "none needed: made up on the spot"
    origin: str = "generated"
    split_by: str = "source"

    def pairs(
        self,
        split: str,
        rng: np.random.Generator | None = None,
        count: int | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        **options: Any,
    ) -> list[Pair]:
        """So many pairs of a split, as `load_parallel` says."""
        check_split(split)
        lengths = {"min_length": min_length, "max_length": max_length}
        options |= {name: length for name, length in lengths.items() if length is not None}
        parameters = inspect.signature(self.read).parameters
        known = [name for name in parameters if name not in ("rng", "count", "keep")]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ValueError(
                f"{self.name} does not know {', '.join(unknown)}; its options are: "
                f"{', '.join(known) or 'none'}"
            )

        def keep(pair: Pair) -> bool:
            return split_of(getattr(pair, self.split_by)) == split

        if rng is None:
            rng = np.random.default_rng(0)
        if count is None:
            count = GENERATED_SIZES[split]
        return self.read(rng, count, keep=keep, **options)
