"""What a run learns from: a dict that JSON can hold, kept in its checkpoint, and its meaning.

It is either a corpus by name, of pairs with arguments of `load_parallel`, of text as words or as
letters,

    {"name": "bible-en-es", "part": "clauses", "max_length": 7}       NamedPairs
    {"name": "bible-en", "characters": true}                          NamedText

or the reader's own text (see `own_text`):

    {"source": "/…/en.txt", "target": "/…/es.txt", …}                 OwnPairs
    {"text": "/…/novel.txt", …}                                       OwnText
"""

from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Protocol

from numpy_attention.validation.arguments import check_kind
from numpy_attention.validation.messages import short_repr
from numpy_attention.data import running_text
from numpy_attention.data.datasets.corpora import find_corpus, load_parallel
from numpy_attention.data.user_text import OwnPairs, OwnText
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.data.splits import SPLITS
from numpy_attention.data.text_form import TextForm


class Selection(Protocol):
    """What a run learns from."""

    @property
    def label(self) -> str:
        """It in a few words: the corpus and its part, or the name of the reader's file."""

    @property
    def splits(self) -> tuple[str, ...]:
        """What `load` knows: "train", "valid", and "test" where there is one."""

    def saved(self) -> dict[str, Any]:
        """The dict that a checkpoint keeps; `selected` is the way back."""

    def form(self, lowercase: bool | None = None) -> TextForm:
        """How its raw text is cut; lowercase None: as the text is."""

    def load(self, *splits: str) -> list:
        """A list of Pairs, or a Text, for each split named."""


def selected(saved: dict[str, Any], kind: str | None = None) -> Selection:
    """What a run's dict stands for.

    kind: "parallel" or "text", where a corpus by name must be of that kind. ValueError: it is
    of another, or unknown.
    """
    check_kind("saved", saved, dict, "the dict of a selection")
    if "source" in saved:
        return _made(OwnPairs, saved)
    if "text" in saved:
        return _made(OwnText, saved)
    if "name" not in saved:
        return Unknown()
    if find_corpus(saved["name"], kind).kind == "text":
        return _made(NamedText, saved)
    return _made(NamedPairs, {"arguments": saved})


def _made(kind: Any, saved: dict[str, Any]) -> Any:
    """A selection of this kind. ValueError: a field of it is missing, or one is unknown."""
    known = fields(kind)
    missing = [one.name for one in known if one.default is MISSING and one.name not in saved]
    unknown = sorted(saved.keys() - {one.name for one in known})
    if missing or unknown:
        raise ValueError(f"what a run learns from, {next(iter(saved))}, is described with "
                         f"{', '.join(unknown) or 'nothing'} that is unknown and without "
                         f"{', '.join(missing) or 'nothing'}: name a corpus, or give files")
    return kind(**saved)


@dataclass
class NamedPairs:
    """A parallel corpus; arguments: those of `load_parallel` but the split."""

    splits: ClassVar[tuple[str, ...]] = SPLITS

    arguments: dict[str, Any]

    def __post_init__(self) -> None:
        for name in self.arguments:
            if not isinstance(name, str) or name in ("split", "rng"):
                raise ValueError(f"an argument {short_repr(name)} is no part of what a run learns "
                                 "from: leave it out")

    @property
    def label(self) -> str:
        return " ".join(filter(None, (self.arguments["name"], self.arguments.get("part"))))

    def saved(self) -> dict[str, Any]:
        return dict(self.arguments)

    def form(self, lowercase: bool | None = None) -> TextForm:
        corpus = find_corpus(self.arguments["name"], "parallel")
        return corpus.part(self.arguments.get("part")).form.in_case(lowercase)

    def load(self, *splits: str) -> list[list[Pair]]:
        """One list of Pairs for each split named; errors as `load_parallel` has them."""
        return [load_parallel(split=split, **self.arguments) for split in splits]


@dataclass
class NamedText:
    """A corpus of running text; characters: read as letters, whatever it is cut into."""

    splits: ClassVar[tuple[str, ...]] = SPLITS

    name: str
    characters: bool = False

    @property
    def label(self) -> str:
        return self.name

    def saved(self) -> dict[str, Any]:
        return {"name": self.name} | ({"characters": True} if self.characters else {})

    def form(self, lowercase: bool | None = None) -> TextForm:
        form = find_corpus(self.name, "text").form
        if self.characters:
            form = TextForm("characters", form.lowercase)
        return form.in_case(lowercase)

    def load(self, *splits: str) -> list[Text]:
        """One Text for each split named. ValueError: an unknown name or split."""
        texts = [running_text.load(self.name, split) for split in splits]
        if self.characters:
            texts = [text.as_characters() for text in texts]
        return texts


class Unknown:
    """Of a run that does not say what it learnt from; raw text is cut as most corpora are."""

    label = "unknown text"
    splits = SPLITS

    def saved(self) -> dict[str, Any]:
        return {}

    def form(self, lowercase: bool | None = None) -> TextForm:
        return TextForm().in_case(lowercase)

    def load(self, *splits: str) -> list:
        """ValueError: always."""
        raise ValueError(
            "the run does not say what it learnt from: name a corpus, or give files of your own"
        )
