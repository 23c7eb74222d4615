"""Public names of a package, which are imported when they are first used (PEP 562)."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def exports(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any],
                                                                Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package that imports its names on first use.

    package: its name. modules: {public name: the module that defines it, relative to the package}.
    """
    namespace = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{modules[name]}"), name)
        namespace[name] = found
        return found

    def listed() -> list[str]:
        return sorted({*namespace, *modules})

    return get, listed
