"""Classes of a reader's own on the command line: FILE.py:CLASS where a name may stand."""

from collections.abc import Mapping
from typing import Any

from numpy_attention.registry import is_custom_code
from numpy_attention.custom.kinds import custom_class
from numpy_attention.experiments.runs.trained import Trained


def with_own(settings: Mapping[str, Any], **kinds: str) -> dict[str, Any]:
    """Settings with a class where they name code, whose file is run: the user has named it.

    kinds: {setting: the kind of class that it takes}. Errors as `custom_class` has them.
    """
    return {name: custom_class(value, kinds[name]) if name in kinds and is_custom_code(value) else value
            for name, value in settings.items()}


def brief_name(choice: str | type) -> str:
    """A name, or a class's, to be part of a folder's name."""
    return choice.__name__ if isinstance(choice, type) else choice


def code_option(trained: Trained) -> list[str]:
    """The option that a command needs for this run: --code with the files of its own code."""
    files = dict.fromkeys(str(one.code.path) for one in trained.own.values())
    return ["--code", ",".join(files)] if files else []
