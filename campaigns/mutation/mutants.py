"""Mutants: copies of a file of the package with one place changed.

    for mutant in backward_mutants(path, file): …       each statement of functions with gradients
                                                        is deleted, or its result negated
    for mutant in line_mutants(path, file): …           one comparison, constant, argument, returned
                                                        value or statement is changed, in any code

Imports, annotations, docstrings and texts of messages are not changed.
"""

import ast
from collections import Counter
from dataclasses import dataclass, field

from numpy_attention.gradcheck import (
    BOUNDARY,
    OPPOSITES,
    SIGN,
    Slot,
    calling,
    changed,
    children,
    exchanged,
    function_name,
    one_line,
    opposite_sign,
    with_item,
    without_keyword,
)

# functions with gradients, in addition to all whose names end in "backward"
ALSO = {"loss_and_grad", "defer", "stacked", "sum_over_steps", "scatter_add", "_blocks",
        "cross_entropy", "dot_scores"}
EMPTY = {"empty", "empty_like", "zeros", "zeros_like"}
# prefixes of functions that check arguments; statements that call them are not changed
CHECKS = ("expect", "check_")
STATEMENT = 90      # most characters of a statement that are printed
CHANGE = 100        # most characters of a changed expression that are printed
NEGATED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
           ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
           ast.NotIn: ast.In}
ARITHMETIC = {**SIGN, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
              ast.Mod: ast.Mult, ast.Pow: ast.Mult}
FUNCTIONS = {**OPPOSITES, "ceil": "floor", "floor": "ceil"}
COMMUTE = {"min", "max", "minimum", "maximum"}
# keyword arguments with texts for users
WORDS = {"help", "desc", "title", "metavar", "message", "advice"}


@dataclass
class Mutant:
    """A file with one place changed."""

    file: str                   # its path relative to the root of the checkout
    function: str               # "Trainer.fit", or "" outside functions
    line: int
    lines: range                # of the statement, in the unchanged file
    what: str                   # "compare: a < b → a <= b"
    code: str                   # the unchanged function, or the statement outside one
    tree: ast.Module = field(repr=False)        # of the unchanged file
    slot: Slot = field(repr=False)              # of the node that is replaced
    node: ast.AST = field(repr=False)           # the node that replaces it

    @property
    def key(self):
        """A name that does not depend on line numbers."""
        return f"{self.file} {self.function}: {self.what}"

    @property
    def source(self):
        """The whole file with the change."""
        with self.slot.holding(self.node):
            return ast.unparse(self.tree)

    def __str__(self):
        return f"{self.file}:{self.line} {self.function}: {self.what}"


def numbered(what, owner, seen):
    """Number equal changes in one function from the second on."""
    seen[owner, what] += 1
    return what if seen[owner, what] == 1 else f"{what} ({seen[owner, what]})"


def statement_lines(statement):
    """Return the lines of a statement without those of statements in its body."""
    end = statement.end_lineno
    if isinstance(statement, (ast.If, ast.While, ast.For, ast.With)):
        end = statement.body[0].lineno
    return range(statement.lineno, end + 1)


# ---- statements of functions with gradients -----------------------------------------------------


def backward_mutants(path, file):
    """Yield every mutant of the functions with gradients in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    seen = Counter()
    for owner, function in functions(tree):
        if not function.name.endswith("backward") and function.name not in ALSO:
            continue
        code = ast.unparse(function)
        for slot, statement in statements(function):
            for name, new in statement_changes(statement):
                what = numbered(f"{name}: {one_line(statement)[:STATEMENT]}", owner, seen)
                yield Mutant(file, owner, statement.lineno, statement_lines(statement), what, code,
                             tree, slot, new)


def functions(tree):
    """Yield ("GRU.backward", node) for every function and method of a module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{one.name}", one) for one in node.body
                        if isinstance(one, ast.FunctionDef))


def statements(function):
    """Yield (Slot, statement) for each statement that is not a docstring, a check or an error."""
    for node in ast.walk(function):
        for slot, child in children(node):
            if slot.field in ("body", "orelse") and isinstance(child, ast.stmt):
                kept = isinstance(child, (ast.FunctionDef, ast.Raise, ast.Pass))
                if not kept and not checks_arguments(child):
                    yield slot, child


def checks_arguments(statement):
    value = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(value, ast.Constant):
        return True
    return isinstance(value, ast.Call) and getattr(value.func, "id", "").startswith(CHECKS)


def statement_changes(statement):
    """Yield (name, changed statement): the statement deleted, or its result negated."""
    yield "delete", ast.Pass()
    if isinstance(statement, (ast.If, ast.While)):
        yield "negate", changed(statement, test=ast.UnaryOp(ast.Not(), statement.test))
    elif isinstance(statement, ast.AugAssign):
        yield "negate", (opposite_sign(statement) if type(statement.op) in SIGN else
                         changed(statement, value=negative(statement.value)))
    elif isinstance(statement, (ast.Assign, ast.Return)):
        value = statement.value
        unpacks = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)
        if isinstance(value, ast.Tuple):
            for n, one in enumerate(value.elts):
                if not has_no_sign(one):
                    new = changed(value, elts=with_item(value.elts, n, negative(one)))
                    yield f"negate element {n + 1} of", changed(statement, value=new)
        elif not unpacks and not has_no_sign(value):
            yield "negate", changed(statement, value=negative(value))


def negative(value):
    return ast.UnaryOp(ast.USub(), value)


def has_no_sign(value):
    """Return whether negation has no effect: for None, 0, and arrays that are not written yet."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr == "type":
            return ast.unparse(value.args[0]) == "0"            # x.dtype.type(0)
        return getattr(value.func, "attr", "") in EMPTY
    return value is None or ast.unparse(value) in ("0", "0.0", "zero")


# ---- nodes of any code --------------------------------------------------------------------------


@dataclass
class Around:
    """The context of a node that may be changed."""

    lines: range                # of the statement
    owners: tuple               # names of the classes and functions
    function: ast.AST           # the innermost function, or the module
    code: str                   # of that function, or of a statement outside functions
    assigned: Counter           # how often each name of that function is assigned
    parent: ast.AST


def line_mutants(path, file):
    """Yield every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    seen = Counter()
    start = Around(range(0), (), tree, "", assigned(tree), None)
    for slot, node, around in nodes(tree, start):
        owner = ".".join(around.owners)
        for make in MAKERS:
            for name, new in make(node, around):
                if ast.unparse(node) == ast.unparse(new):
                    continue
                text = source_of(node)
                if not isinstance(new, ast.Pass):
                    text += f" → {source_of(new)}"
                what = numbered(f"{name}: {text}", owner, seen)
                yield Mutant(file, owner, node.lineno, around.lines, what, around.code, tree,
                             slot, new)


def source_of(node):
    """Return the text of a node, for a condition only that of its test."""
    text = f"if {ast.unparse(node.test)}: …" if isinstance(
        node, (ast.If, ast.While)) else one_line(node)
    return text if len(text) <= CHANGE else text[:CHANGE - 1] + "…"


def nodes(node, around):
    """Yield (Slot, node, Around) for all nodes under a node, in the order of the source."""
    for slot, child in children(node):
        if has_no_behaviour(node, slot.field, child):
            continue
        inside = around_child(child, node, around)
        if hasattr(child, "lineno"):
            yield slot, child, inside
        yield from nodes(child, inside)


def around_child(child, parent, at):
    lines = statement_lines(child) if isinstance(child, ast.stmt) else at.lines
    at = changed(at, lines=lines, parent=parent)
    if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
        at.owners = (*at.owners, child.name)
    if isinstance(child, ast.FunctionDef):
        at.function, at.code, at.assigned = child, ast.unparse(child), assigned(child)
        at.lines = range(child.lineno, child.body[0].lineno)
    elif isinstance(child, ast.stmt) and isinstance(at.function, ast.Module):
        at.code = ast.unparse(child)
    return at


def assigned(function):
    """Count how often each name is bound, including parameters."""
    return Counter(node.arg if isinstance(node, ast.arg) else node.id
                   for node in ast.walk(function) if isinstance(node, ast.arg)
                   or isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def has_no_behaviour(parent, name, child):
    """Return whether a node is an annotation, an import or a text for users."""
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


# ---- changes of a node --------------------------------------------------------------------------


def compared(node, around):
    """Move the boundary of a comparison, or negate it, unless this makes a guard always raise."""
    if not isinstance(node, ast.Compare):
        return
    for i, operator in enumerate(node.ops):
        others = [BOUNDARY.get(type(operator))]
        if not is_guard(around.parent):
            others.append(NEGATED[type(operator)])
        for other in filter(None, others):
            yield "compare", changed(node, ops=with_item(node.ops, i, other()))


def constants(node, around):
    """Add 1 to a number, negate a truth value, change a name."""
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield "constant", ast.Constant(value + 1)
    elif isinstance(value, float):
        yield "constant", ast.Constant(value * 2 if value else 1.0)
    elif isinstance(value, str) and value.isidentifier():
        yield "constant", ast.Constant(value + "_")


def arguments(node, around):
    """Exchange neighbouring arguments, leave out a keyword, replace max by min."""
    if not isinstance(node, ast.Call):
        return
    name = function_name(node)
    for i in range(len(node.args) - 1 if name not in COMMUTE else 0):
        if not any(isinstance(one, ast.Starred) for one in node.args[i:i + 2]):
            yield "arguments", changed(node, args=exchanged(node.args, i, i + 1))
    for keyword in node.keywords:
        if keyword.arg not in WORDS | {None}:
            yield "argument left out", without_keyword(node, keyword.arg)
    if name in FUNCTIONS:
        yield "call", calling(node, FUNCTIONS[name])


def returned(node, around):
    """Return None instead of the value, or exchange neighbouring elements of a tuple."""
    if not isinstance(node, ast.Return) or node.value is None:
        return
    value = node.value
    if not isinstance(value, ast.Constant):
        yield "return", ast.Return(ast.Constant(None))
    if isinstance(value, ast.Tuple):
        for i in range(len(value.elts) - 1):
            yield "return", ast.Return(changed(value, elts=exchanged(value.elts, i, i + 1)))


def left_out(node, around):
    """Delete a statement, unless later ones would fail because a name is not defined."""
    simple = isinstance(node, (ast.Expr, ast.AugAssign, ast.Continue, ast.Break, ast.Delete))
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        simple = (node.value is not None                                # not only an annotation
                  and not isinstance(around.function, ast.Module)       # a field or a table
                  and not any(isinstance(target, ast.Tuple) for target in targets)
                  and all(around.assigned[name] > 1 for name in names))
    if simple or is_guard(node):
        yield "left out", ast.Pass()


def arithmetic(node, around):
    """Replace − by + and / by ·, or drop a sign."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in ARITHMETIC:
        if not isinstance(getattr(node, "left", None), (ast.JoinedStr, ast.List)):
            yield "arithmetic", changed(node, op=ARITHMETIC[type(node.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
        yield "sign", node.operand


def logic(node, around):
    """Replace `or` by `and`, drop or add a negation, exchange the branches of an expression."""
    if isinstance(node, ast.BoolOp):
        yield "logic", changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        if not is_guard(around.parent):
            yield "logic", node.operand
    if isinstance(node, ast.IfExp):
        yield "choice", ast.IfExp(node.test, node.orelse, node.body)
    if isinstance(node, (ast.If, ast.While)) and not is_guard(node):
        if not isinstance(node.test, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant)):
            yield "logic", changed(node, test=ast.UnaryOp(ast.Not(), node.test))


def dictionaries(node, around):
    """Exchange the values of neighbouring keys."""
    if isinstance(node, ast.Dict):
        for i in range(len(node.values) - 1):
            if node.keys[i] is not None and node.keys[i + 1] is not None:
                yield "values", changed(node, values=exchanged(node.values, i, i + 1))


MAKERS = (compared, constants, arguments, returned, left_out, arithmetic, logic, dictionaries)


def is_guard(node):
    """Return whether a node is a guard: `if …: raise …`."""
    return (isinstance(node, ast.If) and not node.orelse
            and isinstance(node.body[-1], ast.Raise))
