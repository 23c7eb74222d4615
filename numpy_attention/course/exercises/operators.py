"""The mistakes that a derivation by hand is prone to, each made in one place of a function.

    for slip in slips(text, "backward"): slip.text, slip.what, slip.of
"""

import ast
import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

AXES = ("0", "1", "-1", "None")


@dataclass(frozen=True)
class Slip:
    """text: with the mistake; what: the mistake, in words; of: where, in words, or "".

    Names of the function stand in backticks: a reader's own may have others.
    """

    text: str
    what: str
    of: str

    @property
    def said(self) -> str:
        return f"{self.what}, in {self.of}" if self.of else self.what


class Change(NamedTuple):
    """A slip before it is made. place: of the node that it changes, in its function (`placed`);
    write: puts another node there, or None; what, of: as of a Slip.
    """

    place: int
    what: str
    of: str
    write: Callable[[Any], ast.AST | None]


def slips(text: str, name: str) -> Iterator[Slip]:
    """Every mistake in one place of the function of this name; those that are no Python are left
    out, those that stop are not.
    """
    tree = ast.parse(text)
    seen = {ast.unparse(tree)}
    for change in changes(placed(tree, name)):
        made = with_change(tree, change)
        if made not in seen:
            seen.add(made)
            yield Slip(made, change.what, change.of)


def placed(tree: ast.AST, name: str) -> ast.FunctionDef:
    """The function of this name, its nodes numbered."""
    function = next(node for node in ast.walk(tree)
                    if isinstance(node, ast.FunctionDef) and node.name == name)
    for place, node in enumerate(ast.walk(function)):
        if isinstance(node, (ast.stmt, ast.expr)):  # operators and such are shared
            setattr(node, "place", place)
    return function


def changes(function: ast.FunctionDef) -> Iterator[Change]:
    """Every change of one place of a function that is `placed`."""
    known = Known(function)
    for statement in statements(function):
        of = made_by(statement)
        for what, write in of_statement(statement):
            yield Change(place_of(statement), what, of, write)
        for what, node, other in of_expressions(statement, known):
            yield Change(place_of(node), what, of, partial(instead, other))


def place_of(node: ast.AST) -> int:
    """The number of a node; -1: it has none, for it stands elsewhere."""
    return getattr(node, "place", -1)


def instead(other: ast.AST, _: ast.AST) -> ast.AST:
    """Puts a node there, whatever stood there."""
    return copy.deepcopy(other)


class Known:
    """What a function knows by name.

    arrays: its local names, but those that it calls: nobody takes them for arrays; parts: what it
    reads of `self`, of a cache and such, "self.W"; gates: what it takes from one.
    """

    def __init__(self, function: ast.FunctionDef):
        inside = list(ast.walk(function))
        calls = [node.func for node in inside if isinstance(node, ast.Call)]
        called = {node.id for node in calls if isinstance(node, ast.Name)}
        self.arrays = sorted({node.id for node in inside
                              if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
                             | {one.arg for one in function.args.args if one.arg != "self"}
                             - called)
        self.parts = sorted({ast.unparse(node) for node in inside
                             if is_part(node) and node not in calls})
        self.gates = {ast.unparse(node.right) for node in inside
                      if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
                      and ast.unparse(node.left) == "1"
                      and isinstance(node.right, (ast.Name, ast.Attribute, ast.Subscript))}


def is_part(node: ast.AST) -> bool:
    """self.W, cache.h: an attribute of a name."""
    return (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
            and isinstance(node.ctx, ast.Load) and node.value.id != "np"
            and node.attr not in ("T", "shape", "size", "ndim"))


def statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """The simple statements of a function, and what its loops go over; no docstring."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return, ast.For)):
            yield node
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node


def made_by(statement: ast.stmt) -> str:
    """What a statement gives a value to, in words."""
    target = getattr(statement, "target", None) or next(iter(getattr(statement, "targets", [])),
                                                        None)
    if isinstance(statement, ast.For):
        return "what the loop goes over"
    if isinstance(statement, ast.Return):
        return "what is returned"
    while isinstance(target, ast.Subscript):
        target = target.value
    return f"what makes `{ast.unparse(target)}`" if target is not None else ""


def with_change(tree: ast.Module, change: Change) -> str:
    """The text of a tree in which one node is another, or is gone."""
    class Exchange(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if place_of(node) != change.place:
                return self.generic_visit(node)
            made = ast.copy_location(change.write(node) or ast.Pass(), node)
            return ast.fix_missing_locations(made)

    copied = pickle.loads(pickle.dumps(tree))       # faster than a deep copy
    return ast.unparse(Exchange().visit(copied))


# ---- whole statements ---------------------------------------------------------------------------

def of_statement(node: ast.stmt) -> Iterator[tuple[str, Callable[[Any], ast.AST | None]]]:
    """(what it is, what writes it) of each change of a whole statement."""
    if isinstance(node, ast.AugAssign):
        if isinstance(node.op, ast.Add):
            yield "assigned where it should be added", assigned
            yield "a minus for a plus", subtracted
            yield "a term that is added twice", with_value("2 * ({})")
        yield "a term that is left out", lambda _: None
    elif isinstance(node, (ast.Assign, ast.Return)) and isinstance(node.value, ast.BinOp):
        yield "the opposite sign", with_value("-({})")
    elif isinstance(node, ast.Expr):
        yield "a step that is left out", lambda _: None


def assigned(node: ast.stmt) -> ast.stmt:
    assert isinstance(node, ast.AugAssign)
    target = copy.deepcopy(node.target)
    if isinstance(target, ast.Attribute):           # of a parameter, whose array must stay
        target = ast.Subscript(target, ast.Constant(...), ast.Store())
        target.value.ctx = ast.Load()               # type: ignore[attr-defined]
    return ast.Assign([target], node.value, lineno=0)


def subtracted(node: ast.stmt) -> ast.stmt:
    assert isinstance(node, ast.AugAssign)
    return ast.AugAssign(node.target, ast.Sub(), node.value)


def with_value(pattern: str) -> Callable[[ast.stmt], ast.stmt]:
    """Writes the value of a statement otherwise."""
    def write(node: ast.stmt) -> ast.stmt:
        assert isinstance(node, (ast.Assign, ast.AugAssign, ast.Return)) and node.value
        node.value = parsed(pattern.format(ast.unparse(node.value)))
        return node
    return write


# ---- expressions within one ---------------------------------------------------------------------


def of_expressions(statement: ast.stmt, known: Known) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """(what it is, expression, what stands in its place), of each expression in a statement; of a
    loop, in what it goes over.
    """
    inside = list(ast.walk(statement.iter if isinstance(statement, ast.For) else statement))
    orders = {node.step for node in inside if isinstance(node, ast.Slice)}      # [::-1]
    for node in inside:
        if isinstance(node, ast.expr) and node not in orders:
            for what, other in of_expression(node, known):
                yield what, node, other


def of_expression(node: ast.expr, known: Known) -> Iterator[tuple[str, ast.expr]]:
    """(what it is, expression) in place of one."""
    if ast.unparse(node) in known.gates:
        yield "x for 1 - x, or the other way round", parsed(f"1 - {ast.unparse(node)}")
    if isinstance(node, ast.BinOp):
        yield from of_operation(node)
    elif isinstance(node, ast.BoolOp):
        for left_out in node.values:
            others = [one for one in node.values if one is not left_out]
            yield "a condition that is left out", (
                others[0] if len(others) == 1 else ast.BoolOp(node.op, others))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = isinstance(node.operand, ast.Constant)
        yield "another axis" if number else "a sign that is left out", node.operand
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield "a transpose that is left out", node.value
    elif isinstance(node, ast.Call):
        yield from of_call(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from of_index(node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from of_comparison(node)
    elif isinstance(node, ast.IfExp):
        yield "a case that is left out", node.body
        yield "a case that is left out", node.orelse
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in known.arrays:
        for name in known.arrays:
            if name != node.id:
                yield f"`{name}` in the place of another array", parsed(name)
    elif is_part(node):
        for name in known.parts:
            if name != ast.unparse(node):
                yield f"`{name}` in the place of another array", parsed(name)


def of_operation(node: ast.BinOp) -> Iterator[tuple[str, ast.expr]]:
    left, right = ast.unparse(node.left), ast.unparse(node.right)
    if isinstance(node.op, ast.Mult):
        yield "a factor that is left out", node.left
        yield "a factor that is left out", node.right
        yield "a factor that stands there twice", parsed(f"({left}) * ({right}) * ({right})")
        yield "a factor that stands there twice", parsed(f"({left}) * ({left}) * ({right})")
        yield "a division for a product", parsed(f"({left}) / ({right})")
    elif isinstance(node.op, ast.Div):
        yield "a division that is left out", node.left
        yield "a product for a division", parsed(f"({left}) * ({right})")
        yield "a quotient upside down", parsed(f"({right}) / ({left})")
        yield "a divisor that is squared", parsed(f"({left}) / ({right}) ** 2")
        yield "a divisor of which the root is taken", parsed(f"({left}) / np.sqrt({right})")
    elif isinstance(node.op, ast.Add):
        yield "a term that is left out", node.left
        yield "a term that is left out", node.right
        yield "a minus for a plus", parsed(f"({left}) - ({right})")
    elif isinstance(node.op, ast.Sub):
        yield "a term that is left out", node.left
        yield "a term that is left out", node.right
        yield from of_derivative(node)
        yield "the opposite sign", parsed(f"({right}) - ({left})")
        yield "a plus for a minus", parsed(f"({left}) + ({right})")
    elif isinstance(node.op, ast.Pow):
        yield "a square that is left out", node.left
        yield "twice in the place of a square", parsed(f"2 * ({left})")
    elif isinstance(node.op, ast.MatMult):
        for wrong in (f"({left}).T @ ({right})", f"({left}) @ ({right}).T",
                      f"({right}) @ ({left})", f"(({left}) @ ({right})).T"):
            yield "a product the wrong way round", parsed(wrong)


def of_derivative(node: ast.BinOp) -> Iterator[tuple[str, ast.expr]]:
    """tanh' = 1 - y² and σ' = y (1 - y), one for the other."""
    if ast.unparse(node.left) != "1":
        return
    y = ast.unparse(node.right)
    if isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Pow):
        of = ast.unparse(node.right.left)
        yield "the derivative of σ for that of tanh", parsed(f"({of}) * (1 - ({of}))")
        yield "a square in another place", parsed(f"(1 - ({of})) ** 2")
    else:
        yield "a square too many", parsed(f"1 - ({y}) ** 2")


COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
TURNED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE,
          ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}


def of_comparison(node: ast.Compare) -> Iterator[tuple[str, ast.expr]]:
    kind = type(node.ops[0])
    if kind in COMPARED:
        yield ("< for ≤, or the other way round",
               ast.Compare(node.left, [COMPARED[kind]()], node.comparators))
    if kind in TURNED:
        yield ("a comparison the wrong way round",
               ast.Compare(node.left, [TURNED[kind]()], node.comparators))


INSTEAD = {"exp": ("log",), "log": ("exp", "log2", "log10"), "max": ("min",), "min": ("max",),
           "argmax": ("argmin",), "argmin": ("argmax",), "maximum": ("minimum",),
           "minimum": ("maximum",), "var": ("std",), "std": ("var",),
           "zeros": ("ones",), "ones": ("zeros",), "zeros_like": ("ones_like",),
           "ones_like": ("zeros_like",), "any": ("all",), "all": ("any",)}


def of_any_call(node: ast.Call, name: str) -> Iterator[tuple[str, ast.expr]]:
    """Another function, its arguments in another order, its limits by one."""
    for instead in INSTEAD.get(name, ()):
        other = copy.deepcopy(node)
        if isinstance(other.func, ast.Attribute):
            other.func.attr = instead
        elif isinstance(other.func, ast.Name):
            other.func.id = instead
        yield f"a {instead} for a {name}", other
    for number in range(len(node.args) - 1):
        other = copy.deepcopy(node)
        other.args[number:number + 2] = other.args[number:number + 2][::-1]
        yield f"two arguments of {name} in the other order", other
    if name == "range":
        stop = ast.unparse(node.args[-1] if len(node.args) < 3 else node.args[1])
        start = ast.unparse(node.args[0]) if len(node.args) > 1 else "0"
        step = f", {ast.unparse(node.args[2])}" if len(node.args) > 2 else ""
        for one, two in ((start, f"{stop} - 1"), (start, f"{stop} + 1"), (f"{start} + 1", stop),
                         (f"{start} - 1", stop)):
            yield "a step too many or too few", parsed(f"range({one}, {two}{step})")
    for keyword in ("keepdims", "ddof"):
        if any(one.arg == keyword for one in node.keywords):
            other = copy.deepcopy(node)
            other.keywords = [one for one in other.keywords if one.arg != keyword]
            yield f"{keyword} that is left out", other


def of_call(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    yield from of_any_call(node, name)
    if name in ("sum", "mean", "max"):
        for method in ("sum", "mean"):
            if method != name and isinstance(node.func, ast.Attribute):
                other = copy.deepcopy(node)
                other.func.attr = method            # type: ignore[attr-defined]
                yield f"a {method} for a {name}", other
        for axis in AXES:
            other = copy.deepcopy(node)
            keyword = next((one for one in other.keywords if one.arg == "axis"), None)
            if keyword is not None:
                keyword.value = parsed(axis)
            else:
                is_function = ast.unparse(node.func).startswith("np.")
                other.args = [*other.args[:int(is_function)], parsed(axis)]
            yield f"a sum over {'all axes' if axis == 'None' else 'another axis'}", other
    elif name == "where" and len(node.args) == 3:
        test, one, two = map(ast.unparse, node.args)
        yield "a mask that is left out", node.args[1]
        yield "a mask that is left out", node.args[2]
        yield "a mask the wrong way round", parsed(f"np.where({test}, {two}, {one})")
    elif name in ("reversed", "sqrt", "copy", "abs", "maximum", "minimum"):
        if node.args:
            yield f"{name} that is left out", node.args[0]
        elif isinstance(node.func, ast.Attribute):
            yield f"{name} that is left out", node.func.value
    elif name in ("exp", "tanh", "log", "sigmoid") and node.args:
        yield f"{name} that is left out", node.args[0]


def of_index(node: ast.Subscript) -> Iterator[tuple[str, ast.expr]]:
    index = node.slice
    if isinstance(index, ast.Name):
        for step in (" - 1", " + 1"):
            yield "another step", parsed(f"{ast.unparse(node.value)}[{index.id}{step}]")
    elif isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub)):
        yield "another step", parsed(f"{ast.unparse(node.value)}[{ast.unparse(index.left)}]")
    elif isinstance(index, ast.Slice):
        backwards = isinstance(index.step, ast.UnaryOp)
        what = "an order that is not turned round" if backwards else "a part that is not cut out"
        yield what, node.value
        if not backwards:
            yield from of_bounds(node, index)


def of_bounds(node: ast.Subscript, index: ast.Slice) -> Iterator[tuple[str, ast.expr]]:
    """x[:-1] for x[1:] and the other way round; bounds by one."""
    value = ast.unparse(node.value)
    lower = ast.unparse(index.lower) if index.lower else ""
    upper = ast.unparse(index.upper) if index.upper else ""
    if (lower, upper) == ("1", ""):
        yield "the other end is cut off", parsed(f"({value})[:-1]")
    elif (lower, upper) == ("", "-1"):
        yield "the other end is cut off", parsed(f"({value})[1:]")
    for step in (" - 1", " + 1"):
        if lower:
            yield "a part that is cut by one off", parsed(f"({value})[{lower}{step}:{upper}]")
        if upper:
            yield "a part that is cut by one off", parsed(f"({value})[{lower}:{upper}{step}]")


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
