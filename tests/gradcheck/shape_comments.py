"""Compare documented shapes with the arrays they describe while the code runs.

    watch = Watch()
    tree = watch.read(path, module_name)    collects its claims and inserts probes into its code
    with watch.running():
        …                                   calls its functions, from modules imported before
    watch.wrong_claims                      {claim: why it is wrong}

Within one call a letter has one size: in arguments, results, assignments, fields of `self`, and
fields of every cache among the arguments and results. The same holds for `…`, any number of axes,
and for a product such as `gates · H`, which determines its last unknown letter. An integer in the
arguments or in `self`, or a local one in capitals, gives the size of its name. A lower-case name
that occurs only in assignments, such as `rows`, may change in the next pass of a loop. Modules
other than `self` have their own letters. None has no shape and is skipped. Kernels run as plain
Python.
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

MAX_CALLS = 10  # checked calls with the same argument shapes; a gradient check makes thousands


class Watch:
    """All claims of the sources read, and the result of each."""

    def __init__(self):
        self.claims = []
        self.unread = []                # "place: text" of unparsed shapes
        self.wrong_claims = {}
        self.functions = []
        self.classes = {}               # (module, name): (claims of fields, Promises)
        self.codes = {}                 # {place_of(function): rewritten code}
        self.calls = Counter()

    def read(self, path, module):
        tree = Reader(self, path, module).read()
        self._keep(compile(tree, str(path), "exec"))
        return tree

    def _keep(self, code):
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                self._keep(inner)
                if inner.co_name != "<lambda>":         # one line may have two lambdas
                    self.codes[place_of(inner)] = inner

    def call(self, number, names):
        """Start recording a call; every rewritten function begins with this."""
        shapes = [np.shape(value) for value in names.values() if isinstance(value, np.ndarray)]
        key = number, id(names.get("self")), *shapes
        self.calls[key] += 1
        if self.calls[key] > MAX_CALLS:
            return UncheckedCall()
        return Call(self, self.functions[number], names)

    def cell(self, names):
        """Start recording statements outside functions."""
        return Call(self, Function("a cell", [], Promises()), names)

    def report(self):
        """Return a text: how many claims were checked, and those not checked, unread or wrong."""
        lines = []
        for kind in sorted({claim.kind for claim in self.claims}):
            states = [claim.state for claim in self.claims if claim.kind == kind]
            lines.append(f"{kind}: {states.count('checked')} of {len(states)} shapes checked")
        lines += [f"{claim.state}: {claim}" for claim in self.claims if claim.state != "checked"]
        lines += [f"unread: {text}" for text in self.unread]
        return "\n".join(lines + [f"WRONG: {text}" for text in self.wrong_claims.values()])

    @contextlib.contextmanager
    def running(self):
        """Run the rewritten code of all functions read, until the block ends."""
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
    """One call of a function, with the claims about it."""

    def __init__(self, watch, function, names):
        self.watch = watch
        self.function = function
        self.arguments = dict(names)
        self.locals = {}
        self.passed = set()             # claims checked in this pass of a loop
        self.owner = self.arguments.get("self")
        self.letters = Letters(self.arguments.get, self.held, self.locals.get)
        self.check_fields(self.owner, self.letters)
        for claim in function.promises.arguments:
            self.check(claim, self.arguments[claim.names[0]], self.letters)
        for promises in self.class_promises():
            for claim in promises.arguments:
                values = [self.arguments.get(name) for name in claim.names]
                values += [self.held(name) for name in claim.names]
                arrays = [value for value in values if isinstance(value, np.ndarray)]
                self.check(claim, arrays[0] if arrays else None, self.letters)
        for value in self.arguments.values():
            self.check_value_fields(value)

    def probe(self, number, value, names):
        """Check a claim after its statement."""
        self.locals.update((name, held) for name, held in names.items() if name[0].isupper())
        claim = self.watch.claims[number]
        if claim in self.passed:
            self.letters.next_pass()
            self.passed.clear()
        self.passed.add(claim)
        self.check(claim, value, self.letters)

    def leave(self, value):
        """Check the claims about a return value, and return the value."""
        parts = value if type(value) is tuple else (value,)
        for _, claims in self.function.promises.results:
            self.check_results(claims, parts, value, len(claims) == len(parts))
        for promises in self.class_promises():
            for names, claims in promises.results:
                if self.function.name == described_method(type(self.owner), names):
                    self.check_results(claims, parts, value, len(claims) <= len(parts))
        for part in parts:
            self.check_value_fields(part)
        return value

    # ---- where values come from

    def held(self, name):
        """Return a field of self or of its class. Properties are not evaluated."""
        return getattr(self.owner, "__dict__", {}).get(name, getattr(type(self.owner), name, None))

    def class_promises(self):
        """Return the docstring claims of self's classes."""
        known = self.watch.classes
        return [known[place][1] for place in classes(self.owner) if place in known]

    def check_value_fields(self, value):
        """Check the fields of an argument or result. A module or state has its own letters."""
        if value is not self.owner:
            separate = isinstance(value, (Module, type(self.owner))) and value is not None
            self.check_fields(value, Letters() if separate else self.letters)

    def check_fields(self, value, letters):
        for place in classes(value):
            for claim in self.watch.classes.get(place, [()])[0]:
                self.check(claim, getattr(value, claim.names[0], None), letters)

    def check_results(self, claims, parts, value, fits):
        """Check the claims after an arrow if it is clear which return value each describes."""
        single = len(parts) == 1 and not any(claims[1:])        # "→ dx (N, D), or None where …"
        if fits and type(value) is tuple or single:
            for claim, part in zip(claims, parts):
                if claim:
                    self.check(claim, part, self.letters)
        else:
            for claim in filter(None, claims):
                claim.mark_unchecked(f"one of {len(claims)} parts, where {len(parts)} return")

    def check(self, claim, value, letters):
        if isinstance(value, (np.ndarray, np.generic)):
            claim.state = "checked"
            for wrong, shape, why in letters.contradictions(claim, np.shape(value)):
                message = f"the array is {shape}: {why}; letters: {letters}"
                message = f"{wrong}\n    in a call of {self.function.name} {message}"
                self.watch.wrong_claims.setdefault(wrong, message)
        elif value is not None:
            claim.mark_unchecked(f"no array, but of type {type(value).__name__}")


class UncheckedCall:
    """A call that is not checked."""

    def probe(self, *_):
        pass

    def leave(self, value):
        return value


def classes(value):
    """Return (module, name) of each class of a value."""
    return [(one.__module__, one.__qualname__) for one in type(value).__mro__]


def described_method(owner, names):
    """Return the method whose results a class docstring describes: `forward` or `step`."""
    if not hasattr(owner, "step"):
        return "forward"
    code = owner.forward.__code__ if hasattr(owner, "forward") else None
    return "forward" if code and set(names) & set(code.co_varnames[:code.co_argcount]) else "step"
