"""Module paths of version 1.0. Scripts and notebooks may still import them."""

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    "analysis": "experiments.analysis",
    "arguments": "validation.arguments",
    "checks": "gradcheck.cases",
    "exercises": "course.exercises",
    "messages": "validation.messages",
    "names": "registry",
    "own": "custom",
    "paths": "validation.paths",
    "recipes": "experiments.recipes",
    "runs.writer": "experiments.runs.language_model_run",
    "runs": "experiments.runs",
    "shapes": "validation.arrays",
    "trace": "course.trace",
    "experiments.runs.writer": "experiments.runs.language_model_run",
    "data.own_text": "data.user_text",
} | {f"data.{name}": f"data.datasets.{name}" for name in (
    "bible", "corpora", "corpus", "dates", "downloads", "generators", "grammar", "lexicon",
    "public")}
PACKAGE = f"{__package__}."


class Moved(MetaPathFinder, Loader):
    """Finder and loader that import an old path as its new module, with a DeprecationWarning."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        old = fullname.removeprefix(PACKAGE)
        if fullname == old:
            return None
        for start, new in MOVED.items():
            if old == start or old.startswith(f"{start}."):
                return ModuleSpec(fullname, self, loader_state=PACKAGE + new + old[len(start):])
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        warnings.warn(f"{spec.name} has moved to {spec.loader_state}", DeprecationWarning,
                      stacklevel=2)
        module = import_module(spec.loader_state)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec. The code of the module has already run."""
        spec = module.__spec__
        module.__spec__ = spec and spec.loader_state


sys.meta_path.insert(0, Moved())
