"""Functions of the package exchanged, for a while: kernels for Python, functions for mutants."""

import ast
import contextlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher

import numpy_attention
from numpy_attention import registry
from numpy_attention.gradcheck import rewriting, watching
from numpy_attention.kernels.guard import Guarded

PACKAGE = Path(numpy_attention.__file__).parent

# files outside of the package whose modules take part
OWN = set()


# ---- modules -----------------------------------------------------------------------------------


def shown(path):
    """A file as it is named in reports."""
    if path.is_relative_to(PACKAGE):
        return path.relative_to(PACKAGE.parent).as_posix()
    return path.as_posix()


def module_of(path):
    """The module of a file, imported if it is not yet."""
    if path.is_relative_to(PACKAGE):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        return importlib.import_module(".".join(parts))
    OWN.add(str(path))
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path):
            return module
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def import_all():
    """Import what may be chosen by name: a module that came in among mutants would keep them."""
    for title, table in vars(registry).items():
        if title.isupper() and isinstance(table, dict):
            for name in table:
                found = registry.resolve(title, name, table)
                module = sys.modules.get(getattr(found, "__module__", None))
                if hasattr(module, "__file__"):
                    OWN.add(module.__file__)


def loaded():
    """The modules of the package, and a reader's own."""
    return [module for name, module in list(sys.modules.items())
            if name.split(".")[0] == PACKAGE.name or getattr(module, "__file__", None) in OWN]


# ---- functions exchanged for others ------------------------------------------------------------


@contextlib.contextmanager
def replaced(pairs):
    """For a while, setattr(owner, name, value) for each of the pairs ((owner, name), value)."""
    kept = [(owner, name, getattr(owner, name)) for (owner, name), _ in pairs]
    for (owner, name), value in pairs:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in reversed(kept):
            setattr(owner, name, value)


def everywhere(original, value):
    """Pairs for `replaced`: every module's name for one function."""
    return [((module, name), value)
            for module in loaded() for name, held in vars(module).items() if held is original]


def plain_python():
    """Kernels as their Python source, and np.empty full of NaN."""
    def poisoned(make):
        def empty(*args, **kwargs):
            array = make(*args, **kwargs)
            if array.dtype.kind == "f":
                array.fill(np.nan)
            return array
        return empty

    guarded = [held for module in loaded() for held in vars(module).values()
               if isinstance(held, Guarded)]
    kernels = [((owner, name), held.py_func)
               for owner in [*loaded(), *guarded] for name, held in vars(owner).items()
               if isinstance(held, Dispatcher)]
    makers = [((np, name), poisoned(getattr(np, name))) for name in ("empty", "empty_like")]
    readers = [((module, "is_somebodys"), is_somebodys) for module in (rewriting, watching)]
    return replaced(kernels + makers + readers)


def is_somebodys(code, really=rewriting.is_somebodys):
    """Not what stands in for np.empty, which NumPy itself calls, and writes to as it expects it."""
    return code.co_filename != __file__ and really(code)


def written(node):
    """The text of which a function is compiled."""
    wrapper = ast.parse("def make(__class__):\n    return None")        # gives super() its class
    wrapper.body[0].body = [node, ast.Return(ast.Name(node.name, ast.Load()))]
    return ast.unparse(ast.fix_missing_locations(wrapper))


def exchange(function, node, path=None):
    """Pairs for `replaced`: a function compiled from this node in place of its own code.

    path: a file that it is written to, and compiled from; so it has a source that can be read.
    """
    module = module_of(function.path)
    class_name, _, name = function.name.rpartition(".")
    owner = getattr(module, class_name) if class_name else None
    if path is not None:
        path.write_text(written(node), encoding="utf-8")
    made = {}
    exec(compile(written(node), str(path or function.file), "exec"), vars(module), made)
    value = made["make"](owner)
    value.__qualname__ = function.name
    if owner is None:
        return everywhere(getattr(module, name), value)
    return [((owner, name), value)]
