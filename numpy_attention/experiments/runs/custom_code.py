"""Classes of a reader's own in a run: names in what is saved, the classes in what is built.

A checkpoint never runs code. It names a file and its digest; whoever loads the run names the file
too, and it is run only where it is the same.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from numpy_attention.validation.arguments import as_list
from numpy_attention.custom.code import NAME, SHOWN, Code, CustomClass, custom_class_of, parted, read
from numpy_attention.custom.kinds import class_in
from numpy_attention.validation.paths import path_errors
from numpy_attention.training.schema import Kind

MOST = 8            # classes of one run
DIGEST = re.compile(r"[0-9a-f]{64}")


def is_own(value: Any) -> bool:
    """{"mine.py:Bilinear": the SHA-256 of its file, …}, one digest for a file."""
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
    """Settings with names in the place of classes, and {name: the class with its file}.

    ValueError: a class in no file, or of the package; two files of one name.
    """
    plain = dict(settings)
    own: dict[str, CustomClass] = {}
    files: dict[str, Code] = {}
    for setting, value in settings.items():
        if not isinstance(value, type):
            continue
        one = custom_class_of(value)
        code = files.setdefault(one.code.name, one.code)
        if code.digest != one.code.digest:
            raise ValueError(f"{setting} is {one.name}, and another {code.name} is used too: give "
                             "two files different names")
        plain[setting] = one.name
        own[one.name] = one
    return plain, own


def with_classes(settings: Mapping[str, Any], own: Mapping[str, CustomClass]) -> dict[str, Any]:
    """Settings with classes in the place of their names."""
    return {setting: own[value].kind if isinstance(value, str) and value in own else value
            for setting, value in settings.items()}


def digests(own: Mapping[str, CustomClass]) -> dict[str, str]:
    """What a run keeps of them."""
    return {name: one.code.digest for name, one in own.items()}


def check_used(known: Mapping[str, str], settings: Mapping[str, Any]) -> None:
    """ValueError: a name that no setting has."""
    unused = [name for name in known if name not in settings.values()]
    if unused:
        raise ValueError(f"it has code of its own that no setting names: {', '.join(unused)}")


def confirmed(known: Mapping[str, str], code: Any, folder: str | Path) -> dict[str, CustomClass]:
    """The classes that a run names, {name: digest}, out of the code that its user names.

    code: files, or classes, or None. Only a file with the same digest is run.

    ValueError: a file that is not named, or has changed.
    """
    if not known:
        return {}
    given = [] if code is None else as_list("code", code, "files, or classes, of your own")
    candidates = [custom_class_of(one) if isinstance(one, type) else read(one) for one in given]
    return {name: found(name, known, candidates, folder) for name in known}


def found(name: str, known: Mapping[str, str], candidates: Iterable[Code | CustomClass],
          folder: str | Path) -> CustomClass:
    """The class of this name among files and classes. ValueError: it is not, or has changed."""
    file, of_class = parted(name)
    named = [one for one in candidates if one.name in (file, name)]
    if not named:
        files = dict.fromkeys(parted(one)[0] for one in known)
        raise ValueError(f"{folder} was trained with {' and '.join(known)}, your own code, which a "
                         f"run never runs by itself: look at it, and give code = {','.join(files)}")
    for one in named:
        if isinstance(one, CustomClass) and one.code.digest == known[name]:
            return one
        if isinstance(one, Code) and one.digest == known[name]:
            return CustomClass(name, one, class_in(one, of_class))
    now = " and ".join(f"{digest_of(one)[:SHOWN]}…" for one in named)
    raise ValueError(f"{file} is not as it was when {folder} was trained: SHA-256 "
                     f"{known[name][:SHOWN]}… then, {now} now; {advice(file, known[name], folder)}")


def digest_of(one: Code | CustomClass) -> str:
    return one.digest if isinstance(one, Code) else one.code.digest


def advice(file: str, digest: str, folder: str | Path) -> str:
    """What to do where a file has changed: the run may have kept it as it was."""
    kept = Path(folder) / file
    if kept.is_file() and read(kept).digest == digest:
        return f"its training has kept it: look at it, and give code = {kept}"
    return "give it as it was, or train anew in another folder"


def keep(own: Mapping[str, CustomClass], folder: Path) -> None:
    """Keep the files beside the checkpoint, as they were in training; each written whole."""
    for code in {one.code.name: one.code for one in own.values()}.values():
        path = folder / code.name
        if path.exists() and path.resolve() == code.path.resolve():
            continue
        partial = folder / f"{code.name}.{os.getpid()}.partial"
        with path_errors(path, "written"):
            try:
                partial.write_bytes(code.text)
                os.replace(partial, path)
            finally:
                partial.unlink(missing_ok=True)
