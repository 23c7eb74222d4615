"""Check a hand-written backward pass against central differences, and report the wrong lines.

    check.py    the check, which uses `differences`, `kinks`, `harness` and `faults`
    laws/       properties of the forward and backward passes that central differences cannot test
    locate/     the search for the first wrong line: both passes run with instrumented code, and
                every intermediate gradient is compared with central differences
    edits/      small edits of the code, each tried to see whether it makes all gradients correct
    report/     the result of a check, and its description as text
    cases/      the gradient checks of the library's own layers and models

The public names of the package are imported when they are first used.
"""

import sys
from importlib import import_module
from types import ModuleType

_MODULE_OF = {
    # the check
    "gradcheck": "check",
    "GradientError": "errors",
    "NotAParameter": "errors",
    "NotChecked": "errors",
    "NotFloat32": "errors",
    "Report": "report.report",
    "EPSILON": "differences",
    "TOLERANCE": "differences",
    "check_epsilon": "differences",
    "numeric_gradient": "differences",
    "relative_errors": "differences",
    "protocol": "harness",
    "randomize": "harness",
    "limited_search": "locate.budget",
    # trees of arrays: inputs, outputs, caches
    "arrays_within": "locate.watching",
    "copy_arrays": "arrays",
    "outputs_of": "arrays",
    "random_like": "arrays",
    "Watch": "locate.watching",
    # places in a user's code
    "PACKAGE": "locate.rewriting",
    "Place": "locate.rewriting",
    "describe_place": "passes",
    "failing_place": "locate.rewriting",
    "file_label": "report.notebooks",
    "source_line": "passes",
    "statement_text": "locate.sources",
    # edits of syntax trees
    **dict.fromkeys((
        "BOUNDARY", "OPPOSITES", "PRODUCTS", "SIGN", "Slot", "by_pattern", "calling", "changed",
        "children", "exchanged", "function_name", "one_line", "opposite_sign", "parsed",
        "with_axis", "with_item", "without_keyword"), "edits.syntax"),
    # instrumented functions, whose values pass through a listener
    "LISTENER": "locate.rewriting",
    "BackwardRewriter": "locate.backwards",
    "Instrumented": "locate.rewriting",
    "called_functions": "locate.rewriting",
    "loaded": "locate.rewriting",
    "path_of": "locate.rewriting",
    "profiled": "locate.rewriting",
    "reads_of": "locate.rewriting",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name):
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


class _CallableModule(ModuleType):
    """The package as a callable: `na.gradcheck(layer, x, rng=rng)` runs the check."""

    def __call__(self, *inputs, **options):
        return self.gradcheck(*inputs, **options)


sys.modules[__name__].__class__ = _CallableModule
