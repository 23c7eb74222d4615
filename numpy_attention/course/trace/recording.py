"""Record a run: every named value, with the line and the loop step that computed the value.

During the run, each function is replaced by a rewritten version, which reports its values to a
Listener.
"""

import ast
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.gradcheck import LISTENER, Place, loaded, path_of, reads_of
from numpy_attention.gradcheck import BackwardRewriter as Backward
from numpy_attention.gradcheck import Instrumented as Rewritten
from numpy_attention.gradcheck import called_functions as called
from numpy_attention.gradcheck import statement_text as lines_between
from numpy_attention.module import Module

HERE = Path(__file__).parent
CALL = "__call__"       # the number of the call, within rewritten functions
# a NaN with unusual bits, which marks elements of arrays from np.empty that are not written yet
UNWRITTEN = {4: np.uint32(0x7fc0beef), 8: np.uint64(0x7ff800000000beef)}


def written(array):
    """Return a boolean array, False where a float from np.empty has not been set yet."""
    if array.itemsize not in UNWRITTEN:
        return np.ones(array.shape, bool)
    return array.view(UNWRITTEN[array.itemsize].dtype) != UNWRITTEN[array.itemsize]


# ---- what is recorded ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Line(Place):
    """A Place (a line of code that computes a value) with the loops around the line.

    loops: the first line number of each loop, the outermost first. kind: a kind of Place, or one of
    these. "part": the line assigns x[i]. "filled": a call fills an array. "appended": the line
    appends to a list. "unpacked": the line reads a value and computes none. "packed": the line puts
    a value into a tuple. "step": the line assigns the variable of a for loop.
    """

    loops: tuple[int, ...] = ()


class Step(NamedTuple):
    """One iteration of a loop.

    head: the line number of the loop's first line. text: the code of this line. turn: the number of
    earlier iterations. variable: the counter of a loop over range() or enumerate(), otherwise None.
    """

    head: int
    turn: int
    variable: int | None
    text: str

    @property
    def label(self):
        """The number of the step in printed output: `variable`, or `turn` if this is None."""
        return self.turn if self.variable is None else self.variable


@dataclass(eq=False)
class Call:
    """One call to a function.

    owner: the path of the Module whose method is called, "" for the model, or None for a function
    parent: the Call of the caller, or None
    at: the line number of the call in the caller
    around: the current Step of each loop that is around the call in the caller
    given: {name of an array argument: its shape}
    turns: {line number of a loop in this function: the current Step of the loop}
    """

    function: str
    file: str
    owner: str | None
    parent: "Call | None"
    at: int
    around: tuple[Step, ...]
    given: dict[str, tuple] = field(default_factory=dict)
    turns: dict[int, Step] = field(default_factory=dict)

    def steps(self, loops):
        """Return the current Step of each loop that has begun. loops: the loops' first lines."""
        return tuple(self.turns[head] for head in loops if head in self.turns)

    @property
    def every_step(self):
        """The Steps of all loops around the call, also in callers, the outermost loop first."""
        return (self.parent.every_step if self.parent else ()) + self.around


class Entry(NamedTuple):
    """A recorded value and its name.

    place: the Line that computed the value. call: the Call of the function that contains the Line.
    steps: the Steps of the loops around the Line in this function.
    """

    name: str
    value: Any
    place: Line
    call: Call
    steps: tuple[Step, ...]

    @property
    def every_step(self):
        """The Steps of all loops around the value, also in callers, the outermost loop first."""
        return self.call.every_step + self.steps


class Recording(NamedTuple):
    """The record of a run. unfollowed: {function that could not be recorded: the reason}."""

    entries: list[Entry]
    result: Any
    unfollowed: dict[str, str]


def recorded(work, keep, model=None, is_followed=lambda code: True):
    """Run work() three times, and return the Recording of the last run.

    All runs must compute the same values. keep(array) returns what to store for an array.
    is_followed(code) returns whether to record the function with this code object. model: the
    Module whose paths, such as "encoder.forward", name the layers.
    """
    work()                              # compile and import what the first use does
    functions, _ = called(work)
    functions = [one for one in functions
                 if is_of_interest(one.__code__) and is_followed(one.__code__)]
    loops = {}
    rewritten = Rewritten(functions, partial(Lines, extents=loops))
    listener = Listener(rewritten.places, loops, keep, owners_of(model))
    with rewritten.reporting_to(listener):
        result = work()
    return Recording(listener.entries, result, rewritten.declined)


def is_of_interest(code):
    """Return whether to record the function with this code object."""
    return Path(code.co_filename).parent != HERE and not (
        is_validation(code.co_name) or "<frozen" in code.co_filename)


def is_validation(name):
    """Return whether a function checks arguments, judging by a name such as check_shape."""
    return name.lstrip("_").startswith(("check_", "expect"))


def owners_of(model):
    """Return {id(submodule): path} for a Module and its submodules, or {} for other objects."""
    return {id(one): path for path, one in model.modules()} if isinstance(model, Module) else {}


# ---- rewriting functions ------------------------------------------------------------------------

# expressions with their own variables, or with parts that are not always evaluated
PERHAPS = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp,
           ast.BoolOp, ast.NamedExpr)


class Lines(Backward):
    """BackwardRewriter that also reports loops, filled arrays, and assignments to x[i].

    extents: the dict {(file, first line of a loop): its last line}, which the rewriter fills.
    """

    def __init__(self, function, places, extents):
        super().__init__(function, places)
        self.extents = extents
        self.around = []

    def place(self, node, kind, name, reads=frozenset()):
        text = "" if kind in ("argument", "call") else lines_between(self.file, node)
        self.places.append(Line(self.qualname, self.file, node.lineno, kind, name, text,
                                reads=frozenset(reads), loops=tuple(self.around)))
        return len(self.places) - 1

    def begin(self, node):
        number = self.place(node, "call", "")
        call = self.through("begin", ast.copy_location(ast.Constant(0), node), number)
        made = ast.Assign([ast.Name(CALL, ast.Store())], call, lineno=node.lineno)
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def report(self, method, statement, kind, name, value):
        """Return a statement that passes the expression `value` to a method of the listener."""
        number = self.place(statement, kind, name)
        value = ast.copy_location(value, statement)
        call = ast.Expr(self.through(method, value, number, ast.Name(CALL, ast.Load())))
        return ast.fix_missing_locations(ast.copy_location(call, statement))

    def after(self, target, statement, kind, reads):
        if isinstance(target, (ast.Tuple, ast.List)):
            return [each for one in target.elts for each in self.after(one, statement, kind, reads)]
        if isinstance(target, ast.Subscript) and path_of(target.value):
            return [self.report("part", statement, "part", ast.unparse(target), loaded(target))]
        return super().after(target, statement, kind, reads)

    # ---- statements ----------------------------------------------------------------------------

    def visit_Assign(self, node):
        kind = "assign" if is_computed(node.value) else "unpacked"
        filled = [path for one in node.targets if isinstance(one, ast.Subscript)
                  and not path_of(one.value) for path in arrays_in(one.value)]
        reports = [each for target in node.targets
                   for each in self.after(target, node, kind, reads_of(node.value))]
        return [*self.around_filling(node, filled), *reports]

    def visit_Return(self, node):
        computed = node.value is not None and is_computed(node.value)
        changed = super().visit_Return(node)
        if not computed and node.value is not None:
            self.places[-1] = replace(self.places[-1], kind="unpacked")
        return changed

    def visit_FunctionDef(self, node):
        return Empty().visit(super().visit_FunctionDef(node))

    def visit_For(self, node):
        entered = self.report("enter", node, "loop", "", ast.Constant(0))
        self.around.append(node.lineno)
        self.extents[self.file, node.lineno] = node.end_lineno
        counts = any(path_of(one) in ("range", "enumerate") for one in ast.walk(node.iter))
        variable = loaded(node.target) if counts else ast.Constant(None)
        number = self.report("turn", node, "turn", "", variable)
        reports = self.after(node.target, node.target, "step", frozenset())
        node.body = [number, *reports, *self.block(node.body)]
        self.around.pop()
        node.orelse = self.block(node.orelse)
        return [entered, node]

    def visit_While(self, node):
        entered = self.report("enter", node, "loop", "", ast.Constant(0))
        self.around.append(node.lineno)
        self.extents[self.file, node.lineno] = node.end_lineno
        number = self.report("turn", node, "turn", "", ast.Constant(None))
        node.body = [number, *self.block(node.body)]
        self.around.pop()
        return [entered, node]

    def visit_Expr(self, node):
        """Report the arrays that a call such as kernel(x, out) or xs.append(x) has changed."""
        if not isinstance(node.value, ast.Call):
            return node
        function = node.value.func
        if isinstance(function, ast.Attribute) and function.attr == "append":
            whole = path_of(function.value)
            if not whole or len(node.value.args) != 1:
                return node
            return [node, self.report("appended", node, "appended", whole, expression(whole))]
        if is_validation(path_of(function).rpartition(".")[2]):
            return [node]
        out = [one.value for one in node.value.keywords if one.arg == "out" and path_of(
            one.value.value if isinstance(one.value, ast.Subscript) else one.value)]
        filled = [path for path in arrays_in(node.value) if path not in map(ast.unparse, out)]
        reports = [each for one in out for each in self.after(one, node, "update", frozenset())]
        return [*self.around_filling(node, filled), *reports]

    def around_filling(self, node, paths):
        """Return statements: `node`, between two that report the arrays named in `paths`."""
        if not paths:
            return [node]
        before = [self.report("before", node, "filled", path, expression(path)) for path in paths]
        after = [self.report("filled", node, "filled", path, ast.Constant(None)) for path in paths]
        return [*before, node, *after]


class Empty(ast.NodeTransformer):
    """Rewriter that passes arrays made by np.empty to the listener, which marks them unwritten."""

    def visit_Call(self, node):
        self.generic_visit(node)
        if path_of(node.func) not in ("np.empty", "np.empty_like", "numpy.empty"):
            return node
        marked = ast.Attribute(ast.Name(LISTENER, ast.Load()), "unwritten", ast.Load())
        return ast.fix_missing_locations(ast.copy_location(ast.Call(marked, [node], []), node))


def is_computed(node):
    """Return whether an expression computes a value. A name or x[i] only reads a value."""
    return any(isinstance(one, (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare))
               for one in outside_indices(node))


def outside_indices(node):
    """Yield an expression and all its subexpressions, except indices."""
    yield node
    for part in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Subscript) and part is node.slice):
            yield from outside_indices(part)


def expression(path):
    return ast.parse(path, mode="eval").body


def arrays_in(node):
    """Return the code of each array that an expression always reads: ["x", "cache.h", "x[i]"]."""
    if isinstance(node, PERHAPS):
        return []
    if path_of(node.value if isinstance(node, ast.Subscript) else node):
        return [ast.unparse(node)]
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call):
        parts[0] = node.func.value if isinstance(node.func, ast.Attribute) else ast.Constant(0)
    return list(dict.fromkeys(path for part in parts for path in arrays_in(part)))


# ---- recording values ---------------------------------------------------------------------------


class Listener:
    """Listener that receives the values of rewritten functions, and stores them as Entries."""

    def __init__(self, places, extents, keep, owners):
        self.places = places
        self.extents = extents
        self.keep = keep
        self.owners = owners
        self.entries = []
        self.calls = []
        self.running = []               # (frame, Call)
        self.seen_before = {}           # {id: [array, name, kind]} of recorded values
        self.originals = {}             # {(number of a call, name): (array, its bytes before)}

    # ---- calls and loops -----------------------------------------------------------------------

    def begin(self, _, number):
        frame = sys._getframe(1)
        place = self.places[number]
        chain = []
        caller = frame.f_back
        while caller is not None:
            chain.append(caller)
            caller = caller.f_back
        while self.running and self.running[-1][0] not in chain:
            self.running.pop()
        parent, at, around = None, 0, ()
        if self.running:
            outer, parent = self.running[-1]
            at = outer.f_lineno
            around = parent.steps(head for head in parent.turns
                                  if head <= at <= self.extents[parent.file, head])
        owner = self.owners.get(id(frame.f_locals.get("self")))
        call = Call(place.function, place.file, owner, parent, at, around)
        self.running.append((frame, call))
        self.calls.append(call)
        return len(self.calls) - 1

    def enter(self, _, number, call):
        self.calls[call].turns.pop(self.places[number].line, None)

    def turn(self, target, number, call):
        turns = self.calls[call].turns
        head = self.places[number].line
        count = turns[head].turn + 1 if head in turns else 0
        first = target[0] if isinstance(target, tuple) and target else target
        variable = int(first) if isinstance(first, (int, np.integer)) else None
        turns[head] = Step(head, count, variable, self.places[number].text)

    # ---- values --------------------------------------------------------------------------------

    def unwritten(self, array):
        if array.dtype.kind == "f" and array.itemsize in UNWRITTEN:
            array.view(UNWRITTEN[array.itemsize].dtype)[...] = UNWRITTEN[array.itemsize]
        return array

    def seen(self, value, number, call, base):
        place = self.places[number]
        arrays = arrays_of(value, place.name)
        if place.kind == "argument":
            self.calls[call].given.update((name, np.shape(array)) for name, array in arrays)
        if place.kind == "return" and type(value) is tuple:     # outputs, and then a cache
            arrays = [(f"return[{i}]", one) for i, one in enumerate(value)
                      if isinstance(one, np.ndarray)]
        for name, array in arrays:
            known = self.seen_before.get(id(array))
            kind = place.kind
            if known and kind in ("assign", "unpacked") and name != place.name:
                kind = "packed"         # into a tuple; it already has a name
            elif known and (kind == "return" or known[1:] == (name, kind)):
                kind = "unpacked"
            elif kind == "unpacked" and not known and getattr(array, "base", array) is None:
                kind = "assign"         # a copy, such as the rows of an embedding
            self.record(name, array, place, call, kind)
        return value

    def term(self, value, number):
        return value

    def part(self, value, number, call):
        place = self.places[number]
        for name, array in arrays_of(value, place.name):
            self.record(name, array, place, call, place.kind)

    def appended(self, whole, number, call):
        place = self.places[number]
        if isinstance(whole, list):
            for name, array in arrays_of(whole[-1], f"{place.name}[-1]"):
                if id(array) not in self.seen_before:
                    self.record(name, array, place, call, place.kind)

    def before(self, value, number, call):
        if isinstance(value, np.ndarray):
            self.originals[call, self.places[number].name] = value, value.tobytes()

    def filled(self, _, number, call):
        place = self.places[number]
        value, was = self.originals.pop((call, place.name), (None, None))
        if value is not None and value.tobytes() != was:
            self.record(place.name, value, place, call, "filled")

    def record(self, name, array, place, call, kind):
        if place.function.rpartition(".")[2].startswith("__"):
            return                      # creates an object, without named values
        is_made = kind != "argument" and not (kind == "assign" and "np.empty" in place.text)
        self.seen_before[id(array)] = array, name if is_made else "", kind
        if kind != place.kind:
            place = replace(place, kind=kind)
        call = self.calls[call]
        self.entries.append(Entry(name, self.keep(array), place, call, call.steps(place.loops)))


def arrays_of(value, name):
    """Return [(name, array)] for an array or a float, or [("name[0]", array), …] for a tuple."""
    if isinstance(value, (np.ndarray, np.floating, float)):
        return [(name, value)]
    if type(value) is tuple and all(isinstance(one, np.ndarray) or one is None for one in value):
        return [(f"{name}[{i}]", one) for i, one in enumerate(value) if one is not None]
    return []
