"""Rewrite a forward pass so that any value can be changed, to measure the effect on the loss."""

import ast
from collections import Counter

import numpy as np

from numpy_attention.gradcheck.locate.rewriting import Rewriter, loaded, path_of, targets_of

STEP = 1e-5
FLOATS = float, np.floating


class Forward(Rewriter):
    """Rewrites a forward pass so that a listener object can read and replace each value.

    Each computed value becomes listener.moved(value, number), and each value that is read becomes
    listener.used(value, number), where `number` is the index of the Place.
    """

    def visit_FunctionDef(self, node):
        node.body = self.block(node.body)
        return self.start(node, [self.name_again(one, "argument")
                                 for one in self.arguments_of(node)])

    def name_again(self, target, kind):
        """Return the statement `x = listener.moved(x, number)` for an assignment target x."""
        number = self.place(target, kind, path_of(target))
        value = self.through("moved", loaded(target), number)
        made = ast.Assign([target], value, lineno=target.lineno)
        return ast.fix_missing_locations(ast.copy_location(made, target))

    def after(self, target, kind="assign"):
        return [self.name_again(one, kind) for one in targets_of(target)
                if isinstance(one, (ast.Name, ast.Attribute)) and path_of(one)]

    # ---- statements ----------------------------------------------------------------------------

    def visit_Assign(self, node):
        node.value = self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Subscript) and path_of(target.value):
                number = self.place(target, "part", path_of(target.value))
                node.value = self.through("moved", node.value, number)
        return [node] + [one for target in node.targets for one in self.after(target)]

    def visit_AnnAssign(self, node):
        if node.value is None:
            return node
        node.value = self.visit(node.value)
        return [node, *self.after(node.target)]

    def visit_AugAssign(self, node):
        node.value = self.visit(node.value)
        if isinstance(node.target, ast.Name):
            return [node, *self.after(node.target, "update")]
        return node

    def visit_For(self, node):
        filled = [] if self.depth else filled_by(node)
        self.depth += 1
        node.iter = self.visit(node.iter)
        node.body = self.after(node.target) + self.block(node.body)
        node.orelse = self.block(node.orelse)
        self.depth -= 1
        return [node, *(self.name_again(one, "filled") for one in filled)]

    visit_Assert = visit_Raise = visit_JoinedStr = visit_Constant = Rewriter.unchanged

    # ---- expressions ---------------------------------------------------------------------------

    def visit_Name(self, node):
        return self.use(node)

    def visit_Attribute(self, node):
        if not path_of(node):
            node.value = self.visit(node.value)
        return self.use(node)

    def use(self, node):
        if not isinstance(node.ctx, ast.Load) or not path_of(node):
            return node
        return self.through("used", node, self.place(node, "use", path_of(node)))

    def expression(self, node):
        number = self.place(node, "expression", "")
        return self.through("moved", self.generic_visit(node), number)

    visit_BinOp = visit_UnaryOp = visit_IfExp = expression

    def visit_Subscript(self, node):
        if not isinstance(node.ctx, ast.Load):
            return node
        number = self.place(node, "expression", "")
        node.value = self.visit(node.value)
        return self.through("moved", node, number)

    def visit_Call(self, node):
        number = self.place(node, "expression", "")
        if isinstance(node.func, ast.Attribute):
            base = node.func.value
            if not (isinstance(base, ast.Name) and self.is_module(base.id)):
                node.func.value = self.visit(base)
        node.args = [self.visit(one) for one in node.args]
        for one in node.keywords:
            if one.arg != "out":
                one.value = self.visit(one.value)
        if is_super(node):
            return node
        return self.through("moved", node, number)

    def is_module(self, name):
        return hasattr(self.function.__globals__.get(name), "__package__")


def filled_by(loop):
    """Return a Name node for each array x that a loop fills by x[i] = …."""
    found = {}
    for node in ast.walk(loop):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(
                node.value, ast.Name):
            found[node.value.id] = node
    return [ast.copy_location(ast.Name(name, ast.Store()), node) for name, node in found.items()]


def is_super(node):
    return isinstance(node.func, ast.Name) and node.func.id == "super"


# ---- the loss with one value moved --------------------------------------------------------------


class Counting:
    """Listener that copies the float arrays and assigned floats that `forward` computes.

    values: {index of a Place: list of arrays}, with None in place of any other value.
    """

    def __init__(self, places):
        self.places = places
        self.values = {}

    def moved(self, value, number):
        copy = value.copy() if is_array(value) else None
        if isinstance(value, FLOATS) and self.places[number].kind not in ("use", "expression"):
            copy = np.array(value, float)
        self.values.setdefault(number, []).append(copy)
        return value

    used = moved


class Naming:
    """Listener that records the shapes of each function's arrays, and the names of its scalars."""

    def __init__(self, places):
        self.places = places
        self.names: dict[str, dict[str, set]] = {}
        self.masks: dict[str, dict[str, set]] = {}
        self.numbers: dict[str, set[str]] = {}

    def moved(self, value, number):
        place = self.places[number]
        if isinstance(value, (int, float, np.number)) and place.name.isidentifier():
            self.numbers.setdefault(place.function, set()).add(place.name)
        if isinstance(value, np.ndarray) and value.dtype.kind in "bf" and place.name:
            known = self.masks if value.dtype == bool else self.names
            name = place.name.removesuffix(".T")
            shape = value.shape if name == place.name else value.shape[::-1]
            known.setdefault(place.function, {}).setdefault(name, set()).add(shape)
        return value

    used = moved

    def names_of(self, function):
        """Return {name: shapes} for the arrays of a function, and for every self.x of its class."""
        found = dict(self.names.get(function, {}))
        for other, names in self.names.items():
            if other.rpartition(".")[0] == function.rpartition(".")[0]:
                for name, shapes in names.items():
                    if name.startswith("self."):
                        found[name] = found.get(name, set()) | shapes
        return found


class Moving:
    """Listener that adds `step` to the n-th value of places[number].

    If `use` is given, only places[use] reads the changed value.
    """

    def __init__(self, number, n, step, use=None):
        self.number = number
        self.n = n
        self.step = step
        self.use = use
        self.counts = Counter()
        self.held = None
        self.met = 0

    def moved(self, value, number):
        if number != self.number:
            return value
        n = self.counts[number]
        self.counts[number] += 1
        if n != self.n:
            return value
        if self.use is not None:
            self.held = value
            return value
        self.met += 1
        return value + self.step

    def used(self, value, number):
        if self.use is None:
            return self.moved(value, number)
        if number == self.use and value is self.held:
            self.met += 1
            return value + self.step
        return value


def is_array(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"
