"""The user's own text in a run: its files, how they are tokenized, and their digest.

A text is identified by its digest instead of its path, so a moved file can be found near the folder
of the run. A checkpoint keeps the fields of UserPairs or of UserText:

    {"source": "/…/en.txt", "target": "/…/es.txt", "lowercase": true, "tokenize": true, …}
    {"text": "/…/novel.txt", "valid_text": "/…/last_chapter.txt", "characters": false, …}
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, permutations, product
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, ClassVar, NoReturn

import numpy as np

from numpy_attention.data.held_out import hold_out_end, hold_out_pairs
from numpy_attention.data.pairs import Pair, limited
from numpy_attention.data.reading import bytes_of
from numpy_attention.data.running_text import Text, read
from numpy_attention.data.text_form import TextForm
from numpy_attention.validation.arguments import check_flags, check_kind
from numpy_attention.validation.arrays import at_least, check_whole
from numpy_attention.validation.paths import as_path, existing_file, short_path

NEWER = ("drawn", "skip_blank")     # saved only if set, because version 1.0 lacks them


@dataclass(kw_only=True)
class UserFiles:
    """The user's files for training and validation: base class of UserPairs and UserText.

    Without validation files, part of the training text is held out. If `digest` is empty, raises
    FileNotFoundError for a missing file, and OSError or ValueError for one that cannot be read.

    lowercase: whether the text is lowercased
    tokenize: whether words and punctuation are separated
    digest: the digest of the files when the run began; if empty, it is computed from the files
    folder: the folder of the run, near which `load` searches for files that were moved
    """

    FILES: ClassVar[tuple[str, ...]]  # the fields that name files; the first file is for training
    splits: ClassVar[tuple[str, ...]] = ("train", "valid")
    _parts: ClassVar[Callable[..., tuple[Any, Any]]]  # (training text, validation text)

    lowercase: bool = False
    tokenize: bool = False
    digest: str = ""
    folder: Path | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_flags(lowercase=self.lowercase, tokenize=self.tokenize)
        check_kind("digest", self.digest, str, "the string saved by a run")
        if not self.digest:
            for name, path in self._paths().items():
                setattr(self, name, _absolute(existing_file(path)))
            self.digest = digest_of(self._paths().values())

    @property
    def label(self) -> str:
        """The name of the first file, without its last extension."""
        return self._first().stem

    def saved(self) -> dict[str, Any]:
        """Return the fields as a dict that JSON can hold."""
        return {name: value for name, value in asdict(self).items()
                if value is not None and name != "folder" and (name not in NEWER or value)}

    def form(self, lowercase: bool | None = None) -> TextForm:
        """Return the TextForm of the files. lowercase: None keeps the setting of the files."""
        return TextForm(self._tokenizer(), self.lowercase).in_case(lowercase)

    def load(self, *splits: str) -> list:
        """Return a list of Pairs, or a Text, for each split.

        Raises FileNotFoundError if a file is neither at its path nor near the folder of the run.
        Raises ValueError for an unknown split, or files that have changed or hold no text.
        """
        for split in splits:
            if split not in self.splits:
                names = [name for name in self.FILES if not name.startswith("valid")]
                raise ValueError(f"{self._first()} has no {split!r} split, only train and valid; "
                                 "choose one of them, or pass other files as "
                                 f"{' and '.join(names)}")
        for name, path in self._found().items():
            setattr(self, name, str(path))
        parts = dict(zip(self.splits, self._parts()))
        return [parts[split] for split in splits]

    def _tokenizer(self) -> str:
        return "words" if self.tokenize else "spaces"

    def _first(self) -> Path:
        return Path(getattr(self, self.FILES[0]))

    def _paths(self) -> dict[str, Path]:
        """Return a dict from field to path, for the fields in FILES that name a file."""
        return {name: as_path(getattr(self, name), name) for name in self.FILES
                if getattr(self, name) is not None or name == self.FILES[0]}

    def _found(self) -> dict[str, Path]:
        """Find the files with the digest of the run; return a dict from field to path.

        Raises FileNotFoundError for a missing file, and ValueError for a changed file.
        """
        saved = self._paths()
        if all(map(_readable, saved.values())) and digest_of(saved.values()) == self.digest:
            return saved
        found = {name: self._candidates(path) for name, path in saved.items()}
        for name, path in saved.items():
            if not found[name]:
                self._fail_missing(path)
        first = [paths[0] for paths in found.values()]
        for paths in chain(product(*found.values()), permutations(first)):     # swapped names
            if digest_of(paths) == self.digest:
                return dict(zip(saved, paths))
        looked_at = ", ".join(map(short_path, dict.fromkeys(chain(*found.values()))))
        what = f"the text in {looked_at} has changed since this run began"
        for path in [path for path in saved.values() if not _readable(path)][:1]:
            what = (f"{short_path(path)} does not exist, and the text found instead, in "
                    f"{looked_at}, is not the text of this run")
        raise ValueError(f"{what}; restore the old files, or train again in another folder")

    def _candidates(self, path: Path) -> list[Path]:
        """Return existing files that may be the one recorded as `path`; `path` itself is first."""
        pure = _pure(path)
        parts = pure.parts[bool(pure.anchor):]
        ends = [Path(*parts[k:]) for k in range(len(parts))]
        near: list[Path] = []
        if self.folder is not None:
            for folder in (self.folder.absolute(), self.folder.resolve()):
                near += [folder, *folder.parents]
        near.append(Path())
        found: dict[str, Path] = {}
        for file in (path, *(folder / end for folder in near for end in ends)):
            if _readable(file):
                found.setdefault(os.path.realpath(file), file)
        return list(found.values())

    def _fail_missing(self, path: Path) -> NoReturn:
        if os.path.lexists(path):
            bytes_of(existing_file(path))       # a folder, a device, or one that cannot be read
        nearby = "" if self.folder is None else (
            f", and there is no {_pure(path).name} in {short_path(self.folder.absolute())}, its "
            "parent folders or the current folder")
        advice = "restore the file, or repeat the training command with its new path"
        zipped = path.suffix == ".gz"
        other = path.with_suffix("") if zipped else path.with_name(f"{path.name}.gz")
        for file in self._candidates(other)[:1]:
            nearby += f". {short_path(file)} exists, but its bytes are not those of the run's text"
            advice = "restore the packed file" if zipped else "unpack it under the old name"
        raise FileNotFoundError(f"{short_path(path)} does not exist{nearby}; {advice}")


def digest_of(paths: Iterable[Path]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of all files' contents, in order."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(bytes_of(path) + b"\0")
    return digest.hexdigest()[:16]


def _readable(path: Path) -> bool:
    return os.path.isfile(path) and os.access(path, os.R_OK)


def _pure(path: Path) -> PurePath:
    """Return a saved path in the syntax of the system on which the run was trained."""
    return (PurePosixPath if str(path).startswith("/") else PureWindowsPath)(path)


def _absolute(path: Path) -> str:
    """Return the absolute path, with symbolic links resolved only if a .. requires it."""
    plain = os.path.abspath(path)
    same = os.path.exists(plain) and os.path.samefile(plain, path)
    return plain if same else str(path.resolve())


@dataclass
class UserPairs(UserFiles):
    """Two files of sentence pairs, and optionally two more for validation.

    source, target: files in which line k of one translates line k of the other
    valid_source, valid_target: files for validation; if None, some of the pairs are held out
    held_out_seed: the seed that chooses the held-out pairs, and the random pairs if `drawn` is set
    max_length: the largest number of tokens of either sentence; None means no limit
    count: the largest number of pairs of a split; None means all pairs
    drawn: use `count` random pairs instead of the first `count` pairs
    columns: (column of the source, column of the target) in tab-separated files, counted from 1
    skip_blank: leave out pairs with an empty line

    Raises ValueError if there is only one validation file, or if `columns` does not have two items.
    """

    FILES = ("source", "target", "valid_source", "valid_target")

    source: str | Path
    target: str | Path
    valid_source: str | Path | None = None
    valid_target: str | Path | None = None
    held_out_seed: int = 0
    max_length: int | None = None
    count: int | None = None
    drawn: bool = False
    columns: Sequence[int] | None = None
    skip_blank: bool = False

    def __post_init__(self) -> None:
        check_whole("held_out_seed", self.held_out_seed, 0)
        check_flags(drawn=self.drawn, skip_blank=self.skip_blank)
        if self.columns is not None:
            self.columns = np.array(self.columns).tolist()      # as JSON will return them
            if len(self.columns) != 2:
                raise ValueError(f"columns = {self.columns}; expected two numbers, the columns of "
                                 "source and target")
        at_least(1, max_length=self.max_length, count=self.count)
        if (self.valid_source is None) != (self.valid_target is None):
            raise ValueError(f"valid_{'source' if self.valid_source is None else 'target'} is "
                             "missing; pass both validation files, or omit both to hold out "
                             "training pairs")
        super().__post_init__()

    def load(self, *splits: str) -> list:
        """Return a list of Pairs per split. Raises the errors of `UserFiles.load` and `limited`."""
        first = None if self.drawn else self.count
        parts = [limited(pairs, f"{self.label} ({split})", None, self.max_length, first)
                 for split, pairs in zip(splits, super().load(*splits))]
        return [self._draw(pairs) for pairs in parts] if self.drawn else parts

    def _draw(self, pairs: list[Pair]) -> list[Pair]:
        """Return `count` random pairs, or all if `count` is None, in their original order."""
        rng = np.random.default_rng(self.held_out_seed)
        return [pairs[k] for k in sorted(rng.permutation(len(pairs))[:self.count])]

    def _parts(self) -> tuple[list[Pair], list[Pair]]:
        form = self.form()
        how: dict[str, Any] = {"columns": self.columns, "skip_blank": self.skip_blank}
        pairs = form.pairs(self.source, self.target, **how)
        if self.valid_source is None or self.valid_target is None:
            # before any limit, so that no pair of one part is ever in the other
            return hold_out_pairs(pairs, np.random.default_rng(self.held_out_seed))
        return pairs, form.pairs(self.valid_source, self.valid_target, **how)


@dataclass
class UserText(UserFiles):
    """A file of running text with one sentence per line, and optionally a validation file.

    If valid_text is None, the end of the text is held out. characters: whether both files are read
    as characters. Raises ValueError if characters and tokenize are both set.
    """

    FILES = ("text", "valid_text")

    text: str | Path
    valid_text: str | Path | None = None
    characters: bool = False

    def __post_init__(self) -> None:
        check_flags(characters=self.characters)
        if self.characters and self.tokenize:
            raise ValueError("tokenize (into words) and characters (into single characters) cannot "
                             "both be set; choose one")
        super().__post_init__()

    def _tokenizer(self) -> str:
        return "characters" if self.characters else super()._tokenizer()

    def _parts(self) -> tuple[Text, Text]:
        form = self.form()
        text = read(self.text, form)
        if self.valid_text is None:
            return hold_out_end(text)
        return text, read(self.valid_text, form)
