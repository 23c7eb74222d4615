"""Run a backward pass, and record every named value with the statements that computed it."""

import ast
from dataclasses import dataclass, field

import numpy as np

from numpy_attention.gradcheck.locate.forwards import FLOATS
from numpy_attention.gradcheck.locate.rewriting import (
    Place,
    Rewriter,
    loaded,
    path_of,
    reads_of,
    targets_of,
)


class BackwardRewriter(Rewriter):
    """Rewrites a backward pass so that it reports each computed value to a listener object."""

    def visit_FunctionDef(self, node):
        if self.depth:
            return node
        self.depth += 1
        node.body = self.block(node.body)
        start = [self.begin(node)]
        for one in self.arguments_of(node):
            start += self.after(one, one, "argument", frozenset())
        self.depth -= 1
        return self.start(node, start)

    def begin(self, node):
        """Return the statement `__call__ = listener.begin(…)`, which counts function calls."""
        call = self.through("begin", ast.copy_location(ast.Constant(0), node), 0)
        made = ast.Assign([ast.Name("__call__", ast.Store())], call, lineno=node.lineno)
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def after(self, target, statement, kind, reads):
        """Return statements that report what `statement` assigns to `target`."""
        made = []
        for one in targets_of(target):
            whole = one.value if isinstance(one, ast.Subscript) else one
            name = path_of(whole)
            if not name:
                continue
            how = "update" if isinstance(one, ast.Subscript) else kind
            number = self.place(statement, how, name, reads)
            base = loaded(whole.value) if isinstance(whole, ast.Attribute) else ast.Constant(None)
            value = self.through("seen", loaded(whole), number,
                                 ast.Name("__call__", ast.Load()), base)
            if isinstance(one, ast.Name):
                report = ast.Assign([ast.Name(name, ast.Store())], value, lineno=one.lineno)
            else:
                report = ast.Expr(value)
            made.append(ast.fix_missing_locations(ast.copy_location(report, statement)))
        return made

    def visit_Assign(self, node):
        reads = reads_of(node.value)
        return [node] + [one for target in node.targets
                         for one in self.after(target, node, "assign", reads)]

    def visit_AnnAssign(self, node):
        if node.value is None:
            return node
        return [node, *self.after(node.target, node, "assign", reads_of(node.value))]

    def visit_AugAssign(self, node):
        reads = reads_of(node.value)
        reports = self.after(node.target, node, "update", reads)
        if isinstance(node.op, (ast.Add, ast.Sub)) and reports:
            whole = node.target.value if isinstance(node.target, ast.Subscript) else node.target
            number = self.place(node, "term", path_of(whole), reads)
            node.value = self.through("term", node.value, number)
        return [node, *reports]

    def nested(self, node):
        node.body = self.block(node.body)
        if hasattr(node, "orelse"):
            node.orelse = self.block(node.orelse)
        return node

    visit_While = visit_If = visit_With = nested

    def visit_For(self, node):
        start = self.after(node.target, node.target, "assign", frozenset())
        self.nested(node)
        node.body[:0] = start
        return node

    def visit_Expr(self, node):
        """Report dx after np.matmul(a, b, out=dx) or np.add.at(dx, ids, dy)."""
        if isinstance(node.value, ast.Call):
            first, *rest = node.value.args or [None]
            if rest and path_of(node.value.func).endswith(".at"):
                reads = frozenset().union(*map(reads_of, rest))
                return [node, *self.after(first, node, "update", reads)]
            for one in node.value.keywords:
                if one.arg == "out":
                    return [node, *self.after(one.value, node, "update", reads_of(node.value))]
        return node

    def visit_Return(self, node):
        if node.value is None:
            return node
        number = self.place(node, "return", "return", reads_of(node.value))
        node.value = self.through("seen", node.value, number, ast.Name("__call__", ast.Load()),
                                  ast.Constant(None))
        return node


@dataclass
class Value:
    """What a variable of `backward` holds from one assignment to the next."""

    name: str
    places: list[Place]     # the statements that assigned or changed the contents
    values: list            # copies of the contents after each of these statements, and at the end
    base: object            # the object that has the attribute, or None for a variable
    call: int               # the number of the function call
    order: int              # number of the first change, counting the changes of all values
    done: int = 0           # number of the last change
    held: object = None     # the current contents, not a copy
    terms: list = field(default_factory=list)   # a pair of a Place and an array for each +=
    source: "Value | None" = None   # for an argument, the Value that the caller passed

    @property
    def place(self):
        return self.places[0]


class Kept:
    """Listener that records each Value of a backward pass in the list `values`.

    instead: maps (Place, n) to an array, which replaces the n-th value that the Place computes.
    """

    def __init__(self, places, instead=None):
        self.places = places
        self.instead = instead or {}
        self.values = []
        self.open = {}
        self.calls = 0
        self.events = 0
        self.counts = {}
        self.pending = {}

    def begin(self, _, __):
        self.calls += 1
        return self.calls

    def term(self, value, number):
        place = self.places[number]
        self.pending[place.function, place.name] = (place, _copy(value))
        return value

    def seen(self, value, number, call, base):
        place = self.places[number]
        self.events += 1
        key = (call, place.name) if base is None else (id(base), place.name.rpartition(".")[2])
        # an attribute has only one Value in the whole run
        begins = place.kind in ("argument", "assign", "return") and base is None
        if begins or key not in self.open:
            self.open[key] = Value(place.name, [], [], base, call, self.events,
                                   source=self.source(value) if place.kind == "argument" else None)
            self.values.append(self.open[key])
        one = self.open[key]
        n = self.counts.get(number, 0)
        self.counts[number] = n + 1
        if (place, n) in self.instead:
            value = _put(value, self.instead[place, n], place.kind)
        one.held = value
        self.changed(one, place)
        term = self.pending.pop((place.function, place.name), None)
        if term is not None:
            one.terms.append(term)
        return value

    def source(self, value):
        """Return the last Value whose array may share memory with `value`, or None."""
        if not isinstance(value, np.ndarray):
            return None
        for one in reversed(self.values):
            held = one.held
            if held is value or isinstance(held, np.ndarray) and np.may_share_memory(held, value):
                return one
        return None

    def changed(self, one, place):
        """Record what the Value `one` holds after the statement `place`."""
        while one is not None:
            one.done = self.events
            one.places.append(place)
            one.values.append(_copy(one.held))
            # a change in place also changes what the caller passed
            handed = one.source
            one = handed if place.kind == "update" and handed is not None else None

    def end(self):
        """Record the final contents of all arrays, and return the list of Values."""
        for one in self.values:
            if isinstance(one.held, np.ndarray):
                one.values.append(_copy(one.held))      # a kernel may have changed the array
        return self.values


def _copy(value):
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, FLOATS):
        return np.array(value, float)       # an array without axes
    if isinstance(value, (tuple, list)):
        return type(value)(*map(_copy, value)) if hasattr(value, "_fields") else type(value)(
            map(_copy, value))
    return value


def _put(value, right, kind):
    """Return `right` as a copy, or copied into `value` if kind is "update" and the shapes agree."""
    if kind == "update" and isinstance(value, np.ndarray) and value.shape == right.shape:
        value[...] = right
        return value
    return right.copy() if right.ndim else right[()]
