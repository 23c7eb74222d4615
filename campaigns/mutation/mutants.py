"""Mutants: copies of a file of the package with one place changed.

    for mutant in backward_mutants(path, file): …       every statement of what carries gradients,
                                                        deleted or its result negated
    for mutant in line_mutants(path, file): …           one comparison, constant, argument, returned
                                                        value or statement changed, in any code

What has no behaviour stays as it is: imports, annotations, docstrings, the text of a message.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

# every function whose name ends in "backward" carries gradients, and so do these
ALSO = {"loss_and_grad", "later", "stacked", "sum_over_steps", "scatter_add", "_blocks",
        "cross_entropy", "dot_scores"}
EMPTY = {"empty", "empty_like", "zeros", "zeros_like"}
# functions that check arguments begin so; a call of one is a statement that is left as it is
CHECKS = ("expect", "check")
STATEMENT = 90      # characters of a statement that are printed
CHANGE = 100        # characters of a changed expression that are printed
COMPARISONS = {     # the boundary first, then the opposite
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
              ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult}
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any", "argmin": "argmax",
             "argmax": "argmin", "ceil": "floor", "floor": "ceil"}
COMMUTE = {"min", "max", "minimum", "maximum"}
# keyword arguments that hold text for people
WORDS = {"help", "desc", "title", "metavar", "message", "advice"}


@dataclass
class Mutant:
    """A file with one place changed."""

    file: str                   # its path from the root of the checkout
    function: str               # "Trainer.fit", or "" outside functions
    line: int
    lines: range                # those of the statement, in the unchanged file
    what: str                   # "compare: a < b → a <= b"
    code: str                   # the unchanged function, or the statement outside one
    make: Callable[[], ast.Module] = field(repr=False)      # → the whole file, changed

    @property
    def key(self):
        """Identify the mutant, wherever in its file it is."""
        return f"{self.file} {self.function}: {self.what}"

    @property
    def source(self):
        """The whole file with the change."""
        return ast.unparse(ast.fix_missing_locations(self.make()))

    def __str__(self):
        return f"{self.file}:{self.line} {self.function}: {self.what}"


def numbered(what, owner, seen):
    """Tell the second of two equal changes in one function from the first."""
    seen[owner, what] += 1
    return what if seen[owner, what] == 1 else f"{what} ({seen[owner, what]})"


def one_line(node, length):
    """The text of a node in one line, not longer than `length`."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= length else text[:length - 1] + "…"


# ---- statements of functions that carry gradients -----------------------------------------------


def backward_mutants(path, file):
    """Every mutant of the functions of a file that carry gradients."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    seen = Counter()
    for owner, node in functions(tree):
        if not carries_gradients(node.name):
            continue
        code = ast.unparse(node)
        for i, (body, at) in enumerate(statements(node)):
            statement = body[at]
            text = " ".join(ast.unparse(statement).split())[:STATEMENT]
            for name, change in statement_changes(statement):
                what = numbered(f"{name}: {text}", owner, seen)
                yield Mutant(file, owner, statement.lineno, statement_lines(statement), what, code,
                             partial(changed_statement, tree, owner, i, change))


def functions(tree):
    """Yield ("GRU.backward", node) for every function and method of a module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{one.name}", one) for one in node.body
                        if isinstance(one, ast.FunctionDef))


def carries_gradients(name):
    return name.endswith("backward") or name in ALSO


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
    return isinstance(value, ast.Call) and getattr(value.func, "id", "").startswith(CHECKS)


def changed_statement(tree, owner, i, change):
    """A copy of the module with the i-th statement of a function changed."""
    new = copy.deepcopy(tree)
    body, at = list(statements(dict(functions(new))[owner]))[i]
    body[at] = change(body[at])
    return new


def statement_changes(statement):
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
    """Negate what a statement assigns or returns, a tuple element by element."""
    value = statement.value
    if isinstance(value, ast.Tuple):
        return [(f"negate element {n + 1} of", partial(negate_element, n))
                for n, element in enumerate(value.elts) if not has_no_sign(element)]
    unpacks = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)
    if unpacks or has_no_sign(value):
        return []
    return [("negate", negate_value)]


def has_no_sign(value):
    """True for None, a zero, or an array that is not written yet: negation does not change it."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr == "type":
            return ast.unparse(value.args[0]) == "0"            # x.dtype.type(0)
        return getattr(value.func, "attr", "") in EMPTY
    return value is None or ast.unparse(value) in ("0", "0.0", "zero")


def negate_condition(statement):
    statement.test = ast.UnaryOp(ast.Not(), statement.test)
    return statement


def negate_addition(statement):
    if not isinstance(statement.op, (ast.Add, ast.Sub)):
        return negate_value(statement)
    statement.op = ast.Sub() if isinstance(statement.op, ast.Add) else ast.Add()
    return statement


def negate_value(statement):
    statement.value = ast.UnaryOp(ast.USub(), statement.value)
    return statement


def negate_element(n, statement):
    elements = statement.value.elts
    elements[n] = ast.UnaryOp(ast.USub(), elements[n])
    return statement


# ---- places in any code -------------------------------------------------------------------------


def line_mutants(path, file):
    """Every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    seen = Counter()
    for place in places(tree):
        for change in changes(place):
            owner = ".".join(place.owners)
            what = numbered(f"{change.name}: {change.text}", owner, seen)
            yield Mutant(file, owner, place.node.lineno, place.lines, what, place.code,
                         partial(changed_tree, tree, place, change))


def statement_lines(statement):
    """The lines of a statement itself, without the statements that it holds."""
    end = statement.end_lineno
    if isinstance(statement, (ast.If, ast.While, ast.For, ast.With)):
        end = statement.body[0].lineno
    return range(statement.lineno, end + 1)


@dataclass
class Place:
    """A node that may be changed, and the path to it from the module."""

    node: ast.AST
    path: tuple                 # ((field, index or None), …)
    parent: ast.AST
    lines: range
    owners: tuple               # names of the classes and functions around it
    function: ast.AST           # the innermost function, or the module
    code: str
    assigned: Counter           # how often each name of that function is assigned


def places(tree):
    """All places of a module, in the order of the text."""
    yield from _below(tree, Place(tree, (), None, range(0), (), tree, "", _assigned(tree)))


def _below(node, at):
    """The places under `node`, which is `at` a place."""
    for name, value in ast.iter_fields(node):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _has_no_behaviour(node, name, child):
                continue
            place = _place(child, (*at.path, (name, index)), node, at)
            if hasattr(child, "lineno"):
                yield place
            yield from _below(child, place)


def _place(child, path, parent, at):
    lines = statement_lines(child) if isinstance(child, ast.stmt) else at.lines
    owners = at.owners
    function, code, assigned = at.function, at.code, at.assigned
    if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
        owners = (*owners, child.name)
    if isinstance(child, ast.FunctionDef):
        function, code, assigned = child, ast.unparse(child), _assigned(child)
        lines = range(child.lineno, child.body[0].lineno)
    elif isinstance(child, ast.stmt) and isinstance(function, ast.Module):
        code = ast.unparse(child)
    return Place(child, path, parent, lines, owners, function, code, assigned)


def _assigned(function):
    """How often each name is bound, parameters too."""
    names = Counter()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] += 1
        elif isinstance(node, ast.arg):
            names[node.arg] += 1
    return names


def _has_no_behaviour(parent, name, child):
    """True for annotations, imports and text for people."""
    if name in ("annotation", "returns", "decorator_list", "type_comment", "bases", "ctx"):
        return True
    if isinstance(child, (ast.Import, ast.ImportFrom, ast.JoinedStr)):
        return True
    if isinstance(parent, ast.Raise) or isinstance(child, ast.Raise):
        return True
    if isinstance(parent, ast.keyword) and parent.arg in WORDS:
        return True
    if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
        return True
    if isinstance(child, ast.ClassDef) and any("Protocol" in ast.unparse(base)
                                               for base in child.bases):
        return True
    called = ast.unparse(child.func) if isinstance(child, ast.Call) else ""
    if called in ("cast", "TypeVar", "print", "warnings.warn"):
        return True
    return isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)


# ---- what may be done to a place ----------------------------------------------------------------


@dataclass
class Change:
    name: str                   # "compare"
    text: str                   # "a < b → a <= b"
    apply: object               # node → the node in its place


def changes(place):
    """Every Change of a place."""
    node = place.node
    found = []
    for make in MAKERS:
        for name, apply in make(node, place):
            new = apply(copy.deepcopy(node))
            text = f"{shown(node)} → {shown(new)}"
            if isinstance(new, ast.Pass):
                text = shown(node)
            if ast.unparse(node) != ast.unparse(new):
                found.append(Change(name, text, apply))
    return found


def shown(node):
    """The text of a changed node; of a condition only its test."""
    if isinstance(node, (ast.If, ast.While)):
        return f"if {one_line(node.test, CHANGE - 6)}: …"
    return one_line(node, CHANGE)


def compared(node, place):
    """a < b: the boundary and the opposite; of a guard, whose opposite always raises, the first."""
    if not isinstance(node, ast.Compare):
        return
    for i, operator in enumerate(node.ops):
        others = COMPARISONS[type(operator)]
        if _is_guard(place.parent) and len(others) > 1:
            others = others[:1]
        elif _is_guard(place.parent):
            continue
        for other in others:
            yield "compare", partial(_set_item, "ops", i, other())


def constants(node, place):
    """A number plus one, the other truth value, another name."""
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield "constant", lambda _: ast.Constant(not value)
    elif isinstance(value, int):
        yield "constant", lambda _: ast.Constant(value + 1)
    elif isinstance(value, float):
        yield "constant", lambda _: ast.Constant(value * 2 if value else 1.0)
    elif isinstance(value, str) and value.isidentifier():
        yield "constant", lambda _: ast.Constant(value + "_")


def arguments(node, place):
    """Two neighbours exchanged; a keyword left at its default; min for max."""
    if not isinstance(node, ast.Call):
        return
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    for i in range(len(node.args) - 1 if name not in COMMUTE else 0):
        pair = node.args[i:i + 2]
        if not any(isinstance(one, ast.Starred) for one in pair):
            yield "arguments", partial(_exchange, "args", i)
    for i, keyword in enumerate(node.keywords):
        if keyword.arg not in WORDS | {None}:
            yield "argument left out", partial(_without, "keywords", i)
    if name in OPPOSITES:
        yield "call", partial(_rename, OPPOSITES[name])


def returned(node, place):
    """None instead of the returned value; two elements of a tuple exchanged."""
    if not isinstance(node, ast.Return) or node.value is None:
        return
    value = node.value
    if not isinstance(value, ast.Constant):
        yield "return", lambda _: ast.Return(ast.Constant(None))
    if isinstance(value, ast.Tuple):
        for i in range(len(value.elts) - 1):
            yield "return", partial(_exchange_returned, i)


def left_out(node, place):
    """A statement left out, unless a later one would only fail for lack of a name."""
    simple = isinstance(node, (ast.Expr, ast.AugAssign, ast.Continue, ast.Break, ast.Delete))
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        if node.value is None:                          # only an annotation
            return
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if isinstance(place.function, ast.Module):
            simple = False                              # a field or a table
        elif any(isinstance(target, ast.Tuple) for target in targets):
            simple = False
        else:
            simple = all(place.assigned[name] > 1 for name in names)
    yields = isinstance(node, ast.Expr) and isinstance(node.value, (ast.Yield, ast.YieldFrom))
    if simple or yields or _is_guard(node):
        yield "left out", lambda _: ast.Pass()


def arithmetic(node, place):
    """+ for −, · for /, a sign dropped."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in ARITHMETIC:
        text = isinstance(getattr(node, "left", None), (ast.JoinedStr, ast.List))
        if not text:
            yield "arithmetic", partial(_set, "op", ARITHMETIC[type(node.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
        yield "sign", lambda node: node.operand


def logic(node, place):
    """and for or, a negation dropped, a condition negated, the branches of a choice exchanged."""
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "logic", partial(_set, "op", other)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and not _is_guard(
            place.parent):
        yield "logic", lambda node: node.operand
    if isinstance(node, ast.IfExp):
        yield "choice", lambda node: ast.IfExp(node.test, node.orelse, node.body)
    if isinstance(node, (ast.If, ast.While)) and not _is_guard(node):
        if not isinstance(node.test, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant)):
            yield "logic", lambda node: _set("test", ast.UnaryOp(ast.Not(), node.test), node)


def dictionaries(node, place):
    """The values of two neighbours exchanged."""
    if isinstance(node, ast.Dict):
        for i in range(len(node.values) - 1):
            if node.keys[i] is not None and node.keys[i + 1] is not None:
                yield "values", partial(_exchange, "values", i)


MAKERS = (compared, constants, arguments, returned, left_out, arithmetic, logic, dictionaries)


def _is_guard(node):
    """if …: raise …"""
    return (isinstance(node, ast.If) and not node.orelse
            and isinstance(node.body[-1], ast.Raise))


# ---- changes of a copy --------------------------------------------------------------------------


def changed_tree(tree, place, change):
    """A copy of the module with one change."""
    new = copy.deepcopy(tree)
    node = new
    for name, index in place.path[:-1]:
        node = getattr(node, name) if index is None else getattr(node, name)[index]
    name, index = place.path[-1]
    if index is None:
        setattr(node, name, change.apply(getattr(node, name)))
    else:
        getattr(node, name)[index] = change.apply(getattr(node, name)[index])
    return new


def _set(name, value, node):
    setattr(node, name, value)
    return node


def _set_item(name, i, value, node):
    getattr(node, name)[i] = value
    return node


def _exchange(name, i, node):
    values = getattr(node, name)
    values[i], values[i + 1] = values[i + 1], values[i]
    return node


def _exchange_returned(i, node):
    _exchange("elts", i, node.value)
    return node


def _without(name, i, node):
    del getattr(node, name)[i]
    return node


def _rename(name, node):
    if isinstance(node.func, ast.Name):
        node.func.id = name
    else:
        node.func.attr = name
    return node
