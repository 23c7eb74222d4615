"""Save and load the user-defined classes of a run.

A checkpoint contains no code, only the name of each class and the digest of its file. The user
passes the file when loading the run, and the file runs only if it has the same digest.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy_attention.custom.code import (
    NAME,
    SHOWN,
    Code,
    CustomClass,
    custom_class_of,
    parted,
    read,
)
from numpy_attention.custom.kinds import class_in
from numpy_attention.training.schema import Kind
from numpy_attention.validation.arguments import as_list
from numpy_attention.validation.paths import atomic_write

MOST = 8            # largest number of user-defined classes of one run
DIGEST = re.compile(r"[0-9a-f]{64}")


def is_own(value: Any) -> bool:
    """Return whether a value is a dict {"mine.py:Bilinear": SHA-256 of mine.py, …}.

    The dict must have 1 to MOST classes. Classes of the same file must have the same digest.
    """
    if not (isinstance(value, dict) and 0 < len(value) <= MOST):
        return False
    if not all(isinstance(one, str) and DIGEST.fullmatch(one) for one in value.values()):
        return False
    if not all(NAME.fullmatch(name) for name in value):
        return False
    files = {(parted(name)[0], digest) for name, digest in value.items()}
    return len({file for file, _ in files}) == len(files)


OWN = Kind("names such as mine.py:Bilinear, each with the SHA-256 of its file", is_own)


def by_name(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, CustomClass]]:
    """Replace the classes in settings with names. Return the new settings and {name: CustomClass}.

    Raises ValueError for a class of the package, for a class without a file, and for two
    different files with the same name.
    """
    plain = dict(settings)
    own: dict[str, CustomClass] = {}
    for setting, value in settings.items():
        if not isinstance(value, type):
            continue
        one = custom_class_of(value)
        for other in own.values():
            if other.code.name == one.code.name and other.code.digest != one.code.digest:
                raise ValueError(f"{setting} is {one.name}, but another file named {one.code.name} "
                                 "is used too; rename one of the files")
        plain[setting] = one.name
        own[one.name] = one
    return plain, own


def with_classes(settings: Mapping[str, Any], own: Mapping[str, CustomClass]) -> dict[str, Any]:
    """Return settings in which the name of each CustomClass in `own` is replaced with the class."""
    return {setting: own[value].kind if isinstance(value, str) and value in own else value
            for setting, value in settings.items()}


def digests(own: Mapping[str, CustomClass]) -> dict[str, str]:
    """Return a dict from the name of each class to the SHA-256 of its file."""
    return {name: one.code.digest for name, one in own.items()}


def check_used(known: Mapping[str, str], settings: Mapping[str, Any]) -> None:
    """Raise ValueError for a class in `known` that no setting uses."""
    unused = [name for name in known if name not in settings.values()]
    if unused:
        raise ValueError(f"it lists user-defined code that no setting uses: {', '.join(unused)}")


def confirmed(known: Mapping[str, str], code: Any, folder: str | Path) -> dict[str, CustomClass]:
    """Load the user-defined classes of a run from `code`, the files or classes that a user passes.

    known: {name of a class: digest of its file at the time of training}. A file runs only if it has
    this digest. Raises ValueError if a file is missing or has changed. folder: the run's folder.
    """
    if not known:
        return {}
    if isinstance(code, str):
        code = re.split(r"(?<=\.py),\s*", code)            # as in the advice of `_same`
    one = isinstance(code, (Path, type))
    given = [code] if one else as_list("code", code or [], "user-defined files or classes")
    candidates = [custom_class_of(one) if isinstance(one, type) else read(one) for one in given]
    return {name: _same(name, known, candidates, folder) for name in known}


def _same(name: str, known: Mapping[str, str], candidates: list[Code | CustomClass],
          folder: str | Path) -> CustomClass:
    """Find the CustomClass called `name`. Raises ValueError if it is missing or has changed."""
    file, of_class = parted(name)
    named = [(one, one if isinstance(one, Code) else one.code) for one in candidates
             if one.name in (file, name)]
    if not named:
        files = dict.fromkeys(parted(one)[0] for one in known)
        why = "which is not run without your consent; inspect it"
        if candidates:
            passed = " and ".join(one.name for one in candidates)
            why = f"but you passed {passed}; inspect the code of the run"
        raise ValueError(f"{folder} was trained with the user-defined code {' and '.join(known)}, "
                         f"{why}, then pass code = {','.join(files)!r}")
    for one, code in named:
        if code.digest == known[name]:
            return one if isinstance(one, CustomClass) else CustomClass(name, code,
                                                                        class_in(code, of_class))
    now = " and ".join(code.digest[:SHOWN] for _, code in named)
    advice = "Restore the original file, or train again in another folder"
    kept = Path(folder) / file
    if kept.is_file() and read(kept).digest == known[name]:
        advice = f"The run kept a copy; inspect it, then pass code = {str(kept)!r}"
    raise ValueError(f"{file} has changed since {folder} was trained: its SHA-256 began "
                     f"with {known[name][:SHOWN]} and now begins with {now}. {advice}")


def keep(own: Mapping[str, CustomClass], folder: Path) -> None:
    """Copy the files of user-defined classes, as they were in training, to the run's folder."""
    for code in {one.code.name: one.code for one in own.values()}.values():
        path = folder / code.name
        if path.exists() and path.resolve() == code.path.resolve():
            continue
        with atomic_write(path) as file:
            file.write(code.text)
