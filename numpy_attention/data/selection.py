"""Selections, which describe the training text of a run, and are saved in checkpoints as dicts.

A named corpus contains sentence pairs or running text. The dict of a corpus of pairs holds the
arguments of `load_parallel`. The dict of running text may ask for characters instead of words:

    {"name": "bible-en-es", "part": "clauses", "max_length": 7}       NamedPairs
    {"name": "bible-en", "characters": true}                          NamedText

The user's own text is given by its files (see `user_text`):

    {"source": "/…/en.txt", "target": "/…/es.txt", …}                 UserPairs
    {"text": "/…/novel.txt", …}                                       UserText

Each class has a `label` and `splits`. `saved()` returns the dict. `form()` returns the TextForm for
raw text. `load(*splits)` returns a list with one list of Pairs, or one Text, for each split.
"""

from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from numpy_attention.data import running_text
from numpy_attention.data.datasets.corpora import find_corpus, load_parallel
from numpy_attention.data.splits import SPLITS
from numpy_attention.data.text_form import TextForm
from numpy_attention.data.user_text import UserPairs, UserText
from numpy_attention.validation.arguments import check_kind
from numpy_attention.validation.messages import short_repr


@dataclass
class NamedPairs:
    """A named parallel corpus. arguments: those of `load_parallel`, except split and rng."""

    splits: ClassVar[tuple[str, ...]] = SPLITS

    arguments: dict[str, Any]

    def __post_init__(self) -> None:
        for name in self.arguments:
            if not isinstance(name, str) or name in ("split", "rng"):
                raise ValueError(f"{short_repr(name)} cannot be set for a training corpus; omit it")

    @property
    def label(self) -> str:
        return " ".join(filter(None, (self.arguments["name"], self.arguments.get("part"))))

    def saved(self) -> dict[str, Any]:
        return dict(self.arguments)

    def form(self, lowercase: bool | None = None) -> TextForm:
        corpus = find_corpus(self.arguments["name"], "parallel")
        return corpus.part(self.arguments.get("part")).form.in_case(lowercase)

    def load(self, *splits: str) -> list:
        """Return one list of Pairs for each split. Raises the errors of `load_parallel`."""
        return [load_parallel(split=split, **self.arguments) for split in splits]


@dataclass
class NamedText:
    """A named corpus of running text. characters: whether a text of words is read as characters."""

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

    def load(self, *splits: str) -> list:
        """Return one Text for each split. Raises ValueError for an unknown name or split."""
        texts = [running_text.load(self.name, split) for split in splits]
        return [text.as_characters() for text in texts] if self.characters else texts


@dataclass
class Unknown:
    """An unknown training text: the run does not record it. likely: the likely form of the text."""

    label: ClassVar[str] = "unknown text"
    splits: ClassVar[tuple[str, ...]] = SPLITS

    likely: TextForm = TextForm()

    def saved(self) -> dict[str, Any]:
        return {}

    def form(self, lowercase: bool | None = None) -> TextForm:
        return self.likely.in_case(lowercase)

    def load(self, *splits: str) -> list:
        """Raise ValueError, because the text is unknown."""
        raise ValueError("the run does not record its training text; pass a corpus or your files")


Selection = NamedPairs | NamedText | UserPairs | UserText | Unknown


def selected(saved: dict[str, Any], kind: str | None = None,
             folder: Path | None = None) -> Selection:
    """Return the Selection that describes a run's training text, or Unknown if none is recorded.

    saved: the dict in the checkpoint of the run. kind: the required kind of a named corpus,
    "parallel" or "text"; None allows both. folder: the folder of the run, near which moved files
    are searched for. Raises ValueError for an unknown corpus, another kind, or an invalid field.
    """
    check_kind("`saved`", saved, dict, "the dict saved by a selection")
    if "source" in saved:
        return _selection(UserPairs, saved, folder)
    if "text" in saved:
        return _selection(UserText, saved, folder)
    if "name" not in saved:
        return Unknown()
    if find_corpus(saved["name"], kind).kind == "text":
        return _selection(NamedText, saved)
    return NamedPairs(saved)


def _selection(kind: Any, saved: dict[str, Any], folder: Path | None = None) -> Any:
    known = {one.name: one.default for one in fields(kind) if one.init}
    wrong = [f"lacks {name!r}" for name in known if known[name] is MISSING and name not in saved]
    wrong += [f"has an unknown field, {name!r}" for name in sorted(saved.keys() - known.keys())]
    if wrong:
        raise ValueError(f"the run's record of its training text {wrong[0]}, so the text cannot be "
                         "reloaded; name a corpus, or pass files")
    selection = kind(**saved)
    if folder is not None:
        selection.folder = folder
    return selection
