"""Mutants of the functions that carry gradients: a statement deleted, or its result negated."""

import ast
import copy
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

# every function whose name ends in "backward" carries gradients, and so do these
ALSO = {"loss_and_grad", "later", "stacked", "sum_over_steps", "scatter_add"}
# these too, but forward passes enter them as well, so that they change what is differentiated
ALSO_FORWARD = {"_blocks", "cross_entropy", "dot_scores"}
EMPTY = {"empty", "empty_like", "zeros", "zeros_like"}
SHOWN = 90          # characters of a statement


@dataclass
class Function:
    """One function that carries gradients."""

    path: Path
    file: str                   # its path as it is shown
    name: str                   # "GRU.end_backward"
    node: ast.FunctionDef

    @property
    def first(self):
        """(file, first line): by this a trace of calls shows it."""
        lines = [self.node.lineno] + [one.lineno for one in self.node.decorator_list]
        return str(self.path), min(lines)

    @property
    def forward_too(self):
        return self.node.name in ALSO_FORWARD


@dataclass
class Mutant:
    """A function with one statement changed."""

    function: Function
    line: int
    what: str                   # "delete: grads.b += da.sum(0)"
    node: ast.FunctionDef

    @property
    def key(self):
        """What it is, wherever in its file it stands."""
        return f"{self.function.file} {self.function.name}: {self.what}"

    def __str__(self):
        return f"{self.function.file}:{self.line} {self.function.name}: {self.what}"


def functions(path, file):
    """The Functions of a file, and of its classes, that carry gradients."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for owner in [tree] + [node for node in tree.body if isinstance(node, ast.ClassDef)]:
        prefix = "" if owner is tree else f"{owner.name}."
        for node in owner.body:
            if isinstance(node, ast.FunctionDef) and carries_gradients(node.name):
                found.append(Function(path, file, prefix + node.name, node))
    return found


def carries_gradients(name):
    return name.endswith("backward") or name in ALSO | ALSO_FORWARD


def mutants(function):
    """Every mutant of a Function."""
    seen = Counter()
    for i, (body, at) in enumerate(statements(function.node)):
        text = " ".join(ast.unparse(body[at]).split())[:SHOWN]
        for name, change in changes(body[at]):
            node = plain(function.node)
            its_body, its_at = list(statements(node))[i]
            its_body[its_at] = change(its_body[its_at])
            what = f"{name}: {text}"
            seen[what] += 1
            if seen[what] > 1:
                what += f" ({seen[what]})"          # the same statement once more
            yield Mutant(function, body[at].lineno, what, node)


def plain(node):
    """A copy of a function, without its decorators."""
    node = copy.deepcopy(node)
    node.decorator_list = []
    return node


def statements(function):
    """(body, i) of every statement body[i] that may be changed: no docstring, check or error."""
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            for i, statement in enumerate(body if isinstance(body, list) else ()):
                kept = isinstance(statement, (ast.FunctionDef, ast.Raise, ast.Pass))
                if not kept and not checks_arguments(statement):
                    yield body, i


def checks_arguments(statement):
    value = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(value, ast.Constant):
        return True
    return isinstance(value, ast.Call) and getattr(value.func, "id", "").startswith("expect")


# ---- what may be done to a statement -----------------------------------------------------------


def changes(statement):
    """[(name, function that changes a copy of the statement)]."""
    found = [("delete", lambda statement: ast.Pass())]
    if isinstance(statement, (ast.If, ast.While)):
        found.append(("negate", negate_condition))
    elif isinstance(statement, ast.AugAssign):
        found.append(("negate", negate_addition))
    elif isinstance(statement, (ast.Assign, ast.Return)):
        found += negations(statement)
    return found


def negations(statement):
    """Of what a statement assigns or returns; of a tuple, element by element."""
    value = statement.value
    if isinstance(value, ast.Tuple):
        return [(f"negate element {n + 1} of", partial(negate_element, n))
                for n, element in enumerate(value.elts) if not has_no_sign(element)]
    unpacks = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)
    if unpacks or has_no_sign(value):
        return []
    return [("negate", negate_value)]


def has_no_sign(value):
    """True for nothing, a zero, or an array that is not yet written: negated, it is what it was."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr == "type":
            return ast.unparse(value.args[0]) == "0"            # x.dtype.type(0)
        return getattr(value.func, "attr", "") in EMPTY
    return value is None or ast.unparse(value) in ("0", "0.0", "zero")


def negate_condition(statement):
    statement.test = ast.UnaryOp(ast.Not(), statement.test)
    return statement


def negate_addition(statement):
    if isinstance(statement.op, ast.Add):
        statement.op = ast.Sub()
    elif isinstance(statement.op, ast.Sub):
        statement.op = ast.Add()
    else:
        negate_value(statement)
    return statement


def negate_value(statement):
    statement.value = ast.UnaryOp(ast.USub(), statement.value)
    return statement


def negate_element(n, statement):
    elements = statement.value.elts
    elements[n] = ast.UnaryOp(ast.USub(), elements[n])
    return statement
