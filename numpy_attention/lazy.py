"""Public names of a package, which are imported when they are first used (PEP 562)."""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def exports(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any],
                                                                Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package that imports its names on first use.

    package: the package's name. modules: {public name: "module"}, or {public name: "module:name"}
    if the module uses another name for the object. Modules are relative to the package.
    """
    namespace = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}"
                                 f"{nearest(name, modules if name[:1] != '_' else ())}")
        module, _, attribute = modules[name].partition(":")
        found = getattr(import_module(f"{package}.{module}"), attribute or name)
        namespace[name] = found
        return found

    def listed() -> list[str]:
        return sorted({*namespace, *modules})

    return get, listed


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean X?" for the known names most like `name`, or "" if none is similar."""
    from difflib import get_close_matches
    names = {one.lower(): one for one in known}
    found = [names[one] for one in get_close_matches(name.lower(), names)]
    return f"; did you mean {' or '.join(found)}?" if found else ""
