"""The shapes that a source promises, held against the arrays they speak of while its code runs.

    watch = Watch()
    tree = watch.read(path, module_name)    its claims (shape_claims.py), and its code with probes
    with watch.running():
        …                                   whatever calls its functions, in modules imported before
    watch.lies                              {claim: why it is not true}

Within one call a letter has one size: in the arguments, the results, the assignments, the fields
of `self` and those of every cache among the arguments and results. So has `…`, any number of axes,
and a size of several letters, `gates · H`, which also gives the last of them that is not known
yet. A whole number among the arguments, in `self` or, for capitals, among the local variables is
the size of its name. Only what assignments alone call by a name in lower case, `rows`, may change
where a loop begins again. Another module than `self` has letters of its own. None is passed over:
it has no shape. Kernels run as plain Python.
"""

import builtins
import contextlib
import gc
import sys
from collections import Counter
from types import CodeType, FunctionType

import numpy as np
from numba.core.dispatcher import Dispatcher
from shape_claims import Function, Promises, Reader
from shape_letters import Letters

from numpy_attention.kernels.guard import Guarded
from numpy_attention.module import Module

AGAIN = 10      # calls with arguments of the same shapes that are looked at, of a check's thousands


class Watch:
    """All claims of the sources read, and what became of them."""

    def __init__(self):
        self.claims = []
        self.unread = []                # "place: text" of what looks like a shape
        self.lies = {}
        self.functions = []
        self.classes = {}               # (module, name): (claims of fields, Promises)
        self.codes = {}                 # place_of a function: its rewritten code
        self.calls = Counter()

    def read(self, path, module):
        tree = Reader(self, path, module).read()
        self._keep(compile(tree, str(path), "exec"))
        return tree

    def _keep(self, code):
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                self._keep(inner)
                if inner.co_name != "<lambda>":         # of which a line may have two
                    self.codes[place_of(inner)] = inner

    def call(self, number, names):
        """What a rewritten function begins with."""
        shapes = [np.shape(value) for value in names.values() if isinstance(value, np.ndarray)]
        alike = number, id(names.get("self")), *shapes
        self.calls[alike] += 1
        if self.calls[alike] > AGAIN:
            return Unwatched()
        return Call(self, self.functions[number], names)

    def cell(self, names):
        """The same for statements outside of functions."""
        return Call(self, Function("a cell", [], Promises()), names)

    def report(self):
        """How many claims there are and how many were checked; the others, the unread, the lies."""
        lines = []
        for kind in sorted({claim.kind for claim in self.claims}):
            states = [claim.state for claim in self.claims if claim.kind == kind]
            lines.append(f"{kind}: {states.count('checked')} of {len(states)} shapes checked")
        lines += [f"{claim.state}: {claim}" for claim in self.claims if claim.state != "checked"]
        lines += [f"unread: {text}" for text in self.unread]
        return "\n".join(lines + [f"LIE: {lie}" for lie in self.lies.values()])

    @contextlib.contextmanager
    def running(self):
        """For a while, the functions of the sources read run their rewritten code."""
        functions = [(held, held.__code__) for held in gc.get_objects()
                     if type(held) is FunctionType and place_of(held.__code__) in self.codes]
        guarded = [held for held in gc.get_objects() if type(held) is Guarded]
        kernels = [(owner, name, held) for owner in [*sys.modules.values(), *guarded]
                   for name, held in list(getattr(owner, "__dict__", {}).items())
                   if issubclass(type(held), Dispatcher)
                   and place_of(held.py_func.__code__) in self.codes]
        try:
            builtins._shapes_call = self.call
            for function, code in functions:
                function.__code__ = self.codes[place_of(code)]
            for owner, name, kernel in kernels:
                setattr(owner, name, kernel.py_func)
            yield
        finally:
            for owner, name, kernel in kernels:
                setattr(owner, name, kernel)
            for function, code in functions:
                function.__code__ = code
            del builtins._shapes_call


def place_of(code):
    return code.co_filename, code.co_name, code.co_firstlineno


class Call:
    """One call of a function and the shape comments on it."""

    def __init__(self, watch, function, names):
        self.watch = watch
        self.function = function
        self.arguments = dict(names)
        self.locals = {}
        self.passed = set()             # claims of statements that ran in this pass of a loop
        self.owner = self.arguments.get("self")
        self.letters = Letters(self.arguments.get, self.held, self.locals.get)
        self.check_fields(self.owner, self.letters)
        for claim in function.promises.arguments:
            self.check(claim, self.arguments[claim.names[0]], self.letters)
        for promises in self.of_classes():
            for claim in promises.arguments:
                values = [self.arguments.get(name) for name in claim.names]
                values += [self.held(name) for name in claim.names]
                arrays = [value for value in values if isinstance(value, np.ndarray)]
                self.check(claim, arrays[0] if arrays else None, self.letters)
        for value in self.arguments.values():
            self.touched(value)

    def probe(self, number, value, names):
        """What stands behind a statement with a comment."""
        self.locals.update((name, held) for name, held in names.items() if name[0].isupper())
        claim = self.watch.claims[number]
        if claim in self.passed:
            self.letters.next_pass()
            self.passed.clear()
        self.passed.add(claim)
        self.check(claim, value, self.letters)

    def leave(self, value):
        """What stands around a result."""
        parts = value if type(value) is tuple else (value,)
        for _, claims in self.function.promises.results:
            self.check_results(claims, parts, value, len(claims) == len(parts))
        for promises in self.of_classes():
            for names, claims in promises.results:
                if self.function.name == speaker(type(self.owner), names):
                    self.check_results(claims, parts, value, len(claims) <= len(parts))
        for part in parts:
            self.touched(part)
        return value

    # ---- what is looked at

    def held(self, name):
        """A field of self or of its class; what a property computes has its own meaning."""
        return getattr(self.owner, "__dict__", {}).get(name, getattr(type(self.owner), name, None))

    def of_classes(self):
        """What the docstrings of self's classes promise."""
        known = self.watch.classes
        return [known[place][1] for place in classes(self.owner) if place in known]

    def touched(self, value):
        """An argument or a result: a cache has the call's letters, a module or state its own."""
        if value is not self.owner:
            apart = isinstance(value, (Module, type(self.owner))) and value is not None
            self.check_fields(value, Letters() if apart else self.letters)

    def check_fields(self, value, letters):
        for place in classes(value):
            for claim in self.watch.classes.get(place, [()])[0]:
                self.check(claim, getattr(value, claim.names[0], None), letters)

    def check_results(self, claims, parts, value, fits):
        """Hold the claims of an arrow against what returns, where it is clear which is which."""
        alone = len(parts) == 1 and not any(claims[1:])         # "→ dx (N, D), or None where …"
        if fits and type(value) is tuple or alone:
            for claim, part in zip(claims, parts):
                if claim:
                    self.check(claim, part, self.letters)
        else:
            for claim in filter(None, claims):
                claim.unchecked(f"one of {len(claims)} parts, where {len(parts)} return")

    def check(self, claim, value, letters):
        if isinstance(value, (np.ndarray, np.generic)):
            claim.state = "checked"
            for wrong, shape, why in letters.disagreements(claim, np.shape(value)):
                message = f"the array is {shape}: {why}; letters: {letters}"
                message = f"{wrong}\n    in a call of {self.function.name} {message}"
                self.watch.lies.setdefault(wrong, message)
        elif value is not None:
            claim.unchecked(f"no array, but of type {type(value).__name__}")


class Unwatched:
    """A call that is not looked at any more."""

    def probe(self, *_):
        pass

    def leave(self, value):
        return value


def classes(value):
    """(module, name) of each class that a value is of."""
    return [(one.__module__, one.__qualname__) for one in type(value).__mro__]


def speaker(owner, names):
    """Whose results a class's docstring gives after such arguments: `forward` or `step`."""
    if not hasattr(owner, "step"):
        return "forward"
    code = owner.forward.__code__ if hasattr(owner, "forward") else None
    return "forward" if code and set(names) & set(code.co_varnames[:code.co_argcount]) else "step"
